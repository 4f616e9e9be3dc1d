import { closeSync, ftruncateSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isWithoutRoom } from './fault.ts';

/**
 * SQLite calls a used-up quota, and a file that has reached the largest size allowed (RLIMIT_FSIZE), a failed write, like
 * one of a broken disk: this error says what it would of a full disk.
 */
class QuotaUsedUp extends Error {
  override readonly name = 'QuotaUsedUp';
  readonly code = 'SQLITE_FULL';
}

/**
 * Runs what writes the database at a path. A failed write is put down to the quota where no other file of that size can
 * be written in that directory either.
 */
export function withinQuota<Result>(path: string, work: () => Result, isUsedUp = isQuotaUsedUp): Result {
  try {
    return work();
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'SQLITE_IOERR_WRITE' || !isUsedUp(path)) throw error;
    throw new QuotaUsedUp(
      `${path}: the quota of this user is used up, or a file has reached the largest size allowed`,
      { cause: error },
    );
  }
}

/** More than a page of the write-ahead log, so that no rest of a quota has room for it. */
const trialBytes = 64 * 1024;

function isQuotaUsedUp(path: string): boolean {
  const trial = join(dirname(path), '.catalogued-room');
  try {
    // Left by a kill, or put there by somebody: it is never followed.
    rmSync(trial, { force: true });
    const file = openSync(trial, 'wx', 0o600);
    try {
      writeFileSync(file, Buffer.alloc(trialBytes));
      // As far into the file as SQLite writes, over a hole that takes no room.
      const size = Math.max(
        ...[path, `${path}-wal`].map((each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0),
      );
      ftruncateSync(file, size + trialBytes);
    } finally {
      closeSync(file);
      rmSync(trial, { force: true });
    }
    return false;
  } catch (error) {
    return isWithoutRoom(error);
  }
}
