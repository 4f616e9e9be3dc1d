import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inboxFile } from '../../src/inbox/inbox.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { type Database, type FileKind, openForWriting } from '../../src/sqlite/database-file.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

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

const source = (path: string) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8');
const [mirror, inbox] = [source('mirror/sql/tables.ts'), source('inbox/tables.ts')];

it('the tables that the program is compiled against are those of the files, column by column, nulls included', () => {
  expect(typed(mirror)).toEqual(made(mirrorFile));
  expect(typed(inbox)).toEqual(made(inboxFile));
});

it('a column that only one of the two has is found (control)', () => {
  expect(typed(mirror.replace('  _held: {', '  _held: {\n    planted: number;'))).not.toEqual(made(mirrorFile));
  expect(typed(mirror.replace('ended_at: Instant | null;', 'ended_at: Instant;'))).not.toEqual(made(mirrorFile));
  expect(typed(inbox.replace('  delivery: {', '  delivery: {\n    planted: number;'))).not.toEqual(made(inboxFile));
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

it('what an insert may leave out has a value of its own', () => {
  for (const [text, kind] of [
    [mirror, mirrorFile],
    [inbox, inboxFile],
  ] as const) {
    const named = leftOut(text);
    expect(named.length).toBeGreaterThan(5);
    const valued = made(kind, defaulted);
    expect(named.filter((column) => !valued.has(column))).toEqual([]);
  }
});

it('a column without a value of its own that an insert may leave out is found (control)', () => {
  const planted = leftOut(mirror.replace("image_file: 'failures'", "image_file: 'failures' | 'url'"));
  expect(planted.filter((column) => !made(mirrorFile, defaulted).has(column))).toEqual(['_image_file.url']);
});
