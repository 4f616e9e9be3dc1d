import {
  type Bound,
  type Compilable,
  pick,
  queryBuilder,
  sql,
  type WithDefaults,
} from '../../kernel/sqlite/statements.ts';
import type { contract } from '../contract/contract.ts';
import type { searchTables } from '../contract/search.ts';
import type { DaemonRow } from '../contract/table.ts';
import type { Defaulted, Tables } from './tables.ts';

type Readable = typeof contract & Omit<typeof searchTables, keyof OfSqlite>;

/** Everything that readers of the file find in it, as it is declared. */
export type Views = { [Name in keyof Readable]: DaemonRow<Readable[Name]> };

/** SQLite's own. */
export interface OfSqlite {
  /** The highest number that each AUTOINCREMENT has given out. */
  sqlite_sequence: { name: '_change'; seq: number };
  /** The second search index takes commands through the column that has its name. */
  search_terms: { search_terms: 'optimize' };
}

export type Schema = WithDefaults<Tables, Defaulted> & Omit<Views, keyof Tables> & OfSqlite;

/** Query builder for the mirror's statements. */
export const query = queryBuilder<Schema>();

type Names<Table extends keyof Tables> = keyof Tables[Table] & string;
type KeyOf<Table extends keyof Tables, Name extends Names<Table>> = {
  [Each in Name]: NonNullable<Tables[Table][Each]>;
};

/** Returns a query of some columns of the rows that have a key. */
export function byKey<
  Table extends keyof Tables,
  const Key extends readonly Names<Table>[],
  const Asked extends readonly Names<Table>[],
>(table: Table, key: Key, columns: Asked) {
  return (bound: Bound<KeyOf<Table, Key[number]>>) =>
    of(query.selectFrom(table as never).select(columns as never), key, bound) as Compilable<
      Pick<Tables[Table], Asked[number]>
    >;
}

/** Returns an update of some columns of the rows that have a key. */
export function setBy<
  Table extends keyof Tables,
  const Key extends readonly Names<Table>[],
  const Given extends readonly Names<Table>[],
>(table: Table, key: Key, columns: Given) {
  return (bound: Bound<KeyOf<Table, Key[number]> & Pick<Tables[Table], Given[number]>>) =>
    of(query.updateTable(table as never).set(picked(bound, columns)), key, bound);
}

/** Returns the removal of the rows that have a key. */
export function dropBy<Table extends keyof Tables, const Key extends readonly Names<Table>[]>(table: Table, key: Key) {
  return (bound: Bound<KeyOf<Table, Key[number]>>) => of(query.deleteFrom(table as never), key, bound);
}

/** Returns an insert of some columns of a row. */
export function insertOf<Table extends keyof Tables, const Given extends readonly Names<Table>[]>(
  table: Table,
  columns: Given,
) {
  return (bound: Bound<Pick<Tables[Table], Given[number]>>): Compilable<unknown> =>
    query.insertInto(table).values(picked(bound, columns));
}

function picked(bound: object, columns: readonly string[]) {
  return pick(bound as Bound<Record<string, unknown>>, columns) as never;
}

/** Leaves the rows of a key. */
function of(builder: unknown, key: readonly string[], bound: object): Compilable<unknown> {
  type Conditional = Compilable<unknown> & { where(column: string, is: '=', value: unknown): Conditional };
  const values = bound as Readonly<Record<string, unknown>>;
  return key.reduce((some, column) => some.where(column, '=', values[column]), builder as Conditional);
}

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
