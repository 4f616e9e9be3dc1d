import { CataloguedError, exitCodes } from '../../errors.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { columnsOf, newestNumber, type PublishedTable } from './capture.ts';

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
  readonly tables: readonly TableRows[];
}

/** A page with the instant, by the daemon's clock, at which it was read. */
export interface PublishedPage extends RowPage {
  readonly published_at: number;
}

export interface RowQuestion {
  readonly origin: string;
  readonly after: number;
  readonly limit: number;
}

/** Keys of rows that have changed, as JSON, by their tables. */
export interface NotedKeys {
  readonly keys: ReadonlyMap<PublishedTable, readonly string[]>;
  /** As of a page, and up to which number. */
  readonly whole: boolean;
  readonly number: number;
  readonly schema_version: number;
}

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

  /**
   * Throws `rows-not-published`, and `rows-begun-anew` where the numbers are of another origin, are forgotten, or were
   * never given out: a follower starts with a new copy.
   */
  after(question: RowQuestion): RowPage {
    return this.#snapshot(() => {
      const { keys, ...found } = this.keysAfter(question);
      const tables = [...keys].map(([table, of]) =>
        rowsOf(
          this.#db,
          table,
          of.map((key) => JSON.parse(key) as Cell[]),
        ),
      );
      return { origin: question.origin, ...found, tables };
    });
  }

  /** Returns the keys that a page has, instead of the rows. Throws as `after` does. */
  keysAfter({ origin, after, limit }: RowQuestion): NotedKeys {
    return this.#snapshot(() => {
      const found = this.#feed.get();
      if (found === undefined) throw notPublished();
      if (origin !== found.origin || after < found.floor || after > found.newest) throw begunAnew();
      const rows = this.#keys.all(after, limit);
      const bySource = Map.groupBy(rows, ({ source }) => source);
      const whole = rows.length < limit;
      return {
        keys: new Map([...bySource].map(([source, of]) => [source, of.map(({ key }) => key)])),
        whole,
        number: whole ? found.newest : (rows.at(-1)?.number ?? after),
        schema_version: found.schema_version,
      };
    });
  }

  /** Returns whether the numbers of a question are this file's. */
  knows({ origin }: RowQuestion): boolean {
    return this.#feed.get()?.origin === origin;
  }

  /** The last number given out. */
  newest(): number {
    return this.#newest.get() ?? 0;
  }

  /** Throws `rows-not-published` where none are. */
  refuseUnpublished(): void {
    if (this.#feed.get() === undefined) throw notPublished();
  }

  #snapshot<Result>(read: () => Result): Result {
    return this.#db.transaction(read)();
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

export function begunAnew(): CataloguedError {
  return new CataloguedError('rows-begun-anew', 'these rows are forgotten, or of another file', {
    exitCode: exitCodes.data,
    hint: 'begin with a new copy: GET /v1/rows/copy',
  });
}
