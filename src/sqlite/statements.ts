import type { RunResult, Statement } from 'better-sqlite3';
import {
  type Compilable,
  DummyDriver,
  type Generated,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Database } from './database-file.ts';
import { isDamage } from './fault.ts';
import { withinQuota } from './quota.ts';

export { type Compilable, type Expression, type ExpressionBuilder, type Generated, type RawBuilder, sql } from 'kysely';

/*
 * Kysely as a typed interface to SQL. It only compiles: what it compiled runs through prepared statements of better-sqlite3,
 * which are thirty times as fast row by row and keep a transaction synchronous.
 */

/** A value that is bound when the statement runs. */
class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Every other value is part of the query, so it is written into it: that is how a partial index is recognised. */
class Compiler extends SqliteQueryCompiler {
  protected override appendValue(value: unknown): void {
    if (value instanceof Parameter) super.appendValue(value);
    else this.appendImmediateValue(value);
  }
}

/** Returns the query builder of a database with these tables and views. */
export function queryBuilder<Tables>(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new Compiler(),
    },
  });
}

/** The values that a statement is bound to, as a query names them. */
export type Bound<Values extends object> = { readonly [Name in keyof Values]-?: RawBuilder<Values[Name]> };

/**
 * Each as an expression, `+?`. The SQLite of better-sqlite3 is built with STAT4: it plans a statement anew each time that
 * a bare parameter of its conditions is bound, where that column has statistics or a partial index. That takes ten times
 * as long as to read a row by its key.
 */
const bound = new Proxy({} as Record<string, RawBuilder<never>>, {
  get: (_, name) => sql`+${new Parameter(String(name))}`,
});

/** Returns the bound values of these names, as an insert wants them. */
export function pick<Values extends object, Name extends keyof Values>(
  values: Bound<Values>,
  names: readonly Name[],
): Bound<Pick<Values, Name>> {
  return Object.fromEntries(names.map((name) => [name, values[name]])) as never;
}

/** Returns the elements of a bound JSON array: what a column is `in`. */
export function listed<Element>(array: RawBuilder<string>): RawBuilder<Element> {
  return sql<Element>`(select value from json_each(${array}))`;
}

/** The same as rows. */
export function elements<Element>(array: RawBuilder<string>): RawBuilder<{ value: Element }> {
  return sql`json_each(${array})`;
}

type None = Record<never, never>;
type Query<Row> = Compilable<Row> | RawBuilder<Row>;
/** Nothing where nothing is bound. */
type Args<Values extends object> = keyof Values extends never ? [] : [Values];

/** A prepared statement that returns rows; `undefined` is no value to bind: it throws. */
export interface Returning<Values extends object, Row> {
  get(...values: Args<Values>): Row | undefined;
  all(...values: Args<Values>): Row[];
}

/** A prepared query. */
export interface Rows<Values extends object, Row> extends Returning<Values, Row> {
  /** One row after the other: for who may have enough of them early. */
  iterate(...values: Args<Values>): IterableIterator<Row>;
}

/** A prepared statement that writes. Outside a transaction it throws. */
export interface Change<Values extends object> {
  run(...values: Args<Values>): RunResult;
}

/** A connection that statements which read are prepared on. Table and view, column and row are checked by the compiler. */
export interface Reads {
  rows<Values extends object = None, Row = never>(build: (bound: Bound<Values>) => Query<Row>): Rows<Values, Row>;
  /** The same, of the only column. */
  values<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): Rows<Values, Row[keyof Row]>;
  /** All that `work` reads is of one state of the file. */
  snapshot<Result>(work: () => Result): Result;
}

/** One that statements which write are prepared on too. */
export interface Writes extends Reads {
  change<Values extends object = None>(build: (bound: Bound<Values>) => Query<unknown>): Change<Values>;
  /** A change that returns a column of the rows that it changed. */
  returning<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): Returning<Values, Row[keyof Row]>;
  /** All or nothing; within another one, all or nothing of it. Never await inside: there is one connection. */
  transaction<Result>(work: () => Result): Result;
}

/** Prepares each statement when it is first used: a command needs few of them. */
export function readsOf(db: Database): Reads {
  return {
    rows: (build) => rows(whenUsed(() => reading(db, build))),
    values: (build) => rows(whenUsed(() => reading(db, build, 'value'))),
    snapshot: (work) => db.transaction(work)(),
  };
}

/**
 * A class of statements: `readonly #one = this.db.rows(…)`. They are prepared with the object. `Db` is `Writes` where it writes.
 */
export abstract class Store<Db extends Reads> {
  protected readonly db: Db;

  constructor(db: Db) {
    this.db = db;
  }
}

/**
 * Decides whether `writesTo` prepares each statement at once. The program always does: a statement that SQLite does not
 * understand fails the start, and not a night. Only tests, which open hundreds of files, put it off to the first use.
 */
export const preparing = { atOnce: true };

/** Prepares each statement at once; see `preparing`. */
export function writesTo(db: Database): Writes {
  const inTransaction = db.transaction((work: () => unknown) => work());
  let depth = 0;
  const open = () => {
    if (depth === 0 && !db.inTransaction) throw new Error('a write outside a transaction');
  };
  return {
    rows: (build) => rows(atOnce(() => reading(db, build))),
    values: (build) => rows(atOnce(() => reading(db, build, 'value'))),
    snapshot: (work) => db.transaction(work)(),
    change: (build) => {
      const prepared = atOnce(() => writing(db, build));
      return {
        run: (...[bound]) => {
          open();
          return prepared().run(bound);
        },
      };
    },
    returning: (build) => {
      const prepared = atOnce(() => writing(db, build, 'value'));
      return {
        get: (...[bound]) => {
          open();
          return prepared().get(bound) as never;
        },
        all: (...[bound]) => {
          open();
          return prepared().all(bound) as never;
        },
      };
    },
    transaction: <Result>(work: () => Result) => {
      depth += 1;
      try {
        return withinQuota(db.name, () => inTransaction.immediate(work) as Result);
      } finally {
        depth -= 1;
      }
    },
  };
}

/** A statement of SQLite, and the names of its values in their order. */
class Prepared {
  readonly #db: Database;
  readonly #statement: Statement<[unknown[]], unknown>;
  readonly #names: readonly string[];

  constructor(db: Database, build: Build) {
    const { sql: text, parameters } = (build(bound as never) as RawBuilder<unknown>).compile(compiler);
    this.#db = db;
    this.#names = parameters.map((parameter) => (parameter as Parameter).name);
    this.#statement = db.prepare<[unknown[]]>(text);
  }

  get source(): string {
    return this.#statement.source;
  }

  get readonly(): boolean {
    return this.#statement.readonly;
  }

  pluck(): void {
    this.#statement.pluck();
  }

  run(bound: object | undefined): RunResult {
    const values = this.#valuesOf(bound);
    try {
      return this.#statement.run(values);
    } catch (error) {
      throw this.#inFile(error);
    }
  }

  get(bound: object | undefined): unknown {
    const values = this.#valuesOf(bound);
    try {
      return this.#statement.get(values);
    } catch (error) {
      throw this.#inFile(error);
    }
  }

  all(bound: object | undefined): unknown[] {
    const values = this.#valuesOf(bound);
    try {
      return this.#statement.all(values);
    } catch (error) {
      throw this.#inFile(error);
    }
  }

  iterate(bound: object | undefined): IterableIterator<unknown> {
    return this.#statement.iterate(this.#valuesOf(bound));
  }

  #valuesOf(bound: object = {}): unknown[] {
    const names = this.#names;
    const list = new Array<unknown>(names.length);
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] as string;
      const value = (bound as Readonly<Record<string, unknown>>)[name];
      if (value === undefined) throw new Error(`no value for "${name}" in: ${this.source}`);
      list[index] = value;
    }
    return list;
  }

  /** Adds its file to an error about damage: SQLite names none, and a caller may work on two. */
  #inFile(error: unknown): unknown {
    return isDamage(error) ? Object.assign(error as Error, { path: this.#db.name }) : error;
  }
}

function rows<Values extends object, Row>(prepared: () => Prepared): Rows<Values, Row> {
  return {
    get: (...[bound]) => prepared().get(bound) as Row | undefined,
    all: (...[bound]) => prepared().all(bound) as Row[],
    iterate: (...[bound]) => prepared().iterate(bound) as IterableIterator<Row>,
  };
}

function atOnce(prepare: () => Prepared): () => Prepared {
  const prepared = whenUsed(prepare);
  if (preparing.atOnce) prepared();
  return prepared;
}

function whenUsed(prepare: () => Prepared): () => Prepared {
  let prepared: Prepared | null = null;
  return () => (prepared ??= prepare());
}

type Build = (bound: never) => Query<unknown>;

function reading(db: Database, build: Build, result: 'row' | 'value' = 'row'): Prepared {
  const prepared = new Prepared(db, build);
  if (!prepared.readonly) throw new Error(`it writes: ${prepared.source}`);
  if (result === 'value') prepared.pluck();
  return prepared;
}

function writing(db: Database, build: Build, result: 'row' | 'value' = 'row'): Prepared {
  const prepared = new Prepared(db, build);
  if (prepared.readonly) throw new Error(`it writes nothing: ${prepared.source}`);
  if (result === 'value') prepared.pluck();
  return prepared;
}

const compiler = queryBuilder<unknown>();

/** The tables as an insert sees them: it may leave out what has a value of its own, by table. */
export type WithDefaults<Tables, Defaulted> = {
  [Table in keyof Tables]: {
    [Column in keyof Tables[Table]]: Table extends keyof Defaulted
      ? Column extends Defaulted[Table]
        ? Generated<Tables[Table][Column]>
        : Tables[Table][Column]
      : Tables[Table][Column];
  };
};
