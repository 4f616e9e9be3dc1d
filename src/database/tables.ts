import { columnsOf, type PublishedTable, publishedOf } from '../mirror/rows/capture.ts';
import type { TableRows } from '../mirror/rows/pages.ts';
import type { Database } from '../sqlite/database-file.ts';
import type { Statements } from './connect.ts';

/*
 * The mirror's tables in PostgreSQL: made of the mirror's own, so that there is one text of them. Each row says in which
 * state it was last published (`_state`).
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

/** What PostgreSQL computes as SQLite does: it is in no row. */
const computed: Partial<Record<PublishedTable, string>> = {
  product: `shown_stale_at bigint NOT NULL GENERATED ALWAYS AS (COALESCE(held_at, stale_at)) STORED,
    expired_at bigint NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED`,
  price: `shown_stale_at bigint GENERATED ALWAYS AS (COALESCE(held_at, stale_at)) STORED,
    expired_at bigint GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED`,
  _product: `sellable bigint NOT NULL GENERATED ALWAYS AS
    ((withdrawn_at IS NULL AND sale_status = 'enabled' AND closure_unconfirmed = 0)::int::bigint) STORED`,
  date_window: `shown_stale_at bigint NOT NULL GENERATED ALWAYS AS (CASE WHEN shut = 2 THEN 0 ELSE COALESCE(held_at, stale_at) END) STORED,
  expired_at bigint NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED`,
};

/** Texts compare byte by byte, as in the file, whatever the database's own order is. */
export function definitionOf({ name, columns, key }: TableShape, as: string): string {
  const lines = [
    ...columns.map((column) => `${column.name} ${column.type}${column.type === 'text' ? ' COLLATE "C"' : ''}`),
    ...(computed[name] === undefined ? [] : [computed[name]]),
    '_state bigint NOT NULL',
    `PRIMARY KEY (${key.join(', ')})`,
  ];
  // Room on each page for what changes often: a row's next version then needs no other page.
  return `CREATE TABLE ${as} (\n  ${lines.join(',\n  ')}\n) WITH (fillfactor = 90);\nCREATE INDEX ON ${as} (_state)`;
}

/** Writes rows of one state, which may stand already. */
export async function putRows(
  { query }: Statements,
  { name, columns, key }: TableShape,
  rows: TableRows['rows'],
  { state, into = name }: { readonly state: number; readonly into?: string },
): Promise<void> {
  if (rows.length === 0) return;
  const names = columns.map((column) => column.name);
  const arrays = columns.map((column, index) => `$${index + 1}::${column.type}[]`);
  const taken = [...names.filter((column) => !key.includes(column)), '_state'];
  await query(
    `INSERT INTO ${into} (${names.join(', ')}, _state)
     SELECT *, $${columns.length + 1}::bigint FROM unnest(${arrays.join(', ')})
     ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${taken.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    [...columns.map((_, index) => rows.map((row) => storable(row[index]))), state],
  );
}

/** Deletes rows by their keys. */
export async function dropRows({ query }: Statements, shape: TableShape, keys: TableRows['gone']): Promise<void> {
  if (keys.length === 0) return;
  const types = new Map(shape.columns.map(({ name, type }) => [name, type]));
  const arrays = shape.key.map((column, index) => `$${index + 1}::${types.get(column)}[]`);
  const same = shape.key.map((column) => `t.${column} = gone.${column}`);
  await query(
    `DELETE FROM ${shape.name} t USING unnest(${arrays.join(', ')}) AS gone (${shape.key.join(', ')}) WHERE ${same.join(' AND ')}`,
    shape.key.map((_, index) => keys.map((values) => storable(values[index]))),
  );
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
