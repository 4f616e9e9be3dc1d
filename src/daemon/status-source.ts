import { backupStatus } from '../files/backup/keep.ts';
import { snapshotStatus } from '../files/snapshot/snapshot.ts';
import type { Instant } from '../kernel/clock.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { type DaemonStatus, type InboxStatus, liveStatus } from '../says/status/daemon-status.ts';
import { type CountedStatus, StatusReader, StatusReads } from '../says/status/status.store.ts';
import type { Daemon, DaemonParts } from './context.ts';
import type { Mirroring } from './mirroring.ts';

/** The mirror's part of the status. */
export interface MirrorCounts {
  /** Returns it as it is now, or of a large mirror as it was counted last. */
  read(): Promise<CountedStatus>;
  /** Counts. */
  count(): Promise<CountedStatus>;
}

/** Counts in a separate thread. Disposing ends it. */
export function mirrorCounts({ mirror, files, sync }: Mirroring): MirrorCounts & AsyncDisposable {
  const stack = new AsyncDisposableStack();
  const reader = stack.adopt(openMirrorForReading(mirror.path), (db) => {
    db.close();
  });
  const shown = new StatusReads(reader);
  const thread = stack.use(new StatusReader(mirror.path));
  // A reader that opens the path now would find no mirror, or another one. The connection that is still open shows the
  // mirrored data.
  const ifLost = async (now: Instant) => (files.isWell('mirror') ? null : { ...shown.read(now), as_of: now });
  const atNow = async (ask: (now: Instant) => Promise<CountedStatus>) => {
    const now = sync.clock.now();
    return (await ifLost(now)) ?? (await ask(now));
  };
  return {
    read: () => atNow((now) => thread.read(now)),
    count: () => atNow((now) => thread.count(now)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/**
 * Puts the status together: the mirror's part, the facts known only to the daemon, and the conditions that follow from
 * both.
 */
export function statusSource(daemon: DaemonParts, counts: MirrorCounts): Daemon['status'] {
  const { snapshots, backups, receiving, conditions, publishing, schedule } = daemon;
  const { mirror, inbox, files, limiter, sync, config, writer } = daemon;
  const inboxStatus = (): InboxStatus => ({
    ...inbox.deliveries.counts(),
    ...inbox.deliveries.bytes(),
    budget_bytes: config.retention.deliveries_bytes,
    last_delivery_at: Math.max(0, ...inbox.deliveries.lastBySubscription().values()) || null,
    receiver: receiving === null ? null : { address: receiving.receiver.address, ...receiving.receiver.counts() },
  });
  const around = (status: CountedStatus): DaemonStatus => {
    const now = sync.clock.now();
    const whole = {
      ...status,
      files: files.findings(),
      storage: writer.status(),
      storefront: config.storefront.listen === null ? null : { listen: config.storefront.listen },
      daemon: liveStatus(limiter, sync.refusals),
      inbox: inboxStatus(),
      jobs: schedule.list(),
      snapshot: snapshotStatus(config.snapshot, mirror.path, snapshots.failing(), now),
      backup: backupStatus(config.backup, { filled_at: status.filled_at, failing: backups.failing(), now }),
      database: publishing?.status() ?? null,
    };
    return { ...whole, conditions: conditions.conditionsOf(whole) };
  };
  return {
    shown: async () => {
      files.look();
      return around(await counts.read());
    },
    counted: async () => {
      files.look();
      return around(await counts.count());
    },
  };
}
