import type { JobRuns } from '../../daemon/job-runs.rules.ts';
import type { BackupStatus } from '../../files/backup/keep.ts';
import type { SnapshotStatus } from '../../files/snapshot/snapshot.ts';
import type { StorageStatus } from '../../files/storage-status.ts';
import type { FileFinding } from '../../files/watch.ts';
import { writeRefusalOf } from '../../files/write-refusal.ts';
import type { Instant } from '../../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { counted, printable } from '../../kernel/format.ts';
import type { ReceiverCounts } from '../../receiver/receiver.ts';
import type { Limiter } from '../../service/limiter.ts';
import type { ActiveCondition } from '../conditions/decide.rules.ts';
import type { DatabaseFacts, InboxFacts, LiveFacts } from '../conditions/facts.rules.ts';
import { todoOf } from '../conditions/table.rules.ts';
import type { CountedStatus } from './status.store.ts';

/** Status that only a running daemon knows: its relation to the service. */
export interface LiveStatus extends LiveFacts {
  readonly calls_in_flight: number;
  readonly rate: number;
  readonly ceiling: number;
  readonly throttled: number;
  /** Calls since the start, by lane. */
  readonly lanes: Readonly<Record<string, number>>;
  /**
   * No call is sent before `not_before`. The service itself asked for a pause until `told_until`, which is shorter than
   * `asked` while that may apply to one product only.
   */
  readonly not_before: number | null;
  readonly told_until: number | null;
}

/** The status of a running daemon's inbox. */
export interface InboxStatus extends InboxFacts {
  readonly received: number;
  /** Size of the deliveries: bodies as stored, and 512 bytes per row. */
  readonly stored_bytes: number;
  /** `retention.deliveries_bytes`. */
  readonly budget_bytes: number;
  /** Number of bodies ever deleted early to stay within the budget. */
  readonly bodies_gone: number;
  /** Null: no master secret is configured, and nothing is received. */
  readonly receiver: ({ readonly address: string } & ReceiverCounts) | null;
}

/** Status of a running daemon's publication into PostgreSQL, with its observations there. */
export interface DatabaseStatus extends DatabaseFacts {
  /** Last published state, and its instant; null if nothing was published since the start. */
  readonly state: number | null;
  readonly published_at: number | null;
  readonly lag_ms: number | null;
  readonly failing_since: number | null;
  readonly failure: string | null;
  /** Instance that leads, and its term; null if it is the only one. */
  readonly leads: { readonly name: string; readonly term: number } | null;
}

/** State of a running daemon, which no file has. */
export interface ProcessStatus {
  readonly daemon: LiveStatus;
  readonly inbox: InboxStatus;
  readonly files: readonly FileFinding[];
  readonly storage: StorageStatus;
  /** Storefront interface; null if none is configured. */
  readonly storefront: { readonly listen: string } | null;
  readonly jobs: readonly JobRuns[];
  /** Null if nothing is published into a database. */
  readonly database: DatabaseStatus | null;
}

/** Status of a running daemon before it is judged. */
export interface UnjudgedStatus extends CountedStatus, ProcessStatus {
  /** Null if none is configured. */
  readonly snapshot: SnapshotStatus | null;
  readonly backup: BackupStatus;
}

/** Status of a running daemon: the mirror's, and what only the daemon knows. */
export interface DaemonStatus extends UnjudgedStatus {
  /** Conditions that hold (says/conditions/table.rules.ts). */
  readonly conditions: readonly ActiveCondition[];
}

/** Longest pause that a waiting command accepts. After a longer one it gives up with 75, and the records stay due. */
const patienceMs = 5 * 60 * 1000;

/** Returns the error with which a command gives up that waits for reads, or null if it goes on waiting. */
export function givesUp(
  { daemon: live, storage }: { readonly daemon: LiveStatus; readonly storage: StorageStatus },
  now: number,
): CataloguedError | null {
  const refusal = keyRefused(live) ?? serviceUnusable(live, now) ?? unreachableTooLong(live, now);
  return refusal ?? throttledTooLong(live, now) ?? unwritableTooLong(storage, now);
}

function unwritableTooLong({ trouble }: StorageStatus, now: number): CataloguedError | null {
  return trouble === null || now - trouble.since < giveUpAfterMs ? null : writeRefusalOf(trouble.kind);
}

/** A command that waits gives up after this long: the service unreachable, or the files locked by another program. */
export const giveUpAfterMs = 2 * 60 * 1000;

function unreachableTooLong({ unreachable_since }: LiveStatus, now: number): CataloguedError | null {
  if (unreachable_since === null || now - unreachable_since < giveUpAfterMs) return null;
  return new CataloguedError('unreachable', 'the service cannot be reached', {
    exitCode: exitCodes.unavailable,
    hint: 'check service.base_url and the network, then run the same command to continue',
  });
}

/** Returns the error of a waiting command if the service asked for a long pause, else null. */
function throttledTooLong({ told_until, unreachable_since }: LiveStatus, now: number): CataloguedError | null {
  if (told_until === null || unreachable_since !== null || told_until - now < patienceMs) return null;
  const minutes = Math.ceil((told_until - now) / 60_000);
  return new CataloguedError('throttled', `the service asks us to wait ${counted(minutes, 'minute')}`, {
    exitCode: exitCodes.retryLater,
    hint: 'run the same command later to continue',
  });
}

/** Time without usable answers after which a waiting command gives up: a single answer may be spoilt now and then. */
const unusableMs = 10_000;

/** Returns the error of a waiting command if the service answers but none of its answers can be used, else null. */
function serviceUnusable({ away, unreachable_since }: LiveStatus, now: number): CataloguedError | null {
  if (away?.how !== 'unusable' || unreachable_since === null || now - unreachable_since < unusableMs) return null;
  return new CataloguedError('service-unusable', `no answer can be used: ${printable(away.says)}`, {
    exitCode: exitCodes.unavailable,
    hint: todoOf('service-unusable'),
  });
}

/** Returns the error of a waiting command if the service refuses the key, else null. */
function keyRefused({ key_refused }: LiveStatus): CataloguedError | null {
  if (key_refused === null) return null;
  return new CataloguedError('key-refused', `the service refuses the key: ${key_refused}`, {
    exitCode: exitCodes.unavailable,
    hint: todoOf('key-refused'),
  });
}

/** Returns why no call is made now, in a few words; null if nothing keeps calls. `next_due_at`: of the next read. */
export function whyWaiting(
  { key_refused, unreachable_since, away, not_before, calls_in_flight }: LiveStatus,
  next_due_at: number | null,
  now: number,
): string | null {
  const seconds = (ms: number) => `${Math.ceil(ms / 1000)} s`;
  if (key_refused !== null) return 'the service refuses the key';
  if (unreachable_since !== null)
    return `${away?.how === 'unusable' ? 'no usable answer' : 'not reachable'} for ${seconds(now - unreachable_since)}`;
  if (not_before !== null && not_before > now) return `told to wait ${seconds(not_before - now)}`;
  if (calls_in_flight > 0 || next_due_at === null || next_due_at - now < 1000) return null;
  return `next read in ${seconds(next_due_at - now)}: what failed or needs a second answer`;
}

export function liveStatus(
  limiter: Limiter,
  refusals: { keyRefused(): string | null; keyRefusedSince(): Instant | null },
): LiveStatus {
  const {
    lanes,
    calls,
    in_flight,
    rate,
    ceiling,
    throttled_count,
    not_before,
    told_until,
    asked,
    unreachable_since,
    away,
  } = limiter.state();
  return {
    calls,
    calls_in_flight: in_flight,
    rate,
    ceiling,
    throttled: throttled_count,
    lanes: Object.fromEntries(Object.entries(lanes).map(([lane, { calls: started }]) => [lane, started])),
    not_before: not_before === 0 ? null : not_before,
    told_until: told_until === 0 ? null : told_until,
    asked,
    unreachable_since,
    away,
    key_refused: refusals.keyRefused(),
    key_refused_since: refusals.keyRefusedSince(),
  };
}
