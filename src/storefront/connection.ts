import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { developmentFile, isDevelopmentMark } from '../kernel/sqlite/development.ts';
import { isTransient, sqliteCode } from '../kernel/sqlite/fault.ts';
import { fileAt } from '../kernel/sqlite/file.ts';
import { contractVersion } from '../mirror/contract/contract.ts';
import { type BoundValues, type Engine, type EngineFile, type EngineStatement, openFile } from './engine.ts';
import { plannedOnce } from './planned-once.ts';
import { badArgument, foreignFile, noMirror, otherContract, unreadable } from './problems.ts';

/** `CATU`: marks a file as a mirror. */
const applicationId = 0x43415455;

/** Milliseconds between checks for whether another file, or another schema, has replaced the open one. */
const lookEveryMs = 1000;

/** A query, prepared where it is first asked and again where that is needed, and kept open. */
export interface Query<Bound, Row> {
  all(bound: Bound): Row[];
  get(bound: Bound): Row | undefined;
}

interface Opened {
  readonly db: EngineFile;
  readonly file: string | null;
  /** SQLite's count of changes to the schema. */
  schema: number;
}

/**
 * The open mirror. A read that fails because the log is just being recovered or cut is made once more, at once; where
 * another file stands at the path (a restored mirror, a new snapshot) that one is read, and while none does, the old one.
 */
export class Connection {
  readonly path: string;
  readonly #now: () => number;
  readonly #engine: Engine | undefined;
  #opened: Opened;
  #era = 0;
  /** Counts up whenever statements must be prepared again. */
  #form = 0;
  #looked_at: number;
  #isWithin = false;
  #isClosed = false;

  constructor(path: string, now: () => number, engine: Engine | undefined) {
    this.path = path;
    this.#now = now;
    this.#engine = engine;
    this.#opened = openMirror(path, engine);
    this.#looked_at = now();
  }

  /** Counts up whenever what was learned about the mirror may no longer hold. */
  get era(): number {
    return this.#era;
  }

  query<Bound extends object, Row>(sql: string): Query<Bound, Row> {
    let statement: EngineStatement | null = null;
    let formed = -1;
    const current = (): EngineStatement => {
      if (!this.#isWithin) this.#look();
      if (statement === null || formed !== this.#form) {
        statement = this.#opened.db.prepare(plannedOnce(sql));
        formed = this.#form;
      }
      return statement;
    };
    return {
      all: (bound) => this.#attempt(() => current().all(bound as BoundValues) as Row[]),
      get: (bound) => this.#attempt(() => current().get(bound as BoundValues) as Row | undefined),
    };
  }

  /** Returns a query for each form of a question, whose SQL is made when it is first asked. */
  queries<Row, Form>(sqlOf: (form: Form) => string): (form: Form) => Query<object, Row> {
    const known = new Map<string, Query<object, Row>>();
    return (form) => {
      const key = JSON.stringify(form);
      const query = known.get(key) ?? this.query<object, Row>(sqlOf(form));
      known.set(key, query);
      return query;
    };
  }

  /** All reads of `work` see one state of the mirror. */
  transaction<Result>(work: () => Result): Result {
    if (this.#isWithin) return work();
    if (!this.#isClosed) this.#look();
    return this.#attempt(() => this.#run(work));
  }

  close(): void {
    this.#isClosed = true;
    this.#opened.db.close();
  }

  /** Once a second at most, and never inside a transaction. */
  #look(): void {
    const at = this.#now();
    if (at - this.#looked_at < lookEveryMs && at >= this.#looked_at) return;
    this.#looked_at = at;
    this.#era += 1;
    const file = fileAt(this.path);
    if (file !== null && file !== this.#opened.file) this.#reopen();
    else if (schemaOf(this.#opened.db) !== this.#opened.schema) {
      this.#opened.schema = schemaOf(this.#opened.db);
      this.#form += 1;
    }
  }

  #reopen(): void {
    let next: Opened;
    try {
      next = openMirror(this.path, this.#engine);
    } catch {
      // The new file cannot be read (yet). The open file still can.
      return;
    }
    this.#opened.db.close();
    this.#opened = next;
    this.#form += 1;
    this.#era += 1;
  }

  #attempt<Result>(read: () => Result): Result {
    if (this.#isClosed) throw closedReader(this.path);
    try {
      return read();
    } catch (error) {
      if (this.#isWithin || !isTransient(causeOf(error))) throw this.#failed(error);
      if (fileAt(this.path) !== this.#opened.file) this.#reopen();
    }
    try {
      return read();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #run<Result>(work: () => Result): Result {
    const { db } = this.#opened;
    db.exec('BEGIN');
    this.#isWithin = true;
    try {
      const result = work();
      // Nobody awaits this promise any more: swallow its rejection.
      if (isPromise(result)) Promise.resolve(result).catch(() => undefined);
      if (isPromise(result))
        throw badArgument(
          'the function given to a transaction is asynchronous',
          'await before or after the transaction',
        );
      return result;
    } finally {
      this.#isWithin = false;
      if (!this.#isClosed && db.inTransaction) db.exec('ROLLBACK');
    }
  }

  /** Returns the error to throw, unless another attempt may succeed. */
  #failed(error: unknown): unknown {
    const code = sqliteCode(error);
    const lacked = /no such (?:table|column|module): (?:\w+\.)?(\w+)/.exec(
      code === 'SQLITE_ERROR' ? String(error) : '',
    );
    return lacked === null ? unreadable(this.path, error) : this.#missing(lacked[1] ?? '');
  }

  #missing(what: string): CataloguedError {
    const there = numberOf(this.#opened.db, 'SELECT contract_version FROM mirror_info');
    return otherContract(this.path, what, there, contractVersion);
  }
}

function isPromise(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Returns an error of SQLite, or the one behind another. */
function causeOf(error: unknown): unknown {
  return sqliteCode(error) === '' && error instanceof Error ? error.cause : error;
}

/** Returns the only value of a row; 0: there is no row. */
function numberOf(db: EngineFile, sql: string): number {
  return Number(Object.values((db.prepare(sql).get([]) ?? {}) as object)[0] ?? 0);
}

function schemaOf(db: EngineFile): number {
  return numberOf(db, 'PRAGMA schema_version');
}

function openMirror(path: string, engine: Engine | undefined): Opened {
  const file = fileAt(path);
  if (file === null) throw noMirror(path);
  try {
    return opening(path, file, engine);
  } catch (error) {
    if (!isTransient(error)) throw unreadable(path, error);
  }
  try {
    return opening(path, file, engine);
  } catch (error) {
    throw unreadable(path, error);
  }
}

function opening(path: string, file: string, engine: Engine | undefined): Opened {
  const db = openFile(path, engine);
  try {
    const schema = schemaOf(db);
    const mark = numberOf(db, 'PRAGMA application_id');
    if (mark !== applicationId) {
      if (isDevelopmentMark(mark)) throw developmentFile(path);
      throw schema === 0 ? noMirror(path) : foreignFile(path);
    }
    return { db, file, schema };
  } catch (error) {
    db.close();
    throw error;
  }
}

function closedReader(path: string): CataloguedError {
  return new CataloguedError('closed', `the reader of ${path} is closed`, {
    exitCode: exitCodes.bug,
    hint: 'open the mirror again, or close it later',
  });
}
