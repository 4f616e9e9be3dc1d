import { chmodSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { sync } from './sync.ts';

/** Size of the published copy in bytes. */
export interface PublishedCopy {
  readonly bytes: number;
}

/** A name beside the copy's own for one that is being made; `own` distinguishes two processes. */
export function temporaryName(path: string, own: number): string {
  return join(dirname(path), `.${basename(path)}.${own}.tmp`);
}

/** Removes what copies to this path left that were killed while they were made; returns how many files. */
export function removeTemporaries(path: string): number {
  const start = `.${basename(path)}.`;
  const left = readdirSync(dirname(path)).filter(
    (name) => name.startsWith(start) && /^\d+\.tmp(-\w+)?$/.test(name.slice(start.length)),
  );
  for (const name of left) rmSync(join(dirname(path), name), { force: true });
  return left.length;
}

export interface CopyOptions {
  /** File mode; absent: readable by all, independent of the umask, because nobody writes to the copy again. */
  readonly mode?: number;
  /** Changes the copy before it is checked. */
  readonly amend?: (copy: Database.Database) => void;
}

/**
 * Makes a copy of one state of the database, whatever is written meanwhile, under a temporary name; verifies it and
 * gives it its name in one step, so that a reader finds the last copy or this one, whole. It needs no other file beside
 * it and no write permission. Integer keys stay; implicit rowids are renumbered. A path that leads to the database
 * itself, whatever its spelling, is refused.
 */
export function publishCopy(
  source: string,
  path: string,
  temporary: string,
  { mode = 0o444, amend = () => {} }: CopyOptions = {},
): PublishedCopy {
  if (join(realpathSync(dirname(path)), basename(path)) === realpathSync(source))
    throw new Error(`${path} is ${source} itself by another name`);
  rmSync(temporary, { force: true });
  try {
    const from = new Database(source, { readonly: true, fileMustExist: true, timeout: 2000 });
    try {
      from.prepare('VACUUM INTO ?').run(temporary);
    } finally {
      from.close();
    }
    verify(temporary, source, amend);
    chmodSync(temporary, mode);
    sync(temporary);
    renameSync(temporary, path);
    sync(dirname(path));
    return { bytes: statSync(path).size };
  } catch (error) {
    for (const each of [temporary, `${temporary}-journal`]) rmSync(each, { force: true });
    throw error;
  }
}

function verify(copy: string, source: string, amend: (copy: Database.Database) => void): void {
  // Another process may have removed it as a leftover: an empty one in its place would verify.
  const db = new Database(copy, { fileMustExist: true });
  try {
    const mode = db.pragma('journal_mode = DELETE', { simple: true });
    if (mode !== 'delete') throw new Error(`the copy's journal mode is ${String(mode)}`);
    amend(db);
    const problem = db.pragma('integrity_check(1)', { simple: true });
    if (problem !== 'ok') throw new Error(`the copy of ${source} is damaged: ${String(problem)}`);
  } finally {
    db.close();
  }
}
