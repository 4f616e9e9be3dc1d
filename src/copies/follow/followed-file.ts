import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { columnsOf, isPublished, newestChange, newestNumber } from '../../feed/capture.store.ts';
import type { Cell, RowPage, TableHead, TableRows } from '../../feed/pages.store.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { openCopied } from '../../kernel/sqlite/copied-file.ts';
import { closeAfterWrites, closeLeavingLog, type Database } from '../../kernel/sqlite/database-file.ts';
import { developmentFile, isOfDevelopment, ofDevelopment } from '../../kernel/sqlite/development.ts';
import { openReadOnly } from '../../kernel/sqlite/read-only.ts';
import { mirrorFile, searchTriggers } from '../../mirror/sql/files.ts';

/** Progress of a followed copy. */
export interface Standing {
  /** Identifies the sequence that its numbers belong to. */
  readonly origin: string;
  readonly number: number;
  /** Epoch milliseconds by the daemon's clock at which the mirror was as the copy is. */
  readonly published_at: number;
  readonly schema_version: number;
}

/** A mirror's copy on another host. Its schema is the daemon's: rows are put as they come. */
export class FollowedFile implements Disposable {
  readonly #db: Database;
  readonly #note;
  /** By table and columns: a page that repeats them needs no new statements. */
  readonly #writers = new Map<string, TableWriter | null>();

  /** A copy of a development version is refused (65), anything else at the path (78), both untouched. */
  constructor(path: string) {
    this.#db = openCopied(path, searchTriggers);
    try {
      if (standingIn(this.#db) === undefined) throw isDevelopmentCopy(this.#db) ? developmentFile(path) : noCopy(path);
      this.#note = this.#db.prepare('UPDATE _followed SET origin = ?, number = ?, published_at = ?');
    } catch (error) {
      closeLeavingLog(this.#db);
      throw error;
    }
  }

  standing(): Standing {
    return standingIn(this.#db) as Standing;
  }

  /**
   * Adds a page to the state that is being put together; a whole one commits it. Returns false where the rows do not fit,
   * and nothing is changed: the copy has to start again.
   */
  put({ origin, tables, number, whole, published_at }: RowPage): boolean {
    try {
      const written = tables.flatMap((table) => {
        const writer = this.#writerOf(table);
        return writer === null ? [] : [{ ...table, writer }];
      });
      if (written.length < tables.length) {
        this.giveUp();
        return false;
      }
      if (!this.#db.inTransaction) this.#db.exec('BEGIN IMMEDIATE');
      // Delete first: a new row may take a deleted row's place in a unique index.
      for (const { gone, writer } of written) for (const key of gone) writer.drop(key);
      for (const { rows, writer } of written) for (const row of rows) writer.put(row);
      this.#note.run(origin, number, published_at);
      if (whole) this.#db.exec('COMMIT');
      return true;
    } catch (error) {
      this.giveUp();
      if (String((error as { code?: unknown }).code).startsWith('SQLITE_CONSTRAINT')) return false;
      throw error;
    }
  }

  /** Forgets what has come of a state that is not whole. */
  giveUp(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
  }

  [Symbol.dispose](): void {
    this.giveUp();
    closeAfterWrites(this.#db);
  }

  /** Returns null where the rows do not fit. */
  #writerOf({ table, columns, key, rows, gone }: TableRows): TableWriter | null {
    const name = JSON.stringify([table, columns, key]);
    const writer = this.#writers.get(name) ?? tableWriter(this.#db, { table, columns, key });
    this.#writers.set(name, writer);
    const fits =
      rows.every(({ length }) => length === columns.length) && gone.every(({ length }) => length === key.length);
    return fits ? writer : null;
  }
}

/** Makes a followed copy of a mirror's: it notes no rows, and knows what it follows. */
export function beginFollowing(path: string, published_at: number): void {
  const db = openCopied(path);
  try {
    if (isOfDevelopment(db)) throw developmentDaemon();
    const begin = db.transaction(() => {
      const begun = db
        .prepare(`INSERT OR REPLACE INTO _followed SELECT 1, origin, ${newestNumber}, ? FROM _row_feed`)
        .run(published_at);
      if (begun.changes === 0) throw noCopy(path);
      db.exec('DELETE FROM _row; DELETE FROM _row_mark; DELETE FROM _row_feed');
    });
    begin.immediate();
    // One file, without a log beside it: it is about to be renamed, or read by another connection.
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
}

/** State that a mirror had as a followed copy, and the newest number of its change feed. */
export type Ended = Standing & { readonly change: number };

/**
 * Turns a followed copy into a mirror, for the daemon that continues it. Returns null, and changes nothing, if it is no such
 * copy. With `whole` (it has all that the followed mirror reported) its change feed goes on; otherwise it gets another id.
 */
export function endFollowing(path: string, { whole }: { readonly whole: boolean }): Ended | null {
  const db = openCopied(path);
  try {
    const standing = standingIn(db);
    if (standing === undefined) return null;
    const end = db.transaction(() => {
      db.exec('DELETE FROM _followed');
      if (!whole) db.exec('UPDATE _mirror SET feed_id = NULL');
      // No copy of rows knows how far the numbers of an emptied feed were, but for the floor.
      db.exec(`INSERT INTO sqlite_sequence (name, seq) SELECT '_change', 0
          WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '_change');
        UPDATE sqlite_sequence SET seq = max(seq, (SELECT feed_floor_seq FROM _mirror)) WHERE name = '_change'`);
      return db.prepare<[], number>(`SELECT ${newestChange}`).pluck().get() ?? 0;
    });
    return { ...standing, change: end.immediate() };
  } finally {
    closeLeavingLog(db);
  }
}

/** Returns whether a mirror has noted the rows of an origin up to a number: what is published then comes from it. */
export function hasNoted(path: string, origin: string, number: number): boolean {
  if (!existsSync(path)) return false;
  const db = openReadOnly(path);
  try {
    if (isOfDevelopment(db)) return false;
    return (
      db.prepare(`SELECT 1 FROM _row_feed WHERE origin = ? AND ${newestNumber} >= ?`).get(origin, number) !== undefined
    );
  } finally {
    db.close();
  }
}

function standingIn(db: Database): Standing | undefined {
  if (Number(db.pragma('application_id', { simple: true })) !== mirrorFile.application_id) return undefined;
  const schema_version = Number(db.pragma('user_version', { simple: true }));
  const row = db
    .prepare<[], Omit<Standing, 'schema_version'>>('SELECT origin, number, published_at FROM _followed')
    .get();
  return row && { ...row, schema_version };
}

/** Returns whether a development version kept this copy: nothing is lost where a new one takes its place. */
function isDevelopmentCopy(db: Database): boolean {
  if (!isOfDevelopment(db)) return false;
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = '_followed'").get();
  return known !== undefined && db.prepare('SELECT 1 FROM _followed').get() !== undefined;
}

/** Puts rows into a table, and takes them out by their keys. */
type TableWriter = NonNullable<ReturnType<typeof tableWriter>>;

/** Returns null where the file has no such table: names that come from outside become SQL only where they are its own. */
export function tableWriter(db: Database, { table, columns, key }: TableHead) {
  if (!isPublished(table) || !isDeepStrictEqual(columnsOf(db, table), { all: columns, key })) return null;
  const virtual =
    db.prepare("SELECT sql LIKE 'CREATE VIRTUAL%' FROM sqlite_schema WHERE name = ?").pluck().get(table) === 1;
  const others = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  const taken = others.length === 0 ? 'DO NOTHING' : `DO UPDATE SET ${others.join(', ')}`;
  const drop = db.prepare(`DELETE FROM ${table} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`);
  // A trigger of the mirror's writes what another page has brought, and takes the conflict clause of what fires it. Where a
  // table has a second unique key a replaced row would go unseen by its own triggers: such a page does not fit.
  const unique = db.prepare('SELECT 1 FROM pragma_index_list(?) WHERE "unique" AND origin <> \'pk\'').get(table);
  const insert = `INSERT ${unique === undefined ? 'OR REPLACE ' : ''}INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  // A virtual table knows no upsert.
  const put = db.prepare(virtual ? insert : `${insert} ON CONFLICT (${key.join(', ')}) ${taken}`);
  const positions = key.map((column) => columns.indexOf(column));
  return {
    put: (row: readonly Cell[]) => {
      if (virtual) drop.run(...positions.map((position) => row[position]));
      put.run(...row);
    },
    drop: (values: readonly Cell[]) => void drop.run(...values),
  };
}

function developmentDaemon(): CataloguedError {
  return new CataloguedError('development-file', `the daemon sent a mirror that cannot be used: ${ofDevelopment}`, {
    exitCode: exitCodes.data,
    hint: 'install this version on the host of the daemon too; a copy that stands here stays as it is',
  });
}

function noCopy(path: string): CataloguedError {
  return new CataloguedError('no-followed-copy', `${path} is no copy that follows a daemon`, {
    exitCode: exitCodes.configuration,
    hint: 'name another file; where none stands, it is made',
  });
}
