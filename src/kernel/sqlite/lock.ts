import { chmodSync, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { CataloguedError, exitCodes } from '../errors.ts';
import { faultOf } from './fault.ts';
import { guarded } from './refusals.ts';

/**
 * The right to write: one process a state directory, held until it is disposed of or the process ends. A kernel
 * lock under a SQLite transaction, so it also holds between containers, and a kill -9 frees it. Taken: 75.
 */
export function acquireLock(state_dir: string): Disposable {
  return held(join(state_dir, 'catalogued.lock'), {
    holds: state_dir,
    hint: 'stop it first, or set another mirror.path and mirror.state_dir',
  });
}

/** The same for the mirror: a second state directory, whose own lock is free, cannot be paired with one that is in use. */
export function acquireMirrorLock(path: string): Disposable {
  return held(mirrorLockPath(path), {
    holds: `${path}, from another state directory`,
    hint: 'stop it first, or set another mirror.path',
  });
}

/** Returns whether a process holds the mirror's lock; null where this user cannot tell. Takes and writes nothing. */
export function isMirrorLocked(path: string): boolean | null {
  const lock = mirrorLockPath(path);
  if (!existsSync(lock)) return false;
  try {
    const db = new Database(lock, { readonly: true, fileMustExist: true, timeout: 0 });
    try {
      db.pragma('schema_version');
    } finally {
      db.close();
    }
    return false;
  } catch (error) {
    return faultOf(error) === 'locked' ? true : null;
  }
}

function mirrorLockPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.lock`);
}

/** Milliseconds to wait for `isMirrorLocked` of another process, which takes less than one. */
const readMs = 100;

function held(path: string, { holds, hint }: { holds: string; hint: string }): Disposable {
  const lock = guarded(path, () => new Database(path, { timeout: readMs }));
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
    // A reader of the directory could hold it against us.
    chmodSync(path, 0o600);
  } catch (error) {
    lock.close();
    if (faultOf(error) !== 'locked')
      return guarded(path, () => {
        throw error;
      });
    throw new CataloguedError('already-running', `another catalogued holds ${holds}`, {
      exitCode: exitCodes.retryLater,
      hint,
    });
  }
  return { [Symbol.dispose]: () => lock.close() };
}
