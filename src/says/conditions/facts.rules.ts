import { z } from 'zod';
import type { JobRuns } from '../../daemon/job-runs.rules.ts';
import { amount, bit, count, instant, maybe, never, type Shaped, text } from '../../kernel/values/answer-values.ts';
import type { OptionalPath, RefusalOf } from '../../schedule/offer.rules.ts';
import type { HeldClaims } from '../../trust/hold.rules.ts';
import type { ToldShortList } from '../../trust/short-list.rules.ts';
import type { UnreadableMember } from '../../trust/unreadable.rules.ts';
import type { OperationOutcome } from './outcome.rules.ts';

/* Each fact is declared once, here: the status has them and more. */

/** Facts of a status by which conditions are decided. */
export interface StatusFacts extends StoredFacts {
  /** The newest snapshot, or the last attempt; null if none is configured. */
  readonly snapshot: PublishedFacts | null;
  readonly backup: BackupFacts;
  /** Database into which the mirror is published; null if there is none, or if no daemon runs. */
  readonly database: (DatabaseFacts & { readonly failing_since: number | null }) | null;
  /** False: a daemon runs, but does not answer. Null: none runs. Left out by the daemon itself. */
  readonly daemon_answers?: boolean | null;
  /* The rest is null without a daemon. */
  readonly daemon: LiveFacts | null;
  readonly inbox: InboxFacts | null;
  readonly files: readonly FileFacts[] | null;
  readonly storage: StorageFacts | null;
  readonly jobs: readonly JobRuns[] | null;
}

/** Facts by which conditions are decided at an instant: the status, and the observations of a running daemon or null. */
export interface ConditionFacts extends StatusFacts {
  readonly at: number;
  readonly watched: Watched | null;
  readonly tried: Tried | null;
}

/** Facts of the mirror. */
export interface StoredFacts {
  /** Instant at which every record had been read for the first time; null: not yet. */
  readonly filled_at: number | null;
  readonly wal_bytes: number;
  readonly records: RecordFigures;
  /** Answers that repeatedly could not be used: of a list, or of many records; null if there are none. */
  readonly unusable: { readonly resource: string; readonly failure: string; readonly records: number } | null;
  /** Members of latest answers that are there and cannot be read, the most common first. */
  readonly unreadable: readonly UnreadableMember[];
  readonly subscriptions: readonly DeclaredFacts[];
  /** Products whose images were not confirmed for twelve days, and since when; null if there are none. */
  readonly images_unconfirmed: { readonly products: number; readonly since: number } | null;
  readonly freshness: readonly FreshnessFacts[];
  /** Announced closures: those held back, and 1 if reads did not confirm most of the last hundred. */
  readonly closures: { readonly held: number; readonly mostly_false: 0 | 1 };
  /** Claims that many records make at once, also those accepted less than a day ago. */
  readonly held: readonly HeldClaims[];
  /** Products on sale by their own reads whose dates are answered as not on sale, and since when; null if there are none. */
  readonly contradicted: { readonly products: number; readonly since: number } | null;
  /** Share of checks and orders that found the mirror wrong, over the days that are kept. */
  readonly error_rate: {
    readonly checks: number;
    readonly wrong: number;
    readonly orders: number;
    readonly orders_wrong: number;
    /** Null: there was none yet. */
    readonly rate: number | null;
  };
  /** Optional paths that the service does not have, or that the key may not read (schedule/offer.rules.ts). */
  readonly not_offered: readonly {
    readonly path: OptionalPath;
    readonly since: number;
    readonly refusal: RefusalOf;
    readonly set: string;
  }[];
  /** Lists whose last walk met fewer rows than the service counts, or rows that could not be used. */
  readonly short_lists: readonly ShortListFacts[];
  /** Last results of operations whose failure no other fact shows. */
  readonly outcomes: readonly OperationOutcome[];
}

export const recordFigures = z.object({
  all: count,
  never_fetched: count,
  failing: count,
  /** Failing for two days or more; retried once a day by now. */
  failing_long: count,
  last_read_at: never,
  /** Availability whose answers leave out requested dates, and the number of its products. */
  unanswered: count,
  unanswered_products: count,
});
export type RecordFigures = Shaped<typeof recordFigures>;

/** A pause that the service asked for. */
const askedPause = z.object({
  until: instant,
  /** Instant at which one call may find out whether the pause holds everything; null if it does. */
  next_try_at: never,
});
export type AskedPause = Shaped<typeof askedPause>;

/** A time in which the service did not answer. */
const away = z.object({
  /**
   * `unreachable`: no connection. `silent`: connections without an answer. `unusable`: answers, none of which can be used.
   */
  how: z.enum(['unreachable', 'silent', 'unusable']),
  says: text,
});
export type Away = Shaped<typeof away>;

/** A running daemon's relation to the service. */
export const liveFacts = z.object({
  /** Instant since which the service has been away: unreachable, silent, or without a usable answer. */
  unreachable_since: never,
  away: away.nullable(),
  /** Message of the service if it refuses the key. */
  key_refused: maybe,
  /** Instant of the first refusal; null if the key is accepted. */
  key_refused_since: never,
  /** The whole pause that the service asked for. */
  asked: askedPause.nullable(),
  /** Calls since the start. */
  calls: count,
});
export type LiveFacts = Shaped<typeof liveFacts>;

/** A copy of the mirror, and the failure of the attempts to make it. */
const copy = {
  /** 1: it is missing, or older than two periods. */
  late: bit,
  failure: maybe,
  failing_since: never,
};

/** The copy for readers on other hosts. */
export const publishedFacts = z.object({
  ...copy,
  /** Null: there is none. */
  published_at: never,
});
export type PublishedFacts = Shaped<typeof publishedFacts>;

export const backupFacts = z.object({
  ...copy,
  directory: text,
  /** Instant at which the newest was made; null if there is none. */
  made_at: never,
  /** Instant at which a backup was last restored beside itself as a test; null for never. */
  tried_at: never,
  /** Reason why it could not be restored; null if it could, or if there was no test. */
  tried_failure: maybe,
});
export type BackupFacts = Shaped<typeof backupFacts>;

/** A declared subscription. */
export const declaredFacts = z.object({
  /** Null: the service was never asked. */
  status: maybe,
  /** Null for products_i_sell: only the service knows. */
  covered_products: count.nullable(),
  /** 0: reads find changes that it did not announce, and what it covers is read as often as without it. */
  trusted: bit,
  /** 1: it sends nothing, and could not be reactivated. */
  broken: bit,
  /** 1: the service rejects it, or sending it failed several times in a row. */
  failing: bit,
  /** Instant of the first of three or more deliveries that nobody understood; null if the last ones were understood. */
  not_understood_since: never,
});
export type DeclaredFacts = Shaped<typeof declaredFacts>;

/** Observations of a daemon about the database into which it publishes. */
export const databaseFacts = z.object({
  /** Number of instances that stand by; null if this is the only instance. */
  standbys: count.nullable(),
  /** 1: commits are to wait for another server, and none of the named servers is connected. */
  unsynchronised: bit,
  /**
   * Milliseconds for which a transaction has kept old versions of rows from being removed, as far as this user may see.
   */
  vacuum_held_ms: z.number(),
});
export type DatabaseFacts = Shaped<typeof databaseFacts>;

export interface ShortListFacts extends ToldShortList {
  readonly since: number;
  /** 1: it is accepted as it is, because three lists agree. */
  readonly settled: 0 | 1;
}

export interface InboxFacts {
  readonly waiting: number;
  readonly applied: number;
  readonly superseded: number;
  readonly quarantined: number;
  readonly last_delivery_at: number | null;
  readonly receiver: { readonly failed: number } | null;
}

/** One line of the view `freshness`. */
export const freshnessFacts = z.object({
  resource: text,
  tier: maybe,
  records: count,
  stale: count,
  expired: count,
  target_ms: z.number(),
  met: bit,
  /** 0 where a record was never read; null where there is none. */
  oldest_checked_at: never,
});
export type FreshnessFacts = Shaped<typeof freshnessFacts>;

export const file = z.enum(['mirror', 'inbox']);

/** One of the two files, and the instants at which it was found lost and damaged; null if it was not. */
export const fileFacts = z.object({
  name: file,
  lost_since: never,
  damaged_since: never,
});
export type FileFacts = Shaped<typeof fileFacts>;

/** Reason why nothing can be written now. */
export const writeFacts = z.object({
  kind: z.enum(['disk-full', 'locked']),
  path: text,
  since: instant,
  /** Bytes that must become free before space is no longer low; null if no disk is full. */
  missing_bytes: amount,
});
export const directoryFacts = z.object({
  path: text,
  free_bytes: z.number(),
  /** Free bytes below which bulk reads (lanes fill, weekly and far) pause. */
  low_below_bytes: z.number(),
  low: bit,
});
export const storageFacts = z.object({
  /** Instant since which space has been low; null if it is not. */
  low_since: never,
  /** Reason why nothing can be written now; null if writes work. */
  trouble: writeFacts.nullable(),
  directories: z.array(directoryFacts),
});
export type StorageFacts = Shaped<typeof storageFacts>;

/** Observations of a running daemon about its own progress. Instants are those at which a value was seen first. */
export interface Watched {
  /** Number of records that were never read, and the instant since which it has not fallen. */
  readonly fill: Still<number>;
  /** Newest instant at which anything was read, according to the status, and the number of calls made since then. */
  readonly reads: Still<number | null> & { readonly calls: number };
  /** Number of deliveries processed; null if none waits. */
  readonly settled: Still<number> | null;
  /** Number of deliveries answered 503, and the instant of the last. */
  readonly failed: { readonly count: number; readonly last_at: number | null };
}

/** A figure, and the instant since which it has been the same. */
export interface Still<Value> {
  readonly value: Value;
  readonly since: number;
}

/** Results of a daemon's own tests. */
export interface Tried {
  /**
   * Instant since which no connection to the service could be made while no call was due, and the reason; null if one
   * could.
   */
  readonly unreachable: { readonly since: number; readonly says: string } | null;
  /** Milliseconds by which the service's clock is ahead of ours; null if it sends no time. */
  readonly clock_offset_ms: number | null;
  /**
   * Products that were read after updates announced within hours, none of which showed anything new; null if some did.
   */
  readonly unshown: { readonly products: number; readonly since: number } | null;
  /** Subscriptions that have been silent for longer than is usual for them, and when the first of them last sent. */
  readonly mute: { readonly subscriptions: readonly string[]; readonly since: number } | null;
  /**
   * Rights that readers of the mirror lost since the daemon began, with the commands that restore them; null if none.
   */
  readonly shut_out: { readonly since: number; readonly says: string } | null;
  /**
   * File descriptors in use, and the limit. `used` is null if none is left to count them with. Null if the system does
   * not tell.
   */
  readonly descriptors: { readonly used: number | null; readonly limit: number } | null;
  /** Interfaces that had no room for connections or event streams in the last ten minutes; null if all had. */
  readonly crowded: { readonly since: number; readonly says: string } | null;
  /** Last test of our own public address; null if there was none. */
  readonly public_address: AddressTest | null;
}

export interface AddressTest {
  /** `skipped`: there is nothing to test. */
  readonly result: 'passed' | 'failed' | 'skipped';
  /** True: something answered. */
  readonly answered: boolean;
  readonly message: string;
  /** Instant of the first failure since it last passed; for a passed test, the instant of the test. */
  readonly since: number;
}
