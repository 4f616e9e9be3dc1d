import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isWithoutRoom } from './fault.ts';

/** SQLite calls a used-up quota a failed write, like one of a broken disk: this error says what it would of a full disk. */
class QuotaUsedUp extends Error {
  override readonly name = 'QuotaUsedUp';
  readonly code = 'SQLITE_FULL';
}

/**
 * Runs what writes the database at a path. A failed write is put down to the quota where nothing else can be written in
 * that directory either.
 */
export function withinQuota<Result>(path: string, work: () => Result, isUsedUp = isQuotaUsedUp): Result {
  try {
    return work();
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'SQLITE_IOERR_WRITE' || !isUsedUp(dirname(path))) throw error;
    throw new QuotaUsedUp(`${path}: the quota of this user is used up`, { cause: error });
  }
}

/** More than a page of the write-ahead log, so that no rest of a quota has room for it. */
const trialBytes = 64 * 1024;

function isQuotaUsedUp(directory: string): boolean {
  const path = join(directory, '.catalogued-room');
  try {
    // Left by a kill, or put there by somebody: it is never followed.
    rmSync(path, { force: true });
    const file = openSync(path, 'wx', 0o600);
    try {
      writeFileSync(file, Buffer.alloc(trialBytes));
    } finally {
      closeSync(file);
      rmSync(path, { force: true });
    }
    return false;
  } catch (error) {
    return isWithoutRoom(error);
  }
}
