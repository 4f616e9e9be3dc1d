import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { Database } from '../kernel/sqlite/database-file.ts';
import { columnsOf, newestNumber, type PublishedTable } from './capture.store.ts';

/** Value of a column. No published table has blobs. */
export type Cell = string | number | null;

/** A published table. */
export interface TableHead {
  readonly table: string;
  readonly columns: readonly string[];
  /** The columns of the primary key. */
  readonly key: readonly string[];
}

/** Rows of one table that have changed: values in the order of the columns, and of the key where they are no more. */
export interface TableRows extends TableHead {
  readonly rows: readonly (readonly Cell[])[];
  /** Keys of rows that are no more. */
  readonly gone: readonly (readonly Cell[])[];
}

/** Changes after a number, each row in its current state. */
export interface RowPage {
  /** Identifies the sequence that the numbers belong to. */
  readonly origin: string;
  /** Number to ask after next. */
  readonly number: number;
  /**
   * True if nothing is left above `number`. All pages since the last whole one together are a state of the mirror; a single
   * page may not be one.
   */
  readonly whole: boolean;
  readonly schema_version: number;
  /** Epoch milliseconds by the daemon's clock: the rows are as in the mirror then, or newer. */
  readonly published_at: number;
  readonly tables: readonly TableRows[];
}

export interface RowQuestion {
  readonly origin: string;
  readonly after: number;
  readonly limit: number;
}

/** The numbers of a question are of another origin, are forgotten, or were never given out: a follower needs a new copy. */
export type BegunAnew = 'begun-anew';

/** Pages of the rows that `captureRows` has noted, for a reader's connection. All of a page is of one state of the file. */
export class RowPages {
  readonly #db: Database;
  readonly #feed;
  readonly #keys;
  readonly #newest;

  constructor(db: Database) {
    this.#db = db;
    this.#feed = db.prepare<[], { origin: string; floor: number; newest: number; schema_version: number }>(
      `SELECT f.origin, f.floor, ${newestNumber} AS newest, m.schema_version FROM _row_feed f, _mirror m`,
    );
    this.#keys = db.prepare<[number, number], { number: number; source: PublishedTable; key: string }>(
      'SELECT number, source, key FROM _row WHERE number > ? ORDER BY number LIMIT ?',
    );
    this.#newest = db.prepare<[], number>(`SELECT ${newestNumber}`).pluck();
  }

  /** Throws `rows-not-published`. `published_at`: an instant before the call. */
  after({ origin, after, limit }: RowQuestion, published_at: number): RowPage | BegunAnew {
    const read = this.#db.transaction(() => {
      const found = this.#feed.get();
      if (found === undefined) throw notPublished();
      if (origin !== found.origin || after < found.floor || after > found.newest) return 'begun-anew';
      const { schema_version } = found;
      const noted = this.#keys.all(after, limit);
      const whole = noted.length < limit;
      const number = whole ? found.newest : (noted.at(-1)?.number ?? after);
      const tables = [...Map.groupBy(noted, ({ source }) => source)].map(([table, of]) =>
        rowsOf(
          this.#db,
          table,
          of.map(({ key }) => JSON.parse(key) as Cell[]),
        ),
      );
      return { origin, number, whole, schema_version, published_at, tables };
    });
    return read();
  }

  /** The last number given out. */
  newest(): number {
    return this.#newest.get() ?? 0;
  }

  /** Throws `rows-not-published` where none are. */
  refuseUnpublished(): void {
    if (this.#feed.get() === undefined) throw notPublished();
  }
}

function rowsOf(db: Database, table: PublishedTable, keys: readonly Cell[][]): TableRows {
  const { all, key } = columnsOf(db, table);
  const one = db
    .prepare<Cell[], Cell[]>(
      `SELECT ${all.join(', ')} FROM ${table} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`,
    )
    .raw();
  const found = keys.map((values) => ({ values, row: one.get(...values) }));
  return {
    table,
    columns: all,
    key,
    rows: found.flatMap(({ row }) => (row === undefined ? [] : [row])),
    gone: found.flatMap(({ values, row }) => (row === undefined ? [values] : [])),
  };
}

function notPublished(): CataloguedError {
  return new CataloguedError('rows-not-published', 'this daemon publishes no rows', {
    exitCode: exitCodes.configuration,
    hint: 'set rows.publish: true in its configuration, and reload it',
  });
}
