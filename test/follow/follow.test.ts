import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openFollowed } from '../../src/follow/followed-file.ts';
import { follow } from '../../src/follow/follower.ts';
import { type PublishedPage, type RowSource, SourceAway } from '../../src/follow/source.ts';
import { captureRows, clockTables, contractTables, ownTables, publishedTables } from '../../src/mirror/rows/capture.ts';
import { rowPages } from '../../src/mirror/rows/pages.ts';
import { publishCopy } from '../../src/sqlite/published-copy.ts';
import { openReader } from '../fakes/reader.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const never = new AbortController().signal;

/** A daemon's rows without a network between. */
interface TestSource extends RowSource {
  copies: number;
  away: boolean;
  /** Of each page only what this leaves. */
  only: (table: string) => boolean;
}

function rowsOf(path: string, now: () => number): TestSource {
  const source: TestSource = {
    copies: 0,
    away: false,
    only: () => true,
    after: async (question) => {
      if (source.away) throw new SourceAway('cut');
      const db = new Database(path, { readonly: true });
      try {
        const page = rowPages(db).after({ ...question, limit: 3 });
        return { ...page, tables: page.tables.filter(({ table }) => source.only(table)), published_at: now() };
      } catch (error) {
        if ((error as { code?: string }).code === 'rows-begun-anew') return 'begun-anew' as const;
        throw error;
      } finally {
        db.close();
      }
    },
    copy: async (to) => {
      source.copies += 1;
      publishCopy(path, to, `${to}.made`);
      return now();
    },
  };
  return source;
}

/** What every view shows, as JSON by view; without what only a copy knows. */
function shown(path: string): Map<string, string> {
  const db = new Database(path, { readonly: true });
  const views = [
    ...contractTables,
    ...db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all(),
  ];
  const found = new Map(
    views.map((view) => {
      const rows = db.prepare(`SELECT * FROM ${view}`).all() as Record<string, unknown>[];
      const lines = rows.map((row) => JSON.stringify({ ...row, published_at: undefined })).sort();
      return [view, lines.join('\n')] as const;
    }),
  );
  for (const word of ['museum', 'tower', 'london'])
    found.set(
      `product_search ${word}`,
      JSON.stringify(
        db.prepare('SELECT product_id FROM product_search WHERE product_search MATCH ? ORDER BY 1').raw().all(word),
      ),
    );
  db.close();
  return found;
}

function differing(one: string, other: string): string[] {
  const [ours, theirs] = [shown(one), shown(other)];
  return [...ours].filter(([view, rows]) => theirs.get(view) !== rows).map(([view]) => view);
}

async function followOnce(path: string, source: RowSource): Promise<void> {
  const ending = new AbortController();
  const once = { ...systemClock, sleep: async () => ending.abort() };
  await follow({ source, path, every: 250, clock: once, log: testLog('silent').log, own: 1 }, ending.signal);
}

interface Stage extends AsyncDisposable {
  readonly harness: VirtualHarness;
  readonly source: TestSource;
  /** The mirror, and its copy. */
  readonly mirror: string;
  readonly copy: string;
  follow(): Promise<void>;
  /** The views that differ. */
  differing(): string[];
}

async function stage(products: number, rows = { publish: true }): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const harness = stack.use(await virtualHarness({ products }, { rows }, { start: Date.now() }));
  await harness.fill();
  const copy = join(stack.use(temporaryDirectory()).path, 'copy.db');
  const mirror = harness.wiring.mirror.path;
  const source = rowsOf(mirror, harness.clock.now);
  const closing = stack.move();
  return {
    harness,
    source,
    mirror,
    copy,
    follow: () => followOnce(copy, source),
    differing: () => differing(mirror, copy),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

test('a copy shows what the mirror shows, cell by cell, over a day of changes and a restart of the daemon', async () => {
  await using at = await stage(6);
  await at.follow();
  expect(at.differing()).toEqual([]);
  for (let round = 0; round < 3; round += 1) {
    if (round === 1) await at.harness.restart();
    await at.harness.liveUntil(at.harness.clock.now() + 8 * hour);
    await at.follow();
    expect(at.differing(), `round ${round}`).toEqual([]);
  }
  expect(at.source.copies).toBe(1);
  // The control: rows that do not come are missed.
  at.source.only = (table) => table !== 'date_window';
  await at.harness.liveUntil(at.harness.clock.now() + 8 * hour);
  await at.follow();
  expect(at.differing()).toContain('availability_days');
});

test('a state that comes in pages is seen whole or not at all, by a reader that is open all the time', async () => {
  await using at = await stage(3);
  await at.follow();
  using reader = openReader(at.copy);
  const before = reader.info().published_at;
  await at.harness.liveUntil(at.harness.clock.now() + 8 * hour);
  const pages: PublishedPage[] = [];
  using file = openFollowed(at.copy);
  const { origin, number } = file.standing();
  for (let after = number; pages.at(-1)?.whole !== true; after = pages.at(-1)?.number ?? after)
    pages.push((await at.source.after({ origin, after, limit: 3 }, never)) as PublishedPage);
  expect(pages.length).toBeGreaterThan(2);
  const old = shown(at.copy);
  for (const page of pages.slice(0, -1)) file.put(page);
  expect(shown(at.copy)).toEqual(old);
  file.giveUp();
  for (const page of pages) expect(file.put(page)).toBe(true);
  expect(at.differing()).toEqual([]);
  expect(reader.info().published_at).toBeGreaterThan(before ?? 0);
});

test('a copy that missed what is forgotten takes a new one in, under the eyes of an open reader', async () => {
  await using at = await stage(3);
  await at.follow();
  using reader = openReader(at.copy);
  const count = () => reader.products({ limit: 100 }).length;
  const before = count();
  await at.harness.liveUntil(at.harness.clock.now() + 8 * hour);
  const db = new Database(at.mirror);
  db.exec(
    'UPDATE _row_feed SET floor = (SELECT max(number) FROM _row); UPDATE _product SET withdrawn_at = 1 WHERE product_id = (SELECT min(product_id) FROM _product)',
  );
  db.close();
  await at.follow();
  expect(at.source.copies).toBe(2);
  expect(at.differing()).toEqual([]);
  expect(count()).toBe(before - 1);
});

test('numbers of another file mean nothing: rows that were changed while nothing noted it begin anew', async () => {
  await using at = await stage(2);
  await at.follow();
  const db = new Database(at.mirror);
  // As an older program would, or a person.
  db.exec("DROP TRIGGER row_of__product_text_changed; UPDATE _product_text SET title = 'Renamed'");
  db.close();
  await at.harness.restart();
  await at.follow();
  expect(at.source.copies).toBe(2);
  expect(at.differing()).toEqual([]);
});

test('while the daemon is away the copy stays, and says of when it is', async () => {
  await using at = await stage(2);
  await at.follow();
  const before = shown(at.copy);
  at.source.away = true;
  await at.follow();
  expect(shown(at.copy)).toEqual(before);
  using reader = openReader(at.copy);
  expect(reader.info().published_at).toBe(at.harness.clock.now());
});

test('what is no followed copy is refused, and stays as it is', async () => {
  await using at = await stage(2);
  writeFileSync(at.copy, 'notes');
  await expect(at.follow()).rejects.toThrow(/no copy that follows a daemon|not a database/);
  expect(readFileSync(at.copy, 'utf8')).toBe('notes');
  // The mirror itself least of all.
  await expect(followOnce(at.mirror, at.source)).rejects.toMatchObject({ code: 'no-followed-copy' });
});

test('without the key there is no trigger and no note of a row; switched off, they go', async () => {
  await using at = await stage(2, { publish: false });
  const found = () => {
    const db = new Database(at.mirror, { readonly: true });
    const triggers = db
      .prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'row_of_%'")
      .pluck()
      .get();
    const rows = db.prepare('SELECT count(*) FROM _row').pluck().get();
    db.close();
    return { triggers, rows };
  };
  expect(found()).toEqual({ triggers: 0, rows: 0 });
  await expect(at.follow()).rejects.toThrow();
  const db = new Database(at.mirror);
  const options = { another: false, newOrigin: () => 'new' };
  captureRows(db, { ...options, publish: 'shown' });
  expect(found()).toMatchObject({ triggers: 4 * publishedTables.length });
  captureRows(db, { ...options, publish: 'none' });
  db.close();
  expect(found()).toEqual({ triggers: 0, rows: 0 });
});

test('all that the views and searches read is published', () => {
  const text = readFileSync(new URL('../../schema/mirror/views.sql', import.meta.url), 'utf8');
  const read = new Set([...text.matchAll(/\b(?:FROM|JOIN) (_[a-z_]+)\b/g)].map(([, name = '']) => name));
  // What a copy knows of itself, and how far a mirror may be read; the words behind the index that typed searches ask.
  for (const own of ['_followed', '_row_feed']) read.delete(own);
  // The trigger that keeps the offsets of a product reads it, in a copy too.
  read.add('_zone_offset');
  expect([...publishedTables].sort()).toEqual([...read, ...clockTables, ...contractTables, '_search_text'].sort());
});

test('all that a daemon keeps in the mirror is noted for an instance that stands by, but for the notes themselves', async () => {
  await using at = await stage(1);
  const db = new Database(at.mirror, { readonly: true });
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '[_]*' ORDER BY name")
    .pluck()
    .all();
  tables.push(...clockTables, ...contractTables);
  tables.sort();
  db.close();
  const notes = ['_followed', '_row', '_row_feed', '_row_mark'];
  expect([...publishedTables, ...ownTables, ...notes].sort()).toEqual(tables);
});

test('rows that do not fit the tables of the copy change nothing: their names never become SQL', async () => {
  await using at = await stage(1);
  await at.follow();
  const before = shown(at.copy);
  using file = openFollowed(at.copy);
  const { origin, number, schema_version } = file.standing();
  const page = { origin, number: number + 1, whole: true, schema_version, published_at: 1 };
  const tags = { table: 'product_tags', columns: ['product_id', 'tag_id', 'position'], key: ['product_id', 'tag_id'] };
  const odd = [
    { ...tags, table: 'product_tags WHERE 1 OR 1', rows: [], gone: [[1, 1]] },
    { ...tags, table: '_record', rows: [], gone: [[1, 1]] },
    { ...tags, columns: ['product_id', 'tag_id', 'position) SELECT 1, 1, 1 --'], rows: [[1, 1, 1]], gone: [] },
    { ...tags, key: ['1'], rows: [], gone: [[1]] },
    { ...tags, rows: [[1, 1]], gone: [] },
  ];
  for (const rows of odd) expect(file.put({ ...page, tables: [rows] }), JSON.stringify(rows)).toBe(false);
  expect(shown(at.copy)).toEqual(before);
  expect(file.standing().number).toBe(number);
});
