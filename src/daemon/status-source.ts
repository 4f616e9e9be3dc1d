import { backupStatus } from '../backup/keep.ts';
import { quarantineAfter } from '../domain/budget/backoff.ts';
import type { JobRuns } from '../domain/schedule/job-runs.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { statusReader } from '../mirror/status/reader.ts';
import { type MirrorStatus, statusOf } from '../mirror/status/status.ts';
import { snapshotStatus } from '../snapshot/snapshot.ts';
import { type InboxStatus, liveStatus } from '../status/daemon-status.ts';
import type { Daemon, Unscheduled } from './context.ts';
import type { Mirroring } from './mirroring.ts';

/** Reads the mirror's part of the status, at most `max_age_ms` old. */
export type MirrorStatusReader = (max_age_ms: number) => Promise<MirrorStatus> | MirrorStatus;

/** Reads the mirror's status in a separate thread. Disposing ends it. */
export function mirrorStatusOf({ mirror, files, ports }: Mirroring) {
  const stack = new AsyncDisposableStack();
  const reader = stack.adopt(openMirrorForReading(mirror.path), (db) => {
    db.close();
  });
  const shown = statusOf(reader, quarantineAfter);
  const statuses = stack.use(statusReader(mirror.path, ports.clock.monotonic));
  // A reader that opens the path now would find no mirror, or another one. The connection that is still open shows the
  // mirrored data.
  const read: MirrorStatusReader = (max_age_ms) => (files.isWell('mirror') ? statuses.read(max_age_ms) : shown());
  return { read, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

export interface StatusOptions {
  readonly jobs: () => readonly JobRuns[];
  readonly mirrorStatus: MirrorStatusReader;
}

/**
 * Puts the status together: the mirror's part, the facts known only to the daemon, and the conditions that follow from
 * both.
 */
export function statusSource(
  daemon: Omit<Unscheduled, 'status'>,
  { jobs, mirrorStatus }: StatusOptions,
): Daemon['status'] {
  const { snapshots, backups, receiving, conditions, publishing } = daemon;
  const { mirror, inbox, files, limiter, ports, config, storage } = daemon;
  const inboxStatus = (): InboxStatus => ({
    ...inbox.deliveries.counts(),
    ...inbox.deliveries.bytes(),
    budget_bytes: config.retention.deliveries_bytes,
    last_delivery_at: Math.max(0, ...inbox.deliveries.lastBySubscription().values()) || null,
    receiver: receiving === null ? null : { address: receiving.receiver.address, ...receiving.receiver.counts() },
  });
  return async (max_age_ms) => {
    files.look();
    const status = await mirrorStatus(max_age_ms);
    const now = ports.clock.now();
    const whole = {
      ...status,
      alarms: [
        ...files.alarms(),
        ...status.alarms,
        ...storage.alarms(),
        ...snapshots.alarms(),
        ...backups.alarms(),
        ...(publishing?.alarms() ?? []),
      ],
      storage: storage.status(),
      storefront: config.storefront.listen === null ? null : { listen: config.storefront.listen },
      daemon: liveStatus(limiter, ports.refusals.keyRefused()),
      inbox: inboxStatus(),
      jobs: jobs(),
      snapshot: snapshotStatus(config.snapshot, mirror.path, snapshots.failure(), now),
      backup: backupStatus(config.backup, { filled_at: status.filled_at, failure: backups.failure(), now }),
      database: publishing?.status() ?? null,
    };
    return { ...whole, conditions: conditions.conditionsOf(whole) };
  };
}
