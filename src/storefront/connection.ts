import { CataloguedError, exitCodes } from '../errors.ts';
import { contractVersion } from '../mirror/contract/contract.ts';
import { developmentFile, isDevelopmentMark } from '../sqlite/development.ts';
import { isPassing, sqliteCode } from '../sqlite/fault.ts';
import { fileAt } from '../sqlite/file.ts';
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

/** The open file. */
export interface Connection {
  readonly path: string;
  query<Bound extends object, Row>(sql: string): Query<Bound, Row>;
  /** All reads of `work` see one state of the mirror. */
  transaction<Result>(work: () => Result): Result;
  /** Counts up whenever what was learned about the mirror may no longer hold. */
  readonly era: number;
  close(): void;
}

interface Opened {
  readonly db: EngineFile;
  readonly file: string | null;
  /** SQLite's count of changes to the schema. */
  schema: number;
}

/**
 * Opens the mirror. A read that fails because the log is just being recovered or cut is made once more, at once; where
 * another file stands at the path (a restored mirror, a new snapshot) that one is read, and while none does, the old one.
 */
export function connect(path: string, now: () => number, engine: Engine | undefined): Connection {
  let opened = openMirror(path, engine);
  let era = 0;
  let form = 0;
  let looked_at = now();
  let within = 0;
  let closed = false;

  /** Once a second at most, and never inside a transaction. */
  function look(): void {
    const at = now();
    if (at - looked_at < lookEveryMs && at >= looked_at) return;
    looked_at = at;
    era += 1;
    const file = fileAt(path);
    if (file !== null && file !== opened.file) reopen();
    else if (schemaOf(opened.db) !== opened.schema) {
      opened.schema = schemaOf(opened.db);
      form += 1;
    }
  }

  function reopen(): void {
    let next: Opened;
    try {
      next = openMirror(path, engine);
    } catch {
      // The new file cannot be read (yet). The open file still can.
      return;
    }
    opened.db.close();
    opened = next;
    form += 1;
    era += 1;
  }

  /** Returns the error to throw, unless another attempt may succeed. */
  function failed(error: unknown): unknown {
    const code = sqliteCode(error);
    const lacked = /no such (?:table|column|module): (?:\w+\.)?(\w+)/.exec(
      code === 'SQLITE_ERROR' ? String(error) : '',
    );
    return lacked === null ? unreadable(path, error) : missing(lacked[1] ?? '');
  }

  function missing(what: string): CataloguedError {
    const there = numberOf(opened.db, 'SELECT contract_version FROM mirror_info');
    return otherContract(path, what, there, contractVersion);
  }

  function attempt<Result>(read: () => Result): Result {
    if (closed) throw closedReader(path);
    try {
      return read();
    } catch (error) {
      if (within > 0 || !isPassing(causeOf(error))) throw failed(error);
      if (fileAt(path) !== opened.file) reopen();
    }
    try {
      return read();
    } catch (error) {
      throw failed(error);
    }
  }

  function query<Bound extends object, Row>(sql: string): Query<Bound, Row> {
    let statement: EngineStatement | null = null;
    let formed = -1;
    const current = (): EngineStatement => {
      if (within === 0) look();
      if (statement === null || formed !== form) {
        statement = opened.db.prepare(plannedOnce(sql));
        formed = form;
      }
      return statement;
    };
    return {
      all: (bound) => attempt(() => current().all(bound as BoundValues) as Row[]),
      get: (bound) => attempt(() => current().get(bound as BoundValues) as Row | undefined),
    };
  }

  function run<Result>(work: () => Result): Result {
    opened.db.exec('BEGIN');
    within += 1;
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
      within -= 1;
      if (opened.db.inTransaction) opened.db.exec('ROLLBACK');
    }
  }

  return {
    path,
    query,
    transaction: (work) => {
      if (within > 0) return work();
      if (!closed) look();
      return attempt(() => run(work));
    },
    get era() {
      return era;
    },
    close: () => {
      closed = true;
      opened.db.close();
    },
  };
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
    if (!isPassing(error)) throw unreadable(path, error);
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
