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

/** A prepared statement, called with the values that it is bound to, if any. `undefined` is no value to bind: it throws. */
export type PreparedStatement<Values extends object, Result> = (
  ...values: keyof Values extends never ? [] : [Values]
) => Result;

/** A connection that statements which read are prepared on. Table and view, column and row are checked by the compiler. */
export interface Reads {
  rows<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): PreparedStatement<Values, Row[]>;
  /** The first row; null: there is none. */
  row<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): PreparedStatement<Values, Row | null>;
  /** One row after the other: for who may have enough of them early. */
  each<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): PreparedStatement<Values, IterableIterator<Row>>;
  /** The only column of each row. */
  values<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): PreparedStatement<Values, Row[keyof Row][]>;
  /** The only column of the first row; null also where there is none. */
  value<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): PreparedStatement<Values, Row[keyof Row] | null>;
  /** All that `work` reads is of one state of the file. */
  snapshot<Result>(work: () => Result): Result;
}

/** One that statements which write are prepared on too. Outside a transaction they throw. */
export interface Writes extends Reads {
  /** Returns how many rows it has changed. */
  change<Values extends object = None>(
    build: (bound: Bound<Values>) => Query<unknown>,
  ): PreparedStatement<Values, number>;
  /** Returns the number of the row that it has inserted. */
  insert<Values extends object = None>(
    build: (bound: Bound<Values>) => Query<unknown>,
  ): PreparedStatement<Values, number>;
  /** Returns a column of each row that it has changed. */
  returning<Values extends object = None, Row = never>(
    build: (bound: Bound<Values>) => Query<Row>,
  ): PreparedStatement<Values, Row[keyof Row][]>;
  /** All or nothing; within another one, all or nothing of it. Never await inside: there is one connection. */
  transaction<Result>(work: () => Result): Result;
}

/** Prepares each statement when it is first used: a command needs few of them. */
export function readsOf(db: Database): Reads {
  return readsThat(whenUsed, db);
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
  const writing = (build: Build, run: Run) => {
    const prepared = atOnce(() => new CompiledStatement(db, build, 'writes', 'value'));
    return ((bound?: object) => {
      if (depth === 0 && !db.inTransaction) throw new Error('a write outside a transaction');
      return run(prepared(), bound);
    }) as never;
  };
  return {
    ...readsThat(atOnce, db),
    change: (build) => writing(build, (statement, bound) => statement.run(bound).changes),
    insert: (build) => writing(build, (statement, bound) => Number(statement.run(bound).lastInsertRowid)),
    returning: (build) => writing(build, (statement, bound) => statement.all(bound)),
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

type Build = (bound: never) => Query<unknown>;
type Run = (statement: CompiledStatement, bound: object | undefined) => unknown;
type Prepare = typeof whenUsed;

function readsThat(prepare: Prepare, db: Database): Reads {
  const reading = (build: Build, result: 'row' | 'value', read: Run) => {
    const prepared = prepare(() => new CompiledStatement(db, build, 'reads', result));
    return ((bound?: object) => read(prepared(), bound)) as never;
  };
  return {
    rows: (build) => reading(build, 'row', (statement, bound) => statement.all(bound)),
    row: (build) => reading(build, 'row', (statement, bound) => statement.get(bound) ?? null),
    each: (build) => reading(build, 'row', (statement, bound) => statement.iterate(bound)),
    values: (build) => reading(build, 'value', (statement, bound) => statement.all(bound)),
    value: (build) => reading(build, 'value', (statement, bound) => statement.get(bound) ?? null),
    snapshot: (work) => db.transaction(work)(),
  };
}

function atOnce(prepare: () => CompiledStatement): () => CompiledStatement {
  const prepared = whenUsed(prepare);
  if (preparing.atOnce) prepared();
  return prepared;
}

function whenUsed(prepare: () => CompiledStatement): () => CompiledStatement {
  let prepared: CompiledStatement | null = null;
  return () => (prepared ??= prepare());
}

/** A statement of SQLite, and the names of its values in their order. */
class CompiledStatement {
  readonly #db: Database;
  readonly #statement: Statement<[unknown[]], unknown>;
  readonly #names: readonly string[];

  /** `value`: it returns the only column of its rows. */
  constructor(db: Database, build: Build, does: 'reads' | 'writes', result: 'row' | 'value') {
    const { sql: text, parameters } = (build(bound as never) as RawBuilder<unknown>).compile(compiler);
    this.#db = db;
    this.#names = parameters.map((parameter) => (parameter as Parameter).name);
    this.#statement = db.prepare<[unknown[]]>(text);
    if (this.#statement.readonly !== (does === 'reads'))
      throw new Error(`it ${does === 'reads' ? 'writes' : 'writes nothing'}: ${text}`);
    if (result === 'value' && this.#statement.reader) this.#statement.pluck();
  }

  run(bound: object | undefined): RunResult {
    return this.#named(bound, (values) => this.#statement.run(values));
  }

  get(bound: object | undefined): unknown {
    return this.#named(bound, (values) => this.#statement.get(values));
  }

  all(bound: object | undefined): unknown[] {
    return this.#named(bound, (values) => this.#statement.all(values));
  }

  iterate(bound: object | undefined): IterableIterator<unknown> {
    return this.#statement.iterate(this.#valuesOf(bound));
  }

  /** Adds its file to an error about damage: SQLite names none, and a caller may work on two. */
  #named<Result>(bound: object | undefined, run: (values: unknown[]) => Result): Result {
    const values = this.#valuesOf(bound);
    try {
      return run(values);
    } catch (error) {
      throw isDamage(error) ? Object.assign(error as Error, { path: this.#db.name }) : error;
    }
  }

  #valuesOf(bound: object = {}): unknown[] {
    const names = this.#names;
    const list = new Array<unknown>(names.length);
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] as string;
      const value = (bound as Readonly<Record<string, unknown>>)[name];
      if (value === undefined) throw new Error(`no value for "${name}" in: ${this.#statement.source}`);
      list[index] = value;
    }
    return list;
  }
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
