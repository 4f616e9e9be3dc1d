import { type Database, waitForLocks, walSizeOf } from '../../sqlite/database-file.ts';
import { writeTroubleOf } from '../../sqlite/fault.ts';
import { withinQuota } from '../../sqlite/quota.ts';

const megabyte = 1024 * 1024;

/** Checkpoints the write-ahead log into the database file. */
export interface LogCopy {
  /** See `Mirror.checkpoint`. */
  checkpoint(space?: 'plenty' | 'tight'): number;
  /** See `Mirror.waitForLocks`. */
  waitForLocks(ms: number): void;
}

export function logCopy(db: Database, path: string): LogCopy {
  type Pages = { busy: number; log: number; checkpointed: number };
  const passive = db.prepare<[], Pages>('PRAGMA wal_checkpoint(PASSIVE)');
  const look = db.prepare<[], Pages>('PRAGMA wal_checkpoint(NOOP)');
  const pageSize = Number(db.pragma('page_size', { simple: true }));
  let lockWaitMs = 5000;

  /** Returns how many bytes of the log are not in the file yet. */
  function waiting(): number {
    const { log = 0, checkpointed = 0 } = look.get() ?? {};
    return (log - checkpointed) * pageSize;
  }

  function copy(space: 'plenty' | 'tight'): void {
    const [least, most] = space === 'tight' ? [0, 0] : [8 * megabyte, 64 * megabyte];
    const size = walSizeOf(path);
    // A log that was copied keeps its size, and is written again from its beginning.
    if (size <= least || (size <= most && waiting() <= least)) return;
    const { log = 0, checkpointed = 0 } = passive.get() ?? {};
    // Everything is copied, so no reader needs the log any more: it can be cut, without waiting for anybody.
    if (log !== checkpointed || size <= most) return;
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
        withinQuota(path, () => copy(space));
      } catch (error) {
        if (writeTroubleOf(error) === null) throw error;
      }
      return walSizeOf(path);
    },
    waitForLocks: (ms) => {
      lockWaitMs = ms;
      waitForLocks(db, ms);
    },
  };
}
