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

function made(kind: FileKind): Record<string, string[]> {
  using directory = temporaryDirectory();
  const db = openForWriting(join(directory.path, 'made.db'), kind);
  try {
    return stored(db);
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
  expect(typed(mirror.replace('  hold: {', '  hold: {\n    planted: number;'))).not.toEqual(made(mirrorFile));
  expect(typed(mirror.replace('ended_at: number | null;', 'ended_at: number;'))).not.toEqual(made(mirrorFile));
  expect(typed(inbox.replace('  delivery: {', '  delivery: {\n    planted: number;'))).not.toEqual(made(inboxFile));
});
