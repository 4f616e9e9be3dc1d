import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { CataloguedError, exitCodes } from '../errors.ts';
import { outOfDescriptors } from './descriptors.ts';
import { isOnReadOnlySystem, reasonOf } from './directory.ts';
import { failedDiskHint, faultOf } from './fault.ts';
import { wasOurs } from './file.ts';

/** For every file that has to be set aside: the command does it, and destroys nothing. */
export const repairHint =
  'catalogued repair: it sets aside what cannot be used, destroys nothing, and tells what comes next';

export function damaged(path: string, what: string, cause?: unknown): CataloguedError {
  return new CataloguedError('damaged', `${path} is damaged: ${what}`, {
    exitCode: exitCodes.data,
    hint: repairHint,
    cause,
  });
}

/** Never set aside by us: another program may need it. */
export function foreign(path: string, what: string, cause?: unknown): CataloguedError {
  return new CataloguedError('foreign-file', `${path} is not a file of catalogued: ${what}`, {
    exitCode: exitCodes.data,
    hint: `set another path in the configuration, or move it away: mv ${path} ${path}.other`,
    cause,
  });
}

/** A file that is open, and no longer at its path. It may be put back; else it has to be repaired. */
export function lostFile(path: string, name: string, standing: 'gone' | 'replaced'): CataloguedError {
  const what = standing === 'gone' ? 'was removed' : 'was replaced by another file';
  return new CataloguedError('file-lost', `the ${name} ${path}, or a file beside it, ${what} while it was in use`, {
    exitCode: exitCodes.data,
    hint: `put it back, or stop the daemon, and: ${repairHint}`,
  });
}

/**
 * Runs what opens a file, and turns what SQLite and the system say into errors that a person can act on. What is no
 * file is refused unopened: SQLite calls a directory a disk error, and waits for ever for the other end of a pipe.
 */
export function guarded<Result>(path: string, open: () => Result): Result {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isFile() === false)
      throw foreign(path, stats.isDirectory() ? 'it is a directory' : 'it is a device, a pipe or a socket');
    return open();
  } catch (error) {
    throw refusal(path, error);
  }
}

function refusal(path: string, error: unknown): unknown {
  if (error instanceof CataloguedError) return error;
  // SQLite only says that it cannot open the file.
  const exhausted = faultOf(error) === 'no-access' ? outOfDescriptors(error) : null;
  if (exhausted !== null) return exhausted;
  switch (faultOf(error)) {
    case 'not-a-database':
      return wasOurs(path)
        ? damaged(path, 'its beginning is destroyed', error)
        : foreign(path, 'it is not a database', error);
    case 'damaged':
      return damaged(path, (error as Error).message, error);
    case 'no-access':
      return permission(path, error);
    case 'locked':
      return locked(path, error);
    case 'disk-full':
    case 'sync':
    case 'io':
      return new CataloguedError('io', `cannot use ${path}: ${(error as Error).message}`, {
        exitCode: exitCodes.io,
        hint: faultOf(error) === 'disk-full' ? 'free space on that disk, then try again' : failedDiskHint,
        cause: error,
      });
    default:
      if ((error as { code?: unknown }).code === 'ELOOP')
        return foreign(path, 'it is a link that leads to itself', error);
      return isRefusedBySystem(error) ? permission(path, error) : error;
  }
}

function isRefusedBySystem(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes(String((error as { code?: unknown }).code));
}

function locked(path: string, cause: unknown): CataloguedError {
  return new CataloguedError('locked', `another program is writing ${path}`, {
    exitCode: exitCodes.retryLater,
    hint: `end its transaction, or stop that program (fuser ${path} names it), then start again`,
    cause,
  });
}

export function permission(path: string, error: unknown): CataloguedError {
  // As 77 no supervisor would start it again once the file system is back.
  if ((error as { code?: unknown }).code === 'EROFS' || isOnReadOnlySystem(path))
    return new CataloguedError('io', `cannot write ${path}: the file system is read-only`, {
      exitCode: exitCodes.io,
      hint: `find out why (dmesg), repair it, then: mount -o remount,rw "$(findmnt -n -o TARGET -T ${dirname(path)})"`,
      cause: error,
    });
  return new CataloguedError(
    'permission',
    `cannot write ${path}: ${error instanceof Database.SqliteError ? error.message : reasonOf(error)}`,
    {
      exitCode: exitCodes.permission,
      hint: `run it as the owner of the file, or give this user the file and its directory: chown "$(id -u)" ${dirname(path)} ${existingFiles(path).join(' ')}`,
      cause: error,
    },
  );
}

function existingFiles(path: string): string[] {
  return ['', '-wal', '-shm'].map((suffix) => path + suffix).filter((each) => existsSync(each));
}
