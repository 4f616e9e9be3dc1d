import type { Statement } from 'better-sqlite3';
import type { Database } from '../../sqlite/database-file.ts';
import {
  type Bound,
  type Compilable,
  pick,
  queryBuilder,
  type RawBuilder,
  sql,
  type WithDefaults,
} from '../../sqlite/statements.ts';
import type { Defaulted, Tables } from './tables.ts';
import type { OfSqlite, Views } from './views.ts';

export type Schema = WithDefaults<Tables, Defaulted> & Views & OfSqlite;

/** What the mirror's statements are built with. */
export const query = queryBuilder<Schema>();

/** Returns a value that is bound when the statement runs, by name. */
export function param<Value>(name: string): RawBuilder<Value> {
  return sql<Value>`${sql.raw(`@${name}`)}`;
}

/**
 * Prepares a compiled query whose values are all `param`s. Note that `undefined` would bind silently as NULL and a
 * boolean throws: rows are of the tables' types, with 0 and 1.
 */
export function prepare<Bound extends object, Row = never>(
  db: Database,
  compilable: Compilable<unknown>,
): Statement<[Bound], Row> {
  const { sql: text, parameters } = compilable.compile();
  if (parameters.length > 0) throw new Error(`not a parameter by name in: ${text}`);
  return db.prepare(text) as unknown as Statement<[Bound], Row>;
}

type Names<Table extends keyof Tables> = keyof Tables[Table] & string;

/** Returns an insert of the named columns; where the key is taken, the other columns are replaced. */
export function upsert<
  Table extends keyof Tables,
  const Key extends readonly Names<Table>[],
  const Columns extends readonly Names<Table>[],
>(
  table: Table,
  key: Key,
  columns: Columns,
): (bound: Bound<Pick<Tables[Table], Key[number] | Columns[number]>>) => Compilable<unknown> {
  const replaced = Object.fromEntries(columns.map((column) => [column, sql.raw(`excluded."${column}"`)]));
  return (bound) =>
    query
      .insertInto(table)
      .values(pick(bound, [...key, ...columns]) as never)
      .onConflict((conflict) => conflict.columns(key as never).doUpdateSet(replaced as never));
}
