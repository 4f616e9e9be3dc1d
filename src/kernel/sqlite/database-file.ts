import { chmodSync, closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { CataloguedError, exitCodes } from '../errors.ts';
import { developmentFile } from './development.ts';
import { writeTroubleOf } from './fault.ts';
import { type FileKind, migrationsOf, viewsOf } from './file-kind.ts';
import { noteOf } from './identity.ts';
import { type Look, lookAt, lookBeside } from './look.ts';
import { withinQuota } from './quota.ts';
import { openReadOnly } from './read-only.ts';
import { damaged, foreign, guarded, permission, repairHint } from './refusals.ts';

export type { Database } from 'better-sqlite3';
export { compareVersions, type FileKind, oldestSafeVersion, schemaVersion } from './file-kind.ts';
export { damaged } from './refusals.ts';

/**
 * Opens a file for writing, makes it where there is none, and brings its schema up to date. A file that is foreign,
 * newer, damaged, or empty where a backup exists is refused untouched (65); one we may not write (77). Another program
 * that is writing it is waited for, also afterwards (`waitForLocks`), and refused after five seconds (75).
 */
export function openForWriting(
  path: string,
  kind: FileKind,
  { backups = [] as readonly string[] } = {},
): Database.Database {
  const steps = migrationsOf(kind);
  if (existsSync(path)) refuseUnusable(path, kind, lookAt(path, kind, 'header'), backups);
  else createFile(path, kind);
  const db = guarded(path, () => new Database(path, { timeout: 5000 }));
  try {
    guarded(path, () => {
      // Before anything is written; without an effect on a file that has tables.
      if (kind.auto_vacuum !== undefined) db.pragma(`auto_vacuum = ${kind.auto_vacuum}`);
      db.pragma('journal_mode = WAL');
      // Set before the first write: better-sqlite3 is compiled to fall back to NORMAL, which loses commits on power loss.
      db.pragma('synchronous = FULL');
      db.pragma('foreign_keys = ON');
      db.pragma('trusted_schema = OFF');
      db.pragma('mmap_size = 0');
      // A quarter of what better-sqlite3 is compiled for: a window fits, and the system keeps the other pages.
      db.pragma('cache_size = -4000');
      db.pragma('journal_size_limit = 67108864');
      db.pragma(`wal_autocheckpoint = ${kind.wal_autocheckpoint}`);
      migrate(db, kind, steps, Number(db.pragma('user_version', { simple: true })));
      addTriggers(db, kind.triggers ?? []);
      assertPragmas(db, kind);
    });
    return db;
  } catch (error) {
    closeLeavingLog(db);
    throw error;
  }
}

/**
 * Closes a file so that its log and its index stay: without them a reader that may not write reads nothing. SQLite removes
 * both when the last connection that may write closes, so one that may only read closes after it.
 */
export function closeLeavingLog(db: Database.Database): void {
  using last = new DisposableStack();
  try {
    const reader = last.adopt(openReadOnly(db.name), (each) => each.close());
    reader.pragma('user_version');
  } catch {
    // A file that nobody can read now: there is nothing to leave.
  }
  db.close();
}

/**
 * Closes a file that was written, and leaves an empty log, or a full one if somebody still reads it, the disk is full, or
 * another program writes.
 */
export function closeAfterWrites(db: Database.Database): void {
  try {
    waitForLocks(db, 0);
    withinQuota(db.name, () => db.pragma('wal_checkpoint(TRUNCATE)'));
  } catch (error) {
    if (writeTroubleOf(error) === null) throw error;
  } finally {
    closeLeavingLog(db);
  }
}

/** Opens a file as a storefront would: read-only, even while the daemon writes. */
export function openForReading(path: string, kind: FileKind): Database.Database {
  const look = lookBeside(path, kind, 'header');
  if (look.condition !== 'empty') refuseUnusable(path, kind, look);
  return guarded(path, () => new Database(path, { readonly: true, fileMustExist: true, timeout: 2000 }));
}

/** Makes triggers for this connection alone. */
export function addTriggers(db: Database.Database, triggers: readonly URL[]): void {
  for (const url of triggers) db.exec(readFileSync(url, 'utf8'));
}

/** Sets how long a statement waits, and blocks the event loop, while another program writes: milliseconds, 0 for none. */
export function waitForLocks(db: Database.Database, ms: number): void {
  db.pragma(`busy_timeout = ${ms}`);
}

/** Returns the version of SQLite that this program contains. */
export function sqliteVersion(): string {
  const db = new Database(':memory:');
  try {
    return String(db.prepare('SELECT sqlite_version()').pluck().get());
  } finally {
    db.close();
  }
}

/** Returns the size of a file's write-ahead log in bytes: 0 where there is none, or nobody of this user may look. */
export function walSizeOf(path: string): number {
  return noteOf(`${path}-wal`)?.size ?? 0;
}

function createFile(path: string, { mode }: FileKind): void {
  try {
    closeSync(openSync(path, 'wx', mode));
    chmodSync(path, mode);
  } catch (error) {
    throw permission(path, error);
  }
}

/** Refuses what was found at a path; an empty file is one to be made, unless there is a backup of it. */
export function refuseUnusable(
  path: string,
  kind: FileKind,
  { condition, wrong, writer = 'the version that wrote it' }: Look,
  backups: readonly string[] = [],
): void {
  switch (condition) {
    case 'well':
      return;
    case 'missing':
      throw noFile(path, kind);
    case 'damaged':
      throw damaged(path, wrong ?? '');
    case 'foreign':
      throw foreign(path, wrong ?? '');
    case 'development':
      throw developmentFile(path);
    case 'newer':
      throw new CataloguedError('newer-file', `${path}: ${wrong}`, {
        exitCode: exitCodes.data,
        hint: `install ${writer} or newer; or go back to the backup made before the upgrade (catalogued restore); or fill a new mirror with this version: ${repairHint}`,
      });
    case 'empty':
      if (backups.length > 0)
        throw damaged(
          path,
          `it is empty, and there is a backup (${basename(backups.at(-1) ?? '')}): this is not the first run`,
        );
  }
}

function noFile(path: string, { name }: FileKind): CataloguedError {
  return new CataloguedError('no-mirror', `there is no ${name} at ${path}`, {
    exitCode: exitCodes.data,
    hint: 'start the daemon (catalogued run) or fill it once (catalogued resync --all --wait)',
  });
}

/** Runs what is missing in one transaction, which also is the first write of a new file. */
function migrate(db: Database.Database, kind: FileKind, steps: readonly string[], version: number): void {
  const views = viewsOf(kind);
  db.exec('BEGIN IMMEDIATE');
  try {
    const missing = steps.slice(version);
    dropViews(db, missing.length === 0 ? views : '');
    // Without comments, which every reader that opens the file would parse.
    for (const step of missing) db.exec(step.replace(/\s*--.*$/gm, ''));
    replaceViews(db, views);
    db.pragma(`application_id = ${kind.application_id}`);
    db.pragma(`user_version = ${steps.length}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Drops the views that a text does not make: any of them would stop a step that renames a table. */
function dropViews(db: Database.Database, kept: string): void {
  const names = new Set([...kept.matchAll(/^CREATE VIEW (\w+)/gm)].map(([, name]) => name));
  for (const { name } of viewsIn(db)) if (!names.has(name)) db.exec(`DROP VIEW "${name.replaceAll('"', '""')}"`);
}

/** Makes the views as the text says, all of them where one differs: a file with the same keeps its schema untouched. */
function replaceViews(db: Database.Database, text: string): void {
  const stands = viewsIn(db);
  if (isDeepStrictEqual(stands, viewsMadeBy(text))) return;
  for (const { name } of stands) db.exec(`DROP VIEW ${name}`);
  db.exec(text);
}

type Views = readonly { readonly name: string; readonly sql: string }[];

/** Views by the text that makes them. A process has two texts, one for each file. */
const viewsMade = new Map<string, Views>();

/** Returns the views that a text makes, as a file keeps them. */
function viewsMadeBy(text: string): Views {
  const known = viewsMade.get(text);
  if (known !== undefined) return known;
  const fresh = new Database(':memory:');
  try {
    const views = viewsIn(fresh.exec(text));
    viewsMade.set(text, views);
    return views;
  } finally {
    fresh.close();
  }
}

function viewsIn(db: Database.Database): Views {
  return db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name")
    .all();
}

/** Read back after the first write: on a new file `synchronous` answers 2 before it and 1 after, unless set. */
function assertPragmas(db: Database.Database, kind: FileKind): void {
  const wanted: Readonly<Record<string, string | number>> = {
    journal_mode: 'wal',
    synchronous: 2,
    foreign_keys: 1,
    mmap_size: 0,
    wal_autocheckpoint: kind.wal_autocheckpoint,
    application_id: kind.application_id,
  };
  for (const [name, value] of Object.entries(wanted)) {
    const found = db.pragma(name, { simple: true }) ?? 0;
    if (found !== value) throw new Error(`${db.name}: PRAGMA ${name} is ${String(found)}, must be ${value}`);
  }
}
