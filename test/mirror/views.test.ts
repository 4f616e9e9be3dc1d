import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openMirror } from '../../src/mirror/mirror.ts';
import { temporaryDirectory, testMirrorOptions } from '../fakes/test-mirror.ts';

const viewsIn = (db: Database.Database) =>
  db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name").all();
const cookieOf = (db: Database.Database) => db.pragma('schema_version', { simple: true });

/** Opens the mirror once more, as the daemon of this version does, after another hand was at it. */
function reopened(sql: string): {
  readonly before: unknown;
  readonly after: unknown;
  readonly cookies: readonly unknown[];
} {
  using directory = temporaryDirectory();
  const options = { ...testMirrorOptions(directory.path), path: join(directory.path, 'mirror.db') };
  openMirror(options)[Symbol.dispose]();
  const db = new Database(options.path);
  const before = viewsIn(db);
  db.exec(sql);
  const cookie = cookieOf(db);
  openMirror(options)[Symbol.dispose]();
  const answer = { before, after: viewsIn(db), cookies: [cookie, cookieOf(db)] };
  db.close();
  return answer;
}

it.each([
  'DROP VIEW product_popularity',
  'CREATE VIEW shops AS SELECT 1 AS one',
  'DROP VIEW changes; CREATE VIEW changes AS SELECT seq FROM _change',
])(
  'a mirror whose views differ from the text has all of them as the text says once it is opened for writing: %s',
  (sql) => {
    const { before, after } = reopened(sql);
    expect(after).toEqual(before);
  },
);

it('a mirror whose views are those of the text is opened without a change of its schema', () => {
  const { cookies } = reopened('SELECT 1');
  expect(cookies[1]).toBe(cookies[0]);
});

it('a change of a view is a change of the schema (control)', () => {
  const { cookies } = reopened('DROP VIEW product_popularity');
  expect(cookies[1]).not.toBe(cookies[0]);
});

it('a mirror has each view as one line that begins with SELECT: drizzle-kit pull stops at any other', () => {
  const { before } = reopened('SELECT 1');
  const views = before as { name: string; sql: string }[];
  expect(views.length).toBeGreaterThan(15);
  expect(views.filter(({ sql }) => !/\bAS\b\s+(SELECT.+)$/i.test(sql)).map(({ name }) => name)).toEqual([]);
});
