import { isDeepStrictEqual } from 'node:util';
import { CataloguedError, exitCodes } from '../errors.ts';
import { capturing, columnsOf, isPublished, newestNumber } from '../mirror/rows/capture.ts';
import type { TableRows } from '../mirror/rows/pages.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import { openCopied } from '../sqlite/copied-file.ts';
import type { Database } from '../sqlite/database-file.ts';
import type { PublishedPage } from './source.ts';

/** How far a followed copy is. */
export interface Standing {
  /** What its numbers belong to. */
  readonly origin: string;
  readonly number: number;
  /** By the daemon's clock, in epoch milliseconds: the copy is as the mirror was then. */
  readonly published_at: number;
  readonly schema_version: number;
}

/** A mirror's copy on another host. Its schema is the daemon's: rows are put as they come. */
export interface FollowedFile extends Disposable {
  standing(): Standing;
  /**
   * Adds a page to the state that is being put together; a whole one commits it. Returns false where the rows do not fit,
   * and nothing is changed: the copy has to begin anew.
   */
  put(page: PublishedPage): boolean;
  /** Forgets what has come of a state that is not whole. */
  giveUp(): void;
}

/** Opens a followed copy. Anything else at the path is refused (78), untouched. */
export function openFollowed(path: string): FollowedFile {
  const db = openCopied(path);
  try {
    if (standingIn(db) === undefined) throw noCopy(path);
    return followedFile(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Makes a followed copy of a mirror's: it notes no rows, and knows what it follows. */
export function beginFollowing(path: string, published_at: number): void {
  const db = openCopied(path);
  try {
    const begin = db.transaction(() => {
      for (const name of capturing(db)) db.exec(`DROP TRIGGER ${name}`);
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

/**
 * Makes a mirror of a followed copy, for the daemon that goes on with it; anything else stays as it is. Its change feed gets
 * another name: what the mirror that it followed has told last may be missing in it.
 */
export function endFollowing(path: string): 'took over' | 'no copy' {
  const db = openCopied(path);
  try {
    if (standingIn(db) === undefined) return 'no copy';
    const end = db.transaction(() => db.exec('DELETE FROM _followed; UPDATE _mirror SET feed_id = NULL'));
    end.immediate();
    return 'took over';
  } finally {
    db.close();
  }
}

function standingIn(db: Database): Standing | undefined {
  if (Number(db.pragma('application_id', { simple: true })) !== mirrorFile.application_id) return undefined;
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = '_followed'").get();
  if (known === undefined) return undefined;
  const schema_version = Number(db.pragma('user_version', { simple: true }));
  const row = db
    .prepare<[], Omit<Standing, 'schema_version'>>('SELECT origin, number, published_at FROM _followed')
    .get();
  return row && { ...row, schema_version };
}

function followedFile(db: Database): FollowedFile {
  const writers = new Map<string, TableWriter>();
  const writerOf = (rows: TableRows) => {
    const name = `${rows.table} ${rows.columns.join(' ')}`;
    const writer = writers.get(name) ?? tableWriter(db, rows);
    writers.set(name, writer);
    return writer;
  };
  const note = db.prepare('UPDATE _followed SET number = ?, published_at = ?');
  const giveUp = () => void (db.inTransaction && db.exec('ROLLBACK'));
  return {
    standing: () => standingIn(db) as Standing,
    put: ({ tables, number, whole, published_at }) => {
      try {
        if (!tables.every((rows) => fits(db, rows))) {
          giveUp();
          return false;
        }
        if (!db.inTransaction) db.exec('BEGIN IMMEDIATE');
        // What is gone first: what is new may have its place in a unique index.
        for (const rows of tables) for (const key of rows.gone) writerOf(rows).drop(key);
        for (const rows of tables) for (const row of rows.rows) writerOf(rows).put(row);
        note.run(number, published_at);
        if (whole) db.exec('COMMIT');
        return true;
      } catch (error) {
        giveUp();
        if (String((error as { code?: unknown }).code).startsWith('SQLITE_CONSTRAINT')) return false;
        throw error;
      }
    },
    giveUp,
    [Symbol.dispose]: () => {
      giveUp();
      db.close();
    },
  };
}

/** Names that come from outside become SQL only where they are those of the file itself. */
function fits(db: Database, { table, columns, key, rows, gone }: TableRows): boolean {
  return (
    isPublished(table) &&
    isDeepStrictEqual(columnsOf(db, table), { all: columns, key }) &&
    rows.every((row) => row.length === columns.length) &&
    gone.every((values) => values.length === key.length)
  );
}

export interface TableWriter {
  put(row: readonly unknown[]): void;
  drop(key: readonly unknown[]): void;
}

/** Puts rows into a table, and takes them out. */
export function tableWriter(db: Database, { table, columns, key }: TableRows): TableWriter {
  const virtual =
    db.prepare("SELECT sql LIKE 'CREATE VIRTUAL%' FROM sqlite_schema WHERE name = ?").pluck().get(table) === 1;
  const where = key.map((column) => `${column} = ?`).join(' AND ');
  const others = columns.filter((column) => !key.includes(column));
  const taken =
    others.length === 0
      ? 'DO NOTHING'
      : `DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}`;
  const drop = db.prepare(`DELETE FROM ${table} WHERE ${where}`);
  const insert = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  // A virtual table knows no upsert.
  const put = db.prepare(virtual ? insert : `${insert} ON CONFLICT (${key.join(', ')}) ${taken}`);
  const positions = key.map((column) => columns.indexOf(column));
  return {
    put: (row) => {
      if (virtual) drop.run(...positions.map((position) => row[position]));
      put.run(...row);
    },
    drop: (values) => void drop.run(...values),
  };
}

function noCopy(path: string): CataloguedError {
  return new CataloguedError('no-followed-copy', `${path} is no copy that follows a daemon`, {
    exitCode: exitCodes.configuration,
    hint: 'name another file; where none stands, it is made',
  });
}
