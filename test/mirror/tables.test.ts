import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { testMirror } from '../fakes/test-mirror.ts';

/** The columns of each table as src/mirror/sql/tables.ts writes them down: `name` or, where it may be null, `name?`. */
function typed(text: string): Record<string, string[]> {
  const body = text.slice(text.indexOf('export interface Tables {'));
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

function stored(): Record<string, string[]> {
  using test = testMirror();
  const rows = test.all<{ table: string; column: string; nullable: 0 | 1 }>(
    `SELECT t.name AS "table", c.name AS "column", c."notnull" = 0 AND c.pk = 0 AS nullable
     FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
     WHERE t.schema = 'main' AND t.type = 'table' AND t.strict = 1`,
  );
  const columns = Object.groupBy(rows, ({ table }) => table);
  return Object.fromEntries(
    Object.entries(columns).map(([table, of = []]) => [
      table,
      of.map(({ column, nullable }) => `${column}${nullable ? '?' : ''}`).sort(),
    ]),
  );
}

const source = readFileSync(new URL('../../src/mirror/sql/tables.ts', import.meta.url), 'utf8');

it('the tables that the program is compiled against are those of the file, column by column, nulls included', () => {
  expect(typed(source)).toEqual(stored());
});

it('a column that only one of the two has is found (control)', () => {
  expect(typed(source.replace('  hold: {', '  hold: {\n    planted: number;'))).not.toEqual(stored());
  expect(typed(source.replace('ended_at: number | null;', 'ended_at: number;'))).not.toEqual(stored());
});
