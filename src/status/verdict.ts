import type { BackupStatus } from '../backup/keep.ts';
import { storageMessages } from '../files/storage-messages.ts';
import type { StorageStatus } from '../files/storage-status.ts';
import { ago, duration, number, resourceLabel } from '../format.ts';
import type { Freshness, MirrorStatus } from '../mirror/status/status.ts';
import type { SnapshotStatus } from '../snapshot/snapshot.ts';
import { alarmMessage } from './alarm-messages.ts';
import type { LiveStatus } from './daemon-status.ts';

/** The verdict on whether what storefronts read is true, shared by `status`, `/metrics` and the page. */
export interface StatusVerdict {
  /** `filling`: some records were never read, so nothing can be said of them. */
  readonly state: 'true' | 'filling' | 'broken';
  /** Why it is not true, each a sentence; empty if it is. */
  readonly reasons: readonly string[];
}

/** Returns the verdict. `daemon` null: none runs, which by itself breaks no promise yet. */
export function verdictOf(
  status: MirrorStatus & {
    readonly daemon: LiveStatus | null;
    readonly storage: StorageStatus | null;
    readonly snapshot: SnapshotStatus | null;
    readonly backup: BackupStatus;
  },
  now: number,
): StatusVerdict {
  const { filled_at, records, freshness, contradicted, removals, alarms, daemon, storage, snapshot, backup } = status;
  const refused = daemon?.key_refused ?? null;
  const troubles = [
    ...(refused === null ? [] : [`The service refuses the key: ${refused}`]),
    ...(storage === null ? [] : storageMessages(storage, now)).map((message) => `Storage: ${message}`),
    ...alarms.map((alarm) => {
      const { about, says } = alarmMessage(alarm, now);
      return `${about}: ${says}`;
    }),
    ...(contradicted === null
      ? []
      : [
          `${number(contradicted.products)} products are on sale by their own read but not by their dates, noticed ${ago(contradicted.since, now)}: they are read again, and not bookable meanwhile`,
        ]),
    ...(removals === null
      ? []
      : [
          `The removal of ${number(removals.held)} products is held for ${duration(now - removals.since)}: catalogued removals list`,
        ]),
    ...(snapshot?.late === 1 ? [lateSnapshot(snapshot, now)] : []),
    ...(backup.late === 1 ? [lateBackup(backup, now)] : []),
  ];
  if (filled_at === null)
    return {
      state: 'filling',
      reasons: [
        records.all === 0
          ? 'The product list has not been read yet'
          : `${number(records.never_fetched)} of ${number(records.all)} records have never been read`,
        ...troubles,
      ],
    };
  const doubted = contradicted !== null;
  const reasons = [...freshness.filter(({ kept }) => kept === 0).map((each) => broken(each, doubted)), ...troubles];
  return { state: reasons.length === 0 ? 'true' : 'broken', reasons };
}

function broken({ resource, tier, records, stale, expired, promise_ms }: Freshness, doubted: boolean): string {
  const name = `${resourceLabel(resource)}${tier === null ? '' : ` (${tier})`}`;
  const orDoubted = doubted && resource === 'availability' ? ', or contradicted by the product itself' : '';
  const late =
    stale === 0
      ? []
      : [`${number(stale)} of ${number(records)} records are older than ${duration(promise_ms)}${orDoubted}`];
  const hidden = expired === 0 ? [] : [`${number(expired)} are past their limit and hidden`];
  return `${name}: ${[...late, ...hidden].join(', ')}`;
}

function lateSnapshot({ published_at, failure }: SnapshotStatus, now: number): string {
  const made = published_at === null ? 'was never published' : `was published ${ago(published_at, now)}`;
  return `The snapshot for readers on other hosts ${made}${failure === null ? '' : `: ${failure}`}`;
}

function lateBackup({ made_at, directory, failure }: BackupStatus, now: number): string {
  const made = made_at === null ? 'No backup was ever made' : `The newest backup was made ${ago(made_at, now)}`;
  return `${made}, in ${directory}${failure === null ? '' : `: ${failure}`}`;
}
