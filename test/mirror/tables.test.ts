import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Database, type FileKind, openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { inboxFile } from '../../src/receiver/inbox.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { rowTypes } from './row-types.ts';

/** The columns of each table as a file of ours writes them down: `name` or, where it may be null, `name?`. */
function typed(text: string): Record<string, string[]> {
  const begin = text.search(/^export interface \w*Tables \{/m);
  const body = text.slice(begin, text.indexOf('\n}\n', begin) + 3);
  const tables = body.matchAll(/^ {2}(\w+): \{(.*?)\}?;$(?=\n {2}\w+:|\n\})/gms);
  return Object.fromEntries(
    [...tables].map(([, table = '', columns = '']) => [
      table,
      [...columns.matchAll(/(\w+):([^;]*)(?:;|$)/g)]
        .map(([, column, type = '']) => `${column}${/\| null\b/.test(type) ? '?' : ''}`)
        .sort(),
    ]),
  );
}

function stored(db: Database): Record<string, string[]> {
  const rows = db
    .prepare<[], { table: string; column: string; nullable: 0 | 1 }>(
      `SELECT t.name AS "table", c.name AS "column", c."notnull" = 0 AND c.pk = 0 AS nullable
       FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
       WHERE t.schema = 'main' AND t.type = 'table' AND t.strict = 1`,
    )
    .all();
  const columns = Object.groupBy(rows, ({ table }) => table);
  return Object.fromEntries(
    Object.entries(columns).map(([table, of = []]) => [
      table,
      of.map(({ column, nullable }) => `${column}${nullable ? '?' : ''}`).sort(),
    ]),
  );
}

function made<Result = Record<string, string[]>>(
  kind: FileKind,
  look: (db: Database) => Result = stored as (db: Database) => Result,
): Result {
  using directory = temporaryDirectory();
  const db = openForWriting(join(directory.path, 'made.db'), kind);
  try {
    return look(db);
  } finally {
    db.close();
  }
}

const inbox = readFileSync(new URL('../../src/receiver/tables.ts', import.meta.url), 'utf8');

it('src/mirror/sql/tables.ts is made of the schema (npm run generate)', async () => {
  await expect(made(mirrorFile, rowTypes)).toMatchFileSnapshot('../../src/mirror/sql/tables.ts');
});

it('the row of a table that has another column is another one (control)', () => {
  const planted = made(mirrorFile, (db) => {
    db.exec("ALTER TABLE day ADD COLUMN weather TEXT CHECK (weather IN ('dry', 'wet'))");
    return rowTypes(db);
  });
  expect(planted).toContain("; window_id: number; weather: 'dry' | 'wet' | null };");
});

it('the tables that the program is compiled against are those of the inbox, column by column, nulls included', () => {
  expect(typed(inbox)).toEqual(made(inboxFile));
});

it('a column that only one of the two has is found (control)', () => {
  expect(typed(inbox.replace('  delivery: {', '  delivery: {\n    planted: number;'))).not.toEqual(made(inboxFile));
  expect(typed(inbox.replace('stopped_at: Instant | null;', 'stopped_at: Instant;'))).not.toEqual(made(inboxFile));
});

/** Columns that an insert may leave out: with a default, computed, or numbered by SQLite. */
function defaulted(db: Database): Set<string> {
  const rows = db
    .prepare<[], string>(
      `SELECT t.name || '.' || c.name FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
       WHERE t.schema = 'main' AND t.type = 'table' AND t.strict = 1
         AND (c.dflt_value IS NOT NULL OR c.hidden IN (2, 3) OR (c.pk = 1 AND c.type = 'INTEGER'))`,
    )
    .pluck()
    .all();
  return new Set(rows);
}

/** The columns that a file of ours lets an insert leave out. */
function leftOut(text: string): string[] {
  const begin = text.search(/^(export )?interface \w*Defaulted \{/m);
  const body = text.slice(begin, text.indexOf('\n}\n', begin));
  return [...body.matchAll(/^ {2}(\w+):((?:\s*\|?\s*'\w+')+);/gm)].flatMap(([, table, columns = '']) =>
    [...columns.matchAll(/'(\w+)'/g)].map(([, column]) => `${table}.${column}`),
  );
}

it('what an insert into the inbox may leave out has a value of its own', () => {
  const valued = made(inboxFile, defaulted);
  expect(leftOut(inbox).length).toBeGreaterThan(2);
  expect(leftOut(inbox).filter((column) => !valued.has(column))).toEqual([]);
  // Control.
  expect(valued.has('delivery.peer')).toBe(false);
});
