import { chmodSync, copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { type Mirror, openMirror } from '../../src/mirror/mirror.ts';
import { readOwnRow } from '../../src/mirror/own-row.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { openForReading, openForWriting } from '../../src/sqlite/database-file.ts';
import { type FileKind, migrationsOf } from '../../src/sqlite/file-kind.ts';
import { openReader } from '../../src/storefront/reader.ts';
import { temporaryDirectory, testMirror, testMirrorOptions } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const temporary = temporaryDirectory();
afterAll(() => temporary[Symbol.dispose]());

/** The last version whose tables had names without `_`. */
const before = 29;
const searchable = ['product_places', 'product_search', 'search_terms'];

const listed = (db: Database.Database, type: string) =>
  db
    .prepare<[string], string>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = ? AND name NOT LIKE 'sqlite%' ORDER BY name",
    )
    .pluck()
    .all(type);

const others = (db: Database.Database) => listed(db, 'table').filter((name) => !name.startsWith('_'));

/** Every row of every table, by its name without `_`, and how far the numbers of the feed have come. */
function contents(path: string): Record<string, string[]> {
  const db = new Database(path, { readonly: true });
  const tables = [...listed(db, 'table'), ...searchable, 'sqlite_sequence'];
  const rows = tables.map((name) => [
    name.replace(/^_/, ''),
    db
      .prepare<[], object>(`SELECT * FROM ${name}`)
      .all()
      .map((row) =>
        JSON.stringify(row)
          .replace('"name":"_', '"name":"')
          .replace(/"(schema_version|written_by)":("[^"]*"|\d+)/g, ''),
      )
      .sort(),
  ]);
  db.close();
  return Object.fromEntries(rows);
}

/** Writes what a mirror of today has into a file of the version before; of what came or went since, nothing. */
function asBefore(filled: string, path: string): void {
  const old = new Database(path);
  old.pragma('foreign_keys = OFF');
  for (const step of migrationsOf(mirrorFile).slice(0, before)) old.exec(step);
  old.exec(`ATTACH '${filled}' AS filled; DELETE FROM budget`);
  const columnsOf = old.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck();
  for (const name of listed(old, 'table')) {
    const today = columnsOf.all(`_${name}`);
    const columns = columnsOf.all(name).filter((column) => today.includes(column));
    if (columns.length === 0) continue;
    old.exec(`INSERT INTO main.${name} (${columns.join()}) SELECT ${columns.join()} FROM filled._${name}`);
  }
  old.exec(`INSERT INTO main.product_places SELECT * FROM filled.product_places;
    UPDATE main.sqlite_sequence SET seq = (SELECT seq FROM filled.sqlite_sequence)`);
  old.pragma(`application_id = ${mirrorFile.application_id}`);
  old.pragma(`user_version = ${before}`);
  old.close();
  chmodSync(path, 0o660);
}

async function filledBefore(path: string): Promise<void> {
  await using harness = await filledHarness({ products: 4 }, { cadence: { products: '1h' } });
  const { mirror } = harness.wiring;
  const [edited, withdrawn] = harness.sandbox.world.visible();
  if (edited === undefined || withdrawn === undefined) throw new Error('too few products');
  edited.title = 'Another Name';
  withdrawn.withdrawn = true;
  await harness.liveUntil(harness.clock.now() + 4 * 3_600_000);
  asBefore(mirror.path, path);
}

const itself = (path: string) => {
  const db = new Database(path, { readonly: true });
  const row = readOwnRow(db);
  db.close();
  return row;
};

const upgrade = (path: string): Mirror =>
  openMirror({ ...testMirrorOptions(''), path, pair_id: itself(path)?.pair_id ?? '' });

/** The file as a program with so many steps knows it, and no views. */
function ofSteps(steps: number): FileKind {
  const { name, application_id, migrations, mode, wal_autocheckpoint } = mirrorFile;
  const directory = join(temporary.path, `steps-${steps}/`);
  mkdirSync(directory);
  for (const each of readdirSync(migrations).filter((file) => Number(file.slice(0, 4)) <= steps))
    copyFileSync(new URL(each, migrations), join(directory, each));
  return { name, application_id, mode, wal_autocheckpoint, migrations: pathToFileURL(directory) };
}

describe('a filled mirror of the version before names with `_`', () => {
  const filled = join(temporary.path, 'filled.db');
  const copy = (name: string) => {
    const path = join(temporary.path, name);
    copyFileSync(filled, path);
    return path;
  };
  beforeAll(() => filledBefore(filled));

  it('keeps every row, and finds what it found, under the new ones', () => {
    const path = copy('rows.db');
    const stood = contents(path);
    expect(Object.values(stood).filter((rows) => rows.length > 0).length).toBeGreaterThan(30);
    openForWriting(path, ofSteps(before + 1)).close();
    expect(contents(path)).toEqual(stood);
    upgrade(path)[Symbol.dispose]();
    const db = new Database(path);
    for (const index of ['product_search', 'search_terms'])
      db.exec(`INSERT INTO ${index} (${index}, rank) VALUES ('integrity-check', 1)`);
    expect(db.pragma('foreign_key_check')).toEqual([]);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    using reader = openReader(path);
    expect(reader.search({ text: 'another name' })).toHaveLength(1);
    expect(reader.find({ text: 'anoter name' }).hits[0]?.title).toBe('Another Name');
    // Control: an index that is not filled again differs from what it is about.
    db.exec("INSERT INTO product_search (product_search) VALUES ('delete-all')");
    expect(() => db.exec("INSERT INTO product_search (product_search, rank) VALUES ('integrity-check', 1)")).toThrow();
    db.close();
  });

  it.each([
    ['as it stands', ''],
    ['also where every line of it was old enough to go', 'DELETE FROM change'],
  ])('has a feed that goes on without a gap from the cursor of before, %s', (_, sql) => {
    const path = copy('feed.db');
    const old = new Database(path);
    const cursor = old.prepare<[], number>('SELECT max(seq) FROM change').pluck().get() ?? 0;
    const feed = old.prepare<[], string>('SELECT feed_id FROM mirror').pluck().get() ?? '';
    old.exec(sql);
    old.close();
    {
      using mirror = upgrade(path);
      expect(mirror.feed).toEqual({ feed: 'goes-on' });
      const change = { product_id: 1, kind: 'sale_enabled', detail: {} } as const;
      mirror.transaction(() => mirror.changes.add(change, { sent_at: instant(1000), reason: 'requested' }));
    }
    using reader = openReader(path);
    expect(cursor).toBeGreaterThan(4);
    const { changes } = reader.changes(cursor, { feed });
    expect(changes.map(({ seq, kind }) => [seq, kind])).toEqual([[cursor + 1, 'sale_enabled']]);
  });

  it('is upgraded also where somebody has a view of his own over ours, and is refused by the program of before', () => {
    const path = copy('refused.db');
    const old = new Database(path);
    old.exec('CREATE VIEW "my shop" AS SELECT title FROM products JOIN product_text USING (product_id)');
    old.close();
    upgrade(path)[Symbol.dispose]();
    const program = ofSteps(before);
    for (const open of [openForWriting, openForReading])
      expect(() => open(path, program)).toThrow(
        /it was written by a newer catalogued \(schema \d+, this one knows 29\)/,
      );
  });
});

it('every table of a mirror has a private name or is one that storefronts search, and their own tables have theirs', () => {
  using test = testMirror();
  const db = new Database(test.mirror.path);
  expect(others(db)).toEqual([]);
  expect(listed(db, 'virtual')).toEqual(searchable);
  expect(listed(db, 'shadow').filter((name) => !searchable.some((index) => name.startsWith(`${index}_`)))).toEqual([]);
  expect(listed(db, 'view').filter((name) => name.startsWith('_'))).toEqual([]);
  // Control.
  db.exec('CREATE TABLE planted (planted_id INTEGER PRIMARY KEY) STRICT');
  expect(others(db)).toEqual(['planted']);
  db.close();
});
