import { readFileSync } from 'node:fs';
import type { Database } from '../../src/kernel/sqlite/database-file.ts';
import { contract } from '../../src/mirror/contract/contract.ts';
import type { Column, Table } from '../../src/mirror/contract/table.ts';

/* Makes src/mirror/sql/tables.ts: the rows of a mirror's tables, as its schema has them. */

/** Tables under a view of another name. */
const shownAs: Readonly<Record<string, Table>> = {
  ...contract,
  _product: contract.products,
  product: contract.products,
  price: contract.product_prices,
  checkout: contract.checkout_information,
  image: contract.images,
  day: contract.availability_days,
};

/** Ids that SQLite gives. */
const numbered = [
  'search_entries.search_id',
  'date_window.window_id',
  '_closure.closure_id',
  '_job.job_id',
  '_change.seq',
  '_gap.gap_id',
];

interface Stored {
  readonly name: string;
  readonly type: 'INTEGER' | 'REAL' | 'TEXT';
  readonly notnull: 0 | 1;
  readonly pk: number;
  readonly dflt_value: string | null;
  /** 2 and 3: it is computed. */
  readonly hidden: number;
}

const byHand = readFileSync(new URL('../../src/mirror/sql/column-types.ts', import.meta.url), 'utf8');
const named = new Set([...byHand.matchAll(/^ {2}'?([\w.]+)'?:/gm)].map(([, name = '']) => name));

const union = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' | ');

function typeOf(table: string, sql: string, { name, type }: Stored): string {
  const declared: Column | undefined = shownAs[table]?.columns[name];
  if (declared?.words !== undefined && !named.has(`${table}.${name}`)) return union(declared.words);
  const one = [`${table}.${name}`, name].find((each) => named.has(each));
  if (one !== undefined) return `Is['${one}']`;
  const check = new RegExp(`CHECK \\(${name} (?:IN \\(([^)]*)\\)|= (1))\\)`).exec(sql);
  if (check !== null) return (check[1] ?? check[2] ?? '').replaceAll(', ', ' | ');
  if (declared?.unit === '0 or 1') return '0 | 1';
  if (type === 'INTEGER' && /(^|_)at$/.test(name)) return 'Instant';
  return type === 'TEXT' ? 'string' : 'number';
}

/** Returns the text of the file. */
export function rowTypes(db: Database): string {
  const tables = db
    .prepare<[], { name: string; sql: string }>(
      `SELECT t.name, s.sql FROM pragma_table_list t JOIN sqlite_schema s ON s.name = t.name
       WHERE t.schema = 'main' AND t.type = 'table' AND t.strict = 1 ORDER BY s.rowid`,
    )
    .all()
    .map(({ name, sql }) => ({ name, sql, columns: db.pragma(`table_xinfo(${name})`) as Stored[] }));
  const rows = tables.map(({ name, sql, columns }) => {
    const typed = columns.map((column) => {
      const mayBeNull = column.notnull === 0 && column.pk === 0;
      return `${column.name}: ${typeOf(name, sql, column)}${mayBeNull ? ' | null' : ''}`;
    });
    return `  ${name}: { ${typed.join('; ')} };\n`;
  });
  const defaulted = tables.flatMap(({ name, columns }) => {
    const of = columns.filter(
      (column) => column.dflt_value !== null || column.hidden > 1 || numbered.includes(`${name}.${column.name}`),
    );
    return of.length === 0 ? [] : [`  ${name}: ${union(of.map((column) => column.name))};\n`];
  });
  return `// Made of schema/mirror/ and column-types.ts: npx vitest run --config test/vitest.config.ts mirror/tables -u
import type { Instant } from '../../kernel/clock.ts';
import type { ColumnTypes as Is } from './column-types.ts';

/** Rows of the tables of a mirror. Booleans are 0 or 1. */
export interface Tables {
${rows.join('')}}

/** Columns that have a value where an insert names none: a default, the next number, or what is computed. */
export interface Defaulted {
${defaulted.join('')}}
`;
}
