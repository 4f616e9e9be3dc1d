import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { MirrorOptions } from '../../src/mirror/claim.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { migrationsOf } from '../../src/sqlite/file-kind.ts';
import { emptyMirror, temporaryDirectory, testMirrorOptions } from '../fakes/test-mirror.ts';

/*
 * To have new.sql begin with later steps, change its user_version and run
 * npx vitest run --config test/vitest.config.ts new-file -u
 */

const path = '../../schema/mirror/new.sql';
const text = readFileSync(new URL(path, import.meta.url), 'utf8');
const steps = Number(/user_version = (\d+)/.exec(text)?.[1]);

const made = (statements: readonly string[]) => {
  const db = new Database(':memory:');
  for (const each of statements) db.exec(each);
  return db;
};

const tablesOf = (db: Database.Database) =>
  db
    .prepare<[], string>("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'view' ORDER BY name")
    .pluck()
    .all()
    .filter((name) => name !== 'sqlite_schema');

/** Everything but the views, which are made anew, and where SQLite keeps what. */
function contents(db: Database.Database) {
  const schema = db
    .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type <> 'view' ORDER BY type, name")
    .all();
  return { schema, rows: tablesOf(db).map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]) };
}

/** A text that makes what stands in a file. */
function textOf(db: Database.Database): string {
  const virtual = db.prepare<[], string>("SELECT name FROM pragma_table_list WHERE type = 'virtual'").pluck().all();
  const schema = db
    .prepare<[], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type <> 'view' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .all()
    .filter(({ name }) => !virtual.some((table) => name.startsWith(`${table}_`)));
  const ranks = virtual
    .filter((table) => tablesOf(db).includes(`${table}_config`))
    .flatMap((table) =>
      db
        .prepare<[], string>(`SELECT v FROM ${table}_config WHERE k = 'rank'`)
        .pluck()
        .all()
        .map((rank) => `INSERT INTO ${table} (${table}, rank) VALUES ('rank', '${rank}')`),
    );
  const rows = db.prepare<[], string>('SELECT budget_id FROM _budget').pluck().all();
  const statements = [
    ...schema.map(({ sql }) => sql),
    ...ranks,
    ...rows.map((id) => `INSERT INTO _budget (budget_id) VALUES (${id})`),
  ];
  return `-- A new file as its first ${steps} steps leave it, without views: made from them (test/mirror/new-file.test.ts).
PRAGMA user_version = ${steps};

${statements.join(';\n\n')};
`;
}

it('a new mirror begins as its first steps would leave it, in every table, index, trigger and row', async () => {
  expect(steps).toBeGreaterThan(25);
  const stepwise = made(migrationsOf(mirrorFile).slice(0, steps));
  const whole = textOf(stepwise);
  await expect(whole).toMatchFileSnapshot(path);
  expect(contents(made([whole]))).toEqual(contents(stepwise));
});

it('a row or a column more is found (control)', () => {
  const standing = contents(made([text]));
  expect(contents(made([text, 'ALTER TABLE _product ADD COLUMN strapline TEXT']))).not.toEqual(standing);
  expect(contents(made([text, 'INSERT INTO _unpriced VALUES (1)']))).not.toEqual(standing);
});

it('an empty mirror that a test begins with is the one that is made where there is none', () => {
  using place = temporaryDirectory();
  const [copied, made] = ['copied', 'made'].map((name) => testMirrorOptions(join(place.path, name))) as [
    MirrorOptions,
    MirrorOptions,
  ];
  emptyMirror.write(copied.path);
  const [one, other] = [copied, made].map((options) => {
    using mirror = openMirror({ ...options, newFeedId: () => 'feed' });
    const db = new Database(mirror.path, { readonly: true });
    const content = contents(db);
    db.close();
    return { content, feed: mirror.feed };
  });
  expect(one).toEqual(other);
});
