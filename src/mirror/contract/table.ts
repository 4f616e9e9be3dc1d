import type { Instant } from '../../kernel/clock.ts';

/*
 * Declares a table of the contract: its name, its key, and each column once. schema/contract.json, the models in schema/models,
 * the reference in docs/reading.md, the rows of the reader and of Kysely, and the columns of a copy follow from it.
 */

type Cell = 'integer' | 'real' | 'text';

/** A column. `Value` is the type of its cells in this program; `Public` is false where it must never be published. */
export interface Column<Value = unknown, Public = boolean> {
  readonly type: Cell;
  /** Unit or form of the values: `minor units of currency`. */
  readonly unit?: string;
  /** The only values that occur. */
  readonly words?: readonly string[];
  /** Path in the document of the row, as the service sends it. A column without one is computed. */
  readonly from?: string;
  /** Meaning of NULL. A column without this text is never NULL. */
  readonly null?: string;
  /** Set if it changes without a change in the feed. */
  readonly byClock?: true;
  /** Set if it must never be published. */
  readonly public?: false;
  readonly means: string;
  /** Carries the type and is never set. */
  readonly of?: Value;
  /** Carries whether it may be published, and is never set. */
  readonly mayBePublished?: Public;
}

interface Options {
  readonly from?: string;
  readonly null?: string;
  readonly byClock?: true;
  readonly public?: false;
}

type Declared<Value, Given> = Column<
  Value | (Given extends { readonly null: string } ? null : never),
  Given extends { readonly public: false } ? false : true
>;

function column<Value>(type: Cell, unit: string | null = null) {
  const declare = <const Given extends Options>(options: Given, means: string): Declared<Value, Given> => ({
    type,
    ...(unit === null ? {} : { unit }),
    ...options,
    means,
  });
  return Object.assign(declare, { unit });
}

export const integer = column<number>('integer');
export const real = column<number>('real');
export const text = column<string>('text');
/** Declares an identifier of the service. */
export const id = column<number>('integer', 'the service’s identifier');
/** Declares a yes or no. */
export const flag = column<0 | 1>('integer', '0 or 1');
/** Declares an amount of the currency of its row. */
export const money = column<number>('integer', 'minor units of currency');
export const degrees = column<number>('real', 'degrees');
export const instant = column<Instant>('integer', 'epoch milliseconds UTC');
export const date = column<string>('text', 'YYYY-MM-DD at the venue');
export const json = column<string>('text', 'JSON');
/** Declares lists of the service: what has another type in one is left out, and a text alone is a list of it. */
export const texts = column<string>('text', 'JSON array of texts');
export const integers = column<string>('text', 'JSON array of integers');
/** Declares a time before a visit. */
export const hours = column<number>('integer', 'hours');
/** Declares a span that the service writes as 01:15 or 0:15:00. */
export const minutes = column<number>('integer', 'minutes');
/** Declares an address of the service's page: one of another scheme is NULL. */
export const pageUrl = column<string>('text', 'http or https');

/** Declares a text that is one of these words. */
export function words<const Word extends string, const Given extends Options>(
  list: readonly Word[],
  options: Given,
  means: string,
): Declared<Word, Given> {
  return { type: 'text', words: list, ...options, means };
}

export type Columns = Readonly<Record<string, Column>>;

interface TableOptions<Name> {
  /** Columns that identify its rows. */
  readonly key: readonly Name[];
  /** Completes "one row for …". */
  readonly rows: string;
  /** Set if all of it changes without a change in the feed. */
  readonly byClock?: true;
  /** Set if none of it may be published. */
  readonly public?: false;
}

/** A table or view with its columns in the order of `SELECT *`. */
export interface Table<Name extends string = string, Declaration extends Columns = Columns> {
  readonly name: Name;
  readonly key: readonly string[];
  readonly rows: string;
  readonly columns: Declaration;
}

/** Declares a table. What its options say of all columns is added to each. */
export function table<const Name extends string, const Declaration extends Columns>(
  name: Name,
  { key, rows, ...all }: TableOptions<keyof NoInfer<Declaration> & string>,
  columns: Declaration,
): Table<Name, Declaration> {
  const marked = Object.entries(columns).map(([column, declared]) => [column, { ...declared, ...all }]);
  return { name, key, rows, columns: Object.fromEntries(marked) as Declaration };
}

export type ValueOf<Of> = Of extends Column<infer Value> ? Value : never;

/** A row as the daemon's statements have it. */
export type DaemonRow<Of extends Table> = { [Name in keyof Of['columns']]: ValueOf<Of['columns'][Name]> };

/** A row as readers have it: their instants are plain numbers. */
export type ReaderRow<Of extends Table> = {
  readonly [Name in keyof Of['columns']]: Plain<ValueOf<Of['columns'][Name]>>;
};
type Plain<Value> = Value extends Instant ? number : Value;

/**
 * A row as anybody may have it: without the columns that are marked `public: false`, and without `document`, whose
 * members nobody has looked at one by one.
 */
export type PublicRow<Of extends Table> = Omit<
  ReaderRow<Of>,
  | 'document'
  | {
      [Name in keyof Of['columns']]: Of['columns'][Name] extends Column<unknown, false> ? Name : never;
    }[keyof Of['columns']]
>;

/** Returns the columns of a `PublicRow`. */
export function publicColumns({ columns }: Table): [name: string, column: Column][] {
  return Object.entries(columns).filter(([name, column]) => column.public !== false && name !== 'document');
}
