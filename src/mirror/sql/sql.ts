import { type Bound, type Compilable, pick, queryBuilder, sql, type WithDefaults } from '../../sqlite/statements.ts';
import type { Defaulted, Tables } from './tables.ts';
import type { OfSqlite, Views } from './views.ts';

export type Schema = WithDefaults<Tables, Defaulted> & Omit<Views, keyof Tables> & OfSqlite;

/** Query builder for the mirror's statements. */
export const query = queryBuilder<Schema>();

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
