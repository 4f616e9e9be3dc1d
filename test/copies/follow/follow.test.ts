import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { FollowedFile } from '../../../src/copies/follow/followed-file.ts';
import { follow } from '../../../src/copies/follow/follower.ts';
import { type RowSource, SourceAway } from '../../../src/copies/follow/source.ts';
import {
  captureRows,
  clockTables,
  columnsOf,
  contractTables,
  ownTables,
  type Publish,
  publishedTables,
  searchedTables,
} from '../../../src/feed/capture.store.ts';
import type { RowPage } from '../../../src/feed/pages.store.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { fileRows } from '../../fakes/file-rows.ts';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { otherWriter } from '../../fakes/other-writer.ts';
import { openReader } from '../../fakes/reader.ts';
import { testLog } from '../../fakes/test-log.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { filledHarness, type VirtualHarness } from '../../fakes/virtual-harness.ts';

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
  const rows = fileRows(path, now, 3);
  const source: TestSource = {
    copies: 0,
    away: false,
    only: () => true,
    after: async (question, signal) => {
      if (source.away) throw new SourceAway('cut');
      const page = await rows.after(question, signal);
      return page === 'begun-anew' ? page : { ...page, tables: page.tables.filter(({ table }) => source.only(table)) };
    },
    copy: (to, signal) => {
      source.copies += 1;
      return rows.copy(to, signal);
    },
  };
  return source;
}

/** Returns the rows that every view shows at an instant, as JSON by view; without what only a copy knows. */
function shown(path: string, now: number): Map<string, string> {
  const db = openMirrorAt(path, now);
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

function differing(one: string, other: string, now: number): string[] {
  const [ours, theirs] = [shown(one, now), shown(other, now)];
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
  /** What the copy shows. */
  shown(): Map<string, string>;
}

async function stage(products: number, rows = { publish: true }): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const harness = stack.use(await filledHarness({ products }, { rows }));
  const copy = join(stack.use(temporaryDirectory()).path, 'copy.db');
  const mirror = harness.daemon.config.mirror.path;
  const source = rowsOf(mirror, harness.clock.now);
  const closing = stack.move();
  return {
    harness,
    source,
    mirror,
    copy,
    follow: () => followOnce(copy, source),
    differing: () => differing(mirror, copy, harness.clock.now()),
    shown: () => shown(copy, harness.clock.now()),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

test('a copy shows what the mirror shows, cell by cell, over a day of changes and a restart of the daemon', async () => {
  await using at = await stage(6);
  await at.follow();
  expect(at.differing()).toEqual([]);
  for (let round = 0; round < 3; round += 1) {
    if (round === 1) await at.harness.restart();
    await at.harness.live(8 * hour);
    await at.follow();
    expect(at.differing(), `round ${round}`).toEqual([]);
  }
  expect(at.source.copies).toBe(1);
  // The control: rows that do not come are missed.
  at.source.only = (table) => table !== 'date_window';
  await at.harness.live(8 * hour);
  await at.follow();
  expect(at.differing()).toContain('availability_days');
});

test('a state that comes in pages is seen whole or not at all, by a reader that is open all the time', async () => {
  await using at = await stage(3);
  await at.follow();
  using reader = openReader(at.copy);
  const before = reader.info().published_at;
  await at.harness.live(8 * hour);
  const pages: RowPage[] = [];
  using file = new FollowedFile(at.copy);
  const { origin, number } = file.standing();
  for (let after = number; pages.at(-1)?.whole !== true; after = pages.at(-1)?.number ?? after)
    pages.push((await at.source.after({ origin, after, limit: 3 }, never)) as RowPage);
  expect(pages.length).toBeGreaterThan(2);
  const old = at.shown();
  for (const page of pages.slice(0, -1)) file.put(page);
  expect(at.shown()).toEqual(old);
  file.giveUp();
  for (const page of pages) expect(file.put(page)).toBe(true);
  expect(at.differing()).toEqual([]);
  expect(reader.info().published_at).toBeGreaterThan(before ?? 0);
});

test('a row that a trigger of the mirror writes may come in a page before the one that fires it', async () => {
  await using at = await stage(3);
  const db = otherWriter(at.mirror);
  db.pragma('foreign_keys = OFF');
  const columns = columnsOf(db, '_product').all.join();
  db.exec(`CREATE TEMPORARY TABLE added AS SELECT ${columns} FROM _product;
    DELETE FROM _product; DELETE FROM product_experiences`);
  await at.follow();
  // Noted once more, the products come after what their trigger wrote.
  db.exec(`INSERT INTO _product (${columns}) SELECT * FROM added; UPDATE _product SET rating = rating`);
  const noted = db.prepare(
    "SELECT DISTINCT source FROM _row WHERE source IN ('product_experiences', '_product') ORDER BY number",
  );
  expect(noted.pluck().all()).toEqual(['product_experiences', '_product']);
  db.close();
  await at.follow();
  expect(at.source.copies).toBe(1);
  expect(at.differing()).toEqual([]);
});

test('a copy that missed what is forgotten takes a new one in, under the eyes of an open reader', async () => {
  await using at = await stage(3);
  await at.follow();
  using reader = openReader(at.copy);
  const count = () => reader.products({ limit: 100 }).length;
  const before = count();
  await at.harness.live(8 * hour);
  const db = otherWriter(at.mirror);
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
  // As another version would.
  db.exec("UPDATE _row_feed SET schema_version = 0; UPDATE _product_text SET title = 'Renamed'");
  db.close();
  await at.harness.restart();
  await at.follow();
  expect(at.source.copies).toBe(2);
  expect(at.differing()).toEqual([]);
});

test('while the daemon is away the copy stays, and says of when it is', async () => {
  await using at = await stage(2);
  await at.follow();
  const before = at.shown();
  at.source.away = true;
  await at.follow();
  expect(at.shown()).toEqual(before);
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
  /** How many triggers a connection has, and how many rows are noted once one is written. */
  const found = (publish: Publish) => {
    const db = new Database(at.mirror);
    captureRows(db, { publish, another: false, newOrigin: () => 'new' });
    db.exec('UPDATE _mirror SET feed_floor_seq = feed_floor_seq');
    const counts = ['sqlite_temp_schema', '_row'].map((from) =>
      db.prepare(`SELECT count(*) FROM ${from}`).pluck().get(),
    );
    db.close();
    return counts;
  };
  expect(found('none')).toEqual([0, 0]);
  await expect(at.follow()).rejects.toThrow();
  expect(found('shown')).toEqual([4 * publishedTables.length, 1]);
  expect(found('none')).toEqual([0, 0]);
});

test('all that the views and searches read is published', () => {
  const text = readFileSync(new URL('../../../schema/mirror/views.sql', import.meta.url), 'utf8');
  const read = new Set([...text.matchAll(/\b(?:FROM|JOIN) (_[a-z_]+)\b/g)].map(([, name = '']) => name));
  // What a copy knows of itself, and how far a mirror may be read; the words behind the index that typed searches ask.
  for (const own of ['_followed', '_row_feed']) read.delete(own);
  // A daemon that goes on with a copy knows the offsets of a product by it.
  read.add('_zone_offset');
  expect([...publishedTables].sort()).toEqual(
    [...read, ...clockTables, ...contractTables, ...searchedTables, '_search_text'].sort(),
  );
});

test('all that a daemon keeps in the mirror is noted for an instance that stands by, but for the notes themselves', async () => {
  await using at = await stage(1);
  const db = new Database(at.mirror, { readonly: true });
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '[_]*' ORDER BY name")
    .pluck()
    .all();
  tables.push(...clockTables, ...contractTables, ...searchedTables);
  tables.sort();
  db.close();
  const notes = ['_followed', '_row', '_row_feed', '_row_mark'];
  expect([...publishedTables, ...ownTables, ...notes].sort()).toEqual(tables);
});

test('rows that do not fit the tables of the copy change nothing: their names never become SQL', async () => {
  await using at = await stage(1);
  await at.follow();
  const before = at.shown();
  using file = new FollowedFile(at.copy);
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
  expect(at.shown()).toEqual(before);
  expect(file.standing().number).toBe(number);
});
