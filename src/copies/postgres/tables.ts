import { columnsOf, type PublishedTable, publishedOf } from '../../feed/capture.store.ts';
import type { Cell, TableHead, TableRows } from '../../feed/pages.store.ts';
import type { Database } from '../../kernel/sqlite/database-file.ts';
import { quoted, type Statements } from './connect.ts';

/*
 * The mirror's tables in PostgreSQL: made of the mirror's own, so that there is one text of them. What a state changes is
 * noted beside them (`_row`), not in them: a row that says only when it was read changes no index.
 */

type PostgresType = 'bigint' | 'double precision' | 'text';

export interface PublishedColumn {
  readonly name: string;
  readonly type: PostgresType;
}

export interface TableShape {
  readonly name: PublishedTable;
  readonly columns: readonly PublishedColumn[];
  readonly key: readonly string[];
}

/** All that is published of a mirror, as its file has it. */
export function shapesOf(db: Database): TableShape[] {
  const types = db.prepare<[string], [string, string]>('SELECT name, type FROM pragma_table_info(?)').raw();
  return publishedOf(db).map((name) => {
    const found = new Map(types.all(name));
    const { all, key } = columnsOf(db, name);
    return { name, key, columns: all.map((column) => ({ name: column, type: typeOf(found.get(column)) })) };
  });
}

function typeOf(declared = ''): PostgresType {
  if (declared === 'INTEGER' || declared === 'INT') return 'bigint';
  return declared === 'TEXT' ? 'text' : 'double precision';
}

const shownStale = `shown_stale_at bigint NOT NULL GENERATED ALWAYS AS (COALESCE(held_at, stale_at)) STORED,
  expired_at bigint NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED`;

/** Columns that PostgreSQL computes as SQLite does; published rows do not contain them. */
const computed: Partial<Record<PublishedTable, string>> = {
  _text_read: shownStale,
  _price_read: shownStale,
  _product: `sellable bigint NOT NULL GENERATED ALWAYS AS
    ((withdrawn_at IS NULL AND sale_status = 'enabled' AND closure_unconfirmed = 0)::int::bigint) STORED`,
  date_window: `shown_stale_at bigint NOT NULL GENERATED ALWAYS AS (CASE WHEN shut = 2 THEN 0 ELSE COALESCE(held_at, stale_at) END) STORED,
  expired_at bigint NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED`,
};

/** Returns the names of those columns of a table. */
export function computedColumns(table: PublishedTable): string[] {
  return [...(computed[table] ?? '').matchAll(/(\w+) bigint NOT NULL GENERATED/g)].map(([, name = '']) => name);
}

/** Texts compare byte by byte, as in the file, in any collation of the database. */
export function definitionOf({ name, type }: PublishedColumn): string {
  return `${quoted(name)} ${type}${type === 'text' ? ' COLLATE "C"' : ''}`;
}

export function tableOf({ name, columns, key }: TableShape, as: string): string {
  const lines = [
    ...columns.map(definitionOf),
    ...(computed[name] === undefined ? [] : [computed[name]]),
    `PRIMARY KEY (${key.map(quoted).join(', ')})`,
  ];
  // Room on each page for what changes often: a row's next version then needs no other page, and no index entry.
  return `CREATE TABLE ${quoted(as)} (\n  ${lines.join(',\n  ')}\n) WITH (fillfactor = 85)`;
}

/** Sends rows into a table that only this transaction knows. */
export async function sendRows(
  { query }: Statements,
  shape: TableShape,
  rows: TableRows['rows'],
  into: string,
): Promise<void> {
  await query(
    `INSERT INTO ${quoted(into)} (${namesOf(shape)}) SELECT * FROM ${given(shape.columns)}`,
    columnsIn(shape.columns, rows),
  );
}

/** Writes those of the rows that differ from what stands, as of one state; returns how many. */
export function putRows(
  statements: Statements,
  shape: TableShape,
  rows: TableRows['rows'],
  state: number,
): Promise<number> {
  const sql = `INSERT INTO ${quoted(shape.name)} AS t (${namesOf(shape)}) SELECT * FROM ${given(shape.columns)} ${taking(shape, 'excluded')}`;
  return noting(statements, shape, state, { sql, values: columnsIn(shape.columns, rows) });
}

/** Deletes rows by their keys, as of one state; returns how many there were. */
export function dropRows(
  statements: Statements,
  shape: TableShape,
  keys: TableRows['gone'],
  state: number,
): Promise<number> {
  const columns = shape.key.flatMap((key) => shape.columns.filter(({ name }) => name === key));
  const sql = `DELETE FROM ${quoted(shape.name)} AS t USING ${given(columns)} AS s (${shape.key.map(quoted).join(', ')}) WHERE ${same(shape)}`;
  return noting(statements, shape, state, { sql, values: columnsIn(columns, keys) });
}

/** Has a table hold what another of its shape does, as of one state: only rows that differ are written. Returns how many. */
export async function putTable(
  statements: Statements,
  shape: TableShape,
  staged: string,
  state: number,
): Promise<number> {
  const table = quoted(shape.name);
  const from = quoted(staged);
  const gone = await noting(statements, shape, state, {
    sql: `DELETE FROM ${table} AS t WHERE NOT EXISTS (SELECT FROM ${from} s WHERE ${same(shape)})`,
  });
  const [first = ''] = shape.key;
  const rows = (of: string) => `(${shape.columns.map(({ name }) => `${of}.${quoted(name)}`).join(', ')})`;
  const put = await noting(statements, shape, state, {
    // Only looked at where they are equal: ON CONFLICT alone would lock, and so write, every row.
    sql: `INSERT INTO ${table} AS t (${namesOf(shape)})
      SELECT s.* FROM ${from} s LEFT JOIN ${table} t ON ${same(shape)} WHERE t.${quoted(first)} IS NULL OR ${rows('t')} IS DISTINCT FROM ${rows('s')}
      ${taking(shape, 'excluded')}`,
  });
  return gone + put;
}

/** Rows that are fetched at a time. */
const batchRows = 2000;

/** Reads all rows of a table, in batches. */
export async function* rowsIn({ query }: Statements, table: Omit<TableHead, 'key'>): AsyncGenerator<readonly Cell[][]> {
  await query(`DECLARE copied NO SCROLL CURSOR FOR SELECT ${rowOf(table)} AS row FROM ${quoted(table.table)} AS t`);
  for (let full = true; full; ) {
    const rows = await query<{ row: Cell[] }>(`FETCH ${batchRows} FROM copied`);
    yield rows.map(({ row }) => row);
    full = rows.length === batchRows;
  }
  await query('CLOSE copied');
}

/** A row as JSON, in the order of the columns. */
export const rowOf = ({ columns }: Omit<TableHead, 'key'>) =>
  `json_build_array(${columns.map((column) => `t.${quoted(column)}`).join(', ')})`;

/** More keys of one table and state are not recorded: followers start again. */
export const mostNoted = 100_000;

/** Runs what changes rows of `t`, and notes their keys for followers; returns how many they are. */
async function noting(
  { query }: Statements,
  { name, key }: TableShape,
  state: number,
  { sql, values = [] }: { readonly sql: string; readonly values?: readonly unknown[] },
): Promise<number> {
  const [found] = await query<{ rows: number }>(
    `WITH each AS (${sql} RETURNING jsonb_build_array(${key.map((column) => `t.${quoted(column)}`).join(', ')}) AS key),
     noted AS (INSERT INTO _row (state, source, keys, n)
       SELECT ${state}, '${name}', jsonb_agg(key), count(*) FROM each HAVING count(*) BETWEEN 1 AND ${mostNoted})
     SELECT count(*) AS rows FROM each`,
    values,
  );
  return found?.rows ?? 0;
}

const namesOf = ({ columns }: TableShape) => columns.map(({ name }) => quoted(name)).join(', ');

const given = (columns: readonly PublishedColumn[]) =>
  `unnest(${columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})`;

const same = ({ key }: TableShape) => key.map((column) => `t.${quoted(column)} = s.${quoted(column)}`).join(' AND ');

function taking({ columns, key }: TableShape, of: string): string {
  const others = columns.filter(({ name }) => !key.includes(name)).map(({ name }) => quoted(name));
  const conflict = `ON CONFLICT (${key.map(quoted).join(', ')})`;
  if (others.length === 0) return `${conflict} DO NOTHING`;
  const values = (row: string) => `(${others.map((name) => `${row}.${name}`).join(', ')})`;
  return `${conflict} DO UPDATE SET ${others.map((name) => `${name} = ${of}.${name}`).join(', ')} WHERE ${values('t')} IS DISTINCT FROM ${values(of)}`;
}

function columnsIn(columns: readonly PublishedColumn[], rows: readonly (readonly unknown[])[]): unknown[][] {
  return columns.map((_, index) => rows.map((row) => storable(row[index])));
}

/**
 * PostgreSQL's text has no NUL, and its JSON no half of a character: SQLite and the service's documents may. They are
 * replaced as a damaged character is (U+FFFD).
 */
export function storable(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const whole = value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
  return whole.includes('\\u') ? whole.replace(escapes, (found) => (harmless.test(found) ? found : '\\ufffd')) : whole;
}

/** A backslash, a pair that is one character, or what is looked for. */
const escapes = /\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}|\\u0000/gi;
const harmless = /^\\\\$|^\\u[0-9a-f]{4}\\u[0-9a-f]{4}$/i;
