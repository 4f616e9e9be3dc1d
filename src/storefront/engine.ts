import type { SQLInputValue } from 'node:sqlite';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';

/** The values that a statement is bound to: by position, or by name. */
export type BoundValues = readonly unknown[] | Readonly<Record<string, unknown>>;

/** A prepared statement. */
export interface EngineStatement {
  all(bound: BoundValues): unknown[];
  get(bound: BoundValues): unknown;
}

/** A file that a SQLite library has open, read-only. */
export interface EngineFile {
  prepare(sql: string): EngineStatement;
  exec(sql: string): unknown;
  readonly inTransaction: boolean;
  close(): unknown;
}

/** The class `Database` of better-sqlite3, which the caller imports and passes in. */
export type Engine = new (
  path: string,
  options: { readonly: boolean; fileMustExist: boolean; timeout: number },
) => {
  // biome-ignore lint/suspicious/noExplicitAny: better-sqlite3 types a statement by what it is bound to
  prepare(sql: string): any;
  exec(sql: string): unknown;
  readonly inTransaction: boolean;
  close(): unknown;
};

/** Longest wait, in milliseconds, while another process opens or recovers the file. */
const patience_ms = 2000;

/** Opens a file read-only, by the library that was passed in, or else by Node's own. */
export function openFile(path: string, engine: Engine | undefined): EngineFile {
  return engine === undefined
    ? new NodeFile(path)
    : new engine(path, { readonly: true, fileMustExist: true, timeout: patience_ms });
}

/** A file that Node's own SQLite has open. It answers like one of better-sqlite3. */
class NodeFile implements EngineFile {
  readonly #db;

  constructor(path: string) {
    // Not imported: a bundler would look for a package of this name.
    const sqlite = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined;
    if (sqlite === undefined) throw withoutSqlite();
    this.#db = named(() => new sqlite.DatabaseSync(path, { readOnly: true, timeout: patience_ms }));
  }

  prepare(sql: string): EngineStatement {
    const statement = named(() => this.#db.prepare(sql));
    statement.setAllowUnknownNamedParameters(true);
    return {
      all: (bound) => named(() => statement.all(...valuesOf(bound))).map((row) => ({ ...row })),
      get: (bound) => {
        const row = named(() => statement.get(...valuesOf(bound)));
        // Its rows have no prototype, and some frameworks refuse to serialise such objects.
        return row === undefined ? undefined : { ...row };
      },
    };
  }

  exec(sql: string): void {
    named(() => this.#db.exec(sql));
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

/** Returns the values as arguments for Node: values bound by name are one argument. */
function valuesOf(bound: BoundValues): SQLInputValue[] {
  return (Array.isArray(bound) ? bound : [bound]) as SQLInputValue[];
}

/** SQLite's error codes that the reader distinguishes, with their names. */
const names: Readonly<Record<number, string>> = {
  1: 'ERROR', 3: 'PERM', 5: 'BUSY', 6: 'LOCKED', 8: 'READONLY', 10: 'IOERR', 11: 'CORRUPT', 13: 'FULL', 14: 'CANTOPEN',
  15: 'PROTOCOL', 17: 'SCHEMA', 23: 'AUTH', 26: 'NOTADB', 261: 'BUSY_RECOVERY', 517: 'BUSY_SNAPSHOT', 264: 'READONLY_RECOVERY',
  520: 'READONLY_CANTLOCK', 1288: 'READONLY_CANTINIT', 1034: 'IOERR_FSYNC', 1290: 'IOERR_DIR_FSYNC', 4874: 'IOERR_SHMSIZE',
}; // biome-ignore format: a table

/** Runs a call of Node's SQLite, and gives its errors the codes that better-sqlite3 gives them. */
function named<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    const { code, errcode } = error as { code?: unknown; errcode?: unknown };
    if (code !== 'ERR_SQLITE_ERROR' || typeof errcode !== 'number') throw error;
    throw Object.assign(error as Error, { code: `SQLITE_${names[errcode] ?? names[errcode & 0xff] ?? 'ERROR'}` });
  }
}

function withoutSqlite(): CataloguedError {
  return new CataloguedError('old-node', `Node ${process.versions.node} has no SQLite of its own`, {
    exitCode: exitCodes.configuration,
    hint: 'run the storefront with Node 22.16 or newer, or pass better-sqlite3: openReader(path, { engine: Database })',
  });
}
