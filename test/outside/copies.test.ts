import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, happens, Stage } from './stage.ts';

/** What a copy shows: rows of its views as text, by view, without what only a copy knows. */
type Rows = Readonly<Record<string, readonly string[]>>;

const stack = new AsyncDisposableStack();
let stage: Stage;
let published: string;
let followed: string;
let reader: Database.Database;
let product_id: number;

beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '3'] }));
  const elsewhere = join(stage.directory, 'elsewhere');
  mkdirSync(elsewhere);
  followed = join(stage.directory, 'host', 'copy.db');
  published = join(elsewhere, 'published.db');
  stage.configure({ snapshot: { every: '1m', path: published }, rows: { publish: true } });
  await stage.live();
  [product_id] = (await stage.service.get<[number]>('/sandbox/products')) as [number];
});
afterAll(() => stack.disposeAsync());

function shown(path: string): Rows {
  const db = new Database(path, { readonly: true });
  try {
    const views = db.prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'view' AND name NOT LIKE '\\_%' ESCAPE '\\'",
    );
    const rowsOf = (view: string) =>
      db
        .prepare<[], object>(`SELECT * FROM ${view}`)
        .all()
        .map((row) => JSON.stringify({ ...row, published_at: null }))
        .sort();
    return db.transaction(() =>
      Object.fromEntries(
        views
          .pluck()
          .all()
          .map((view) => [view, rowsOf(view)]),
      ),
    )();
  } finally {
    db.close();
  }
}

/** Names the views of which two files show other rows. */
function differing(one: Rows, other: Rows): string[] {
  const views = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return views.filter((view) => one[view]?.join('\n') !== other[view]?.join('\n'));
}

/** Waits until a copy shows what the mirror shows. The clock moves on between two looks, so that one may see another second. */
const equal = (path: string) =>
  happens(
    () => differing(shown(stage.mirror), shown(path)),
    (views) => views.length === 0,
  );

function isWhole(path: string): boolean {
  try {
    const db = new Database(path, { readonly: true });
    try {
      const rows = db.prepare<[], number>('SELECT count(*) FROM products').pluck().get();
      return db.pragma('integrity_check', { simple: true }) === 'ok' && rows === 3;
    } finally {
      db.close();
    }
  } catch {
    return false;
  }
}

/** Resolves at the moment at which something holds of the names in a directory. */
async function at(directory: string, isSo: () => boolean): Promise<void> {
  const changes = watch(directory, { signal: AbortSignal.timeout(60_000) })[Symbol.asyncIterator]();
  while (!isSo()) await changes.next();
  await changes.return?.();
}

const titles = (path: string) => {
  const db = new Database(path, { readonly: true });
  try {
    return db.prepare<[], string>('SELECT title FROM products ORDER BY product_id').pluck().all();
  } finally {
    db.close();
  }
};

async function retitled(title: string): Promise<void> {
  await stage.service.post(`/sandbox/products/${product_id}/edit`, { field: 'title', value: title });
  await stage.reread(product_id);
  await happens(
    () => titles(stage.mirror),
    (all) => all.includes(title),
  );
}

describe('a published copy', () => {
  it('is whole as soon as its name is there, and shows what the mirror shows', async () => {
    await at(dirname(published), () => existsSync(published));
    expect(isWhole(published)).toBe(true);
    await happens(
      () => stage.rows('SELECT 1 FROM changes WHERE kind = ?', 'pass_completed'),
      (rows) => rows.length > 0,
    );
    expect(readdirSync(dirname(published)).filter((name) => !name.endsWith('.tmp'))).toEqual(['published.db']);
    expect(titles(published)).toEqual(titles(stage.mirror));
    // One that was copied halfway, and one with another title, are seen (control).
    const half = join(stage.directory, 'half.db');
    cpSync(published, half);
    chmodSync(half, 0o600);
    truncateSync(half, 40_960);
    expect(isWhole(half)).toBe(false);
  });
});

describe('a copy that follows the mirror', () => {
  it('shows each state of it whole, and in the end what it shows, cell by cell', async () => {
    stack.use(stage.start('follow', '--from', `unix:${stage.storefront}`, '--every', '50', followed));
    await happens(() => existsSync(followed), Boolean);
    await equal(followed);
    reader = stack.adopt(new Database(followed, { readonly: true }), (db) => void db.close());
    const first = state();
    for (const [index, title] of ['The first name', 'The second name', 'The third name'].entries()) {
      await retitled(title);
      const seen = await happens(state, (each) => each.title === title);
      expect(seen.changes).toBe(first.changes + index + 1);
    }
    await equal(followed);
    // Another cell is seen (control).
    const rows = shown(followed);
    const other = { ...rows, products: rows.products?.map((row) => row.replace('third', 'fourth')) ?? [] };
    expect(differing(other, rows)).toEqual(['products']);
  });
});

describe('a backup', () => {
  it('is whole or not there when its maker is killed, refused when it was cut, and brings back what it had', async () => {
    expect((await stage.run('backup')).code).toBe(0);
    const directory = join(dirname(stage.admin), 'backup');
    const [name = ''] = readdirSync(directory);
    const maker = stage.start('backup');
    await at(directory, () => readdirSync(directory).length > 1);
    await maker.end('SIGKILL');
    const { backups } = await stage.json<{ backups: { backup: string }[] }>('backup', '--list');
    expect(backups.map(({ backup }) => basename(backup))).toContain(name);
    expect(backups.filter(({ backup }) => !isWhole(join(backup, 'mirror.db')))).toEqual([]);

    const cut = join(stage.directory, name);
    cpSync(join(directory, name), cut, { recursive: true });
    chmodSync(join(cut, 'mirror.db'), 0o600);
    truncateSync(join(cut, 'mirror.db'), 40_960);
    const path = `/v1/products/${product_id}`;
    const kept = await ask(stage.storefront, path);
    const asked = { headers: { 'if-none-match': String(kept.headers.etag) } };
    expect((await ask(stage.storefront, path, asked)).status).toBe(304);
    const [date = 0, expires = 0] = ['date', 'expires'].map((header) => Date.parse(String(kept.headers[header])));
    expect([expires >= date, expires <= date + 60_000]).toEqual([true, true]);
    await retitled('A name since the backup');
    await stage.ended();
    const mirror = readFileSync(stage.mirror);
    expect(await stage.run('restore', cut)).toMatchObject({ code: 65, stdout: '' });
    expect(readFileSync(stage.mirror)).toEqual(mirror);
    expect((await stage.run('restore', join(directory, name))).code).toBe(0);
    expect(titles(stage.mirror)).toContain('The third name');
    await stage.live();
    // Nobody is told that an answer from before still holds, and who follows takes in another file below its readers.
    expect((await ask(stage.storefront, path, asked)).status).toBe(200);
    await happens(state, ({ title }) => title === 'The third name');
    await retitled('A name since the restore');
    await happens(state, ({ title }) => title === 'A name since the restore');
    await equal(followed);
  });
});

/** A state of the copy, as a reader sees it that keeps it open: a title, and how many changes announce one. */
const state = () =>
  reader.transaction(() => ({
    title: reader.prepare('SELECT title FROM products WHERE product_id = ?').pluck().get(product_id),
    changes: reader.prepare("SELECT count(*) FROM changes WHERE kind = 'product_changed'").pluck().get() as number,
  }))();
