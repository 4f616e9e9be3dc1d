import { type Database, waitForLocks, walSizeOf } from '../../sqlite/database-file.ts';
import { writeTroubleOf } from '../../sqlite/fault.ts';

const megabyte = 1024 * 1024;

/** Who copies the write-ahead log into the file. */
export interface LogCopy {
  /** See `Mirror.checkpoint`. */
  checkpoint(space?: 'plenty' | 'tight'): number;
  /** See `Mirror.waitForLocks`. */
  waitForLocks(ms: number): void;
  /** The last one, before the connection is closed. */
  finish(): void;
}

export function logCopy(db: Database, path: string): LogCopy {
  const passive = db.prepare<[], { busy: number; log: number; checkpointed: number }>('PRAGMA wal_checkpoint(PASSIVE)');
  let lockWaitMs = 5000;

  function copy(space: 'plenty' | 'tight'): void {
    const least = space === 'tight' ? 0 : 8 * megabyte;
    if (walSizeOf(path) <= least) return;
    const { log = 0, checkpointed = 0 } = passive.get() ?? {};
    // Everything is copied, so no reader needs the log any more: it can be cut, without waiting for anybody.
    if (log !== checkpointed || walSizeOf(path) <= (space === 'tight' ? 0 : 64 * megabyte)) return;
    waitForLocks(db, 0);
    try {
      db.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      waitForLocks(db, lockWaitMs);
    }
  }

  return {
    checkpoint: (space = 'plenty') => {
      try {
        copy(space);
      } catch (error) {
        if (writeTroubleOf(error) === null) throw error;
      }
      return walSizeOf(path);
    },
    waitForLocks: (ms) => {
      lockWaitMs = ms;
      waitForLocks(db, ms);
    },
    finish: () => {
      try {
        passive.get();
      } catch (error) {
        if (writeTroubleOf(error) === null) throw error;
      }
    },
  };
}
