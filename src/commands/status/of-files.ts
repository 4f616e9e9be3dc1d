import type { Config } from '../../config/load.ts';
import { backupStatus } from '../../files/backup/keep.ts';
import { startRefusal } from '../../files/pair.ts';
import { snapshotStatus } from '../../files/snapshot/snapshot.ts';
import type { Instant } from '../../kernel/clock.ts';
import { isMirrorLocked } from '../../kernel/sqlite/lock.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { failingOf } from '../../says/conditions/outcome.rules.ts';
import type { PrintedStatus } from '../../says/status/sections.ts';
import { type MirrorStatus, readStatus } from '../../says/status/status.store.ts';
import { withConditions } from '../../says/status/verdict.ts';

/** Returns the status in the files, if no daemon answers: none runs, or the one that runs does not answer. */
export function statusOfFiles(config: Config, daemon: 'none' | 'silent', now: Instant): PrintedStatus {
  const mirror = mirrorStatus(config, now);
  return withConditions(
    {
      ...mirror,
      as_of: now,
      daemon: null,
      // A daemon whose socket was removed still holds the mirror.
      daemon_answers: daemon === 'none' && isMirrorLocked(config.mirror.path) !== true ? null : false,
      inbox: null,
      files: null,
      storage: null,
      storefront: null,
      jobs: null,
      snapshot: snapshotStatus(config.snapshot, config.mirror.path, failingOf(mirror.outcomes, 'snapshot'), now),
      backup: backupStatus(config.backup, {
        filled_at: mirror.filled_at,
        failing: failingOf(mirror.outcomes, 'backup'),
        now,
      }),
      database: null,
    },
    now,
  );
}

/** Throws what a start would refuse: that also knows whether the inbox belongs to a mirror. */
function mirrorStatus(config: Config, now: Instant): MirrorStatus {
  try {
    const db = openMirrorForReading(config.mirror.path);
    try {
      return readStatus(db, now);
    } finally {
      db.close();
    }
  } catch (error) {
    throw startRefusal(config) ?? error;
  }
}
