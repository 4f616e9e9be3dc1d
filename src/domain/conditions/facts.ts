import type { ToldHold } from '../evidence/words.ts';
import type { WriteTrouble } from '../files/write-trouble.ts';
import type { ToldShortList } from '../sale/short-list.ts';
import type { JobRuns } from '../schedule/job-runs.ts';

/** What conditions are decided by: the status, and what only a running daemon has watched. */
export interface ConditionFacts {
  readonly filled_at: number | null;
  readonly wal_bytes: number;
  readonly records: {
    readonly all: number;
    readonly never_fetched: number;
    readonly failing: number;
    /** Failing for days: tried once a day by now. */
    readonly failing_long: number;
    readonly last_read_at: number | null;
    /** Availability whose answers leave out dates that were asked for. */
    readonly unanswered: number;
  };
  /** Answers that came again and again and could not be used; null: there are none. */
  readonly unusable: { readonly resource: string; readonly failure: string; readonly records: number } | null;
  readonly subscriptions: readonly { readonly status: string | null }[];
  readonly freshness: readonly FreshnessFacts[];
  /** What many records claim at once. */
  readonly held: readonly ToldHold[];
  readonly contradicted: { readonly products: number; readonly since: number } | null;
  readonly error_rate: {
    readonly checks: number;
    readonly wrong: number;
    readonly orders: number;
    readonly orders_wrong: number;
    readonly rate: number | null;
  };
  /** Lists that are incomplete. */
  readonly short_lists: readonly ShortListFacts[];
  /** What parts of the daemon have noted at work. */
  readonly alarms: readonly { readonly kind: string; readonly raised_at: number; readonly products: number }[];
  /** Of the newest or the last attempted; `failure` null: it did not fail, or no daemon runs. */
  readonly snapshot: (Copy & { readonly published_at: number | null }) | null;
  readonly backup: Copy & { readonly made_at: number | null; readonly directory: string };
  /** What is published into; null: nothing, or no daemon runs. */
  readonly database: DatabaseFacts | null;
  /** False: a daemon runs, but does not answer; null: none runs. Left out by the daemon itself. */
  readonly daemon_answers?: boolean | null;
  /* The rest is null without a daemon. */
  readonly daemon: {
    readonly unreachable_since: number | null;
    readonly away: { readonly how: 'unreachable' | 'silent' | 'unusable'; readonly says: string } | null;
    readonly key_refused: string | null;
    readonly asked: { readonly until: number; readonly next_try_at: number | null } | null;
    readonly calls: number;
  } | null;
  readonly inbox: InboxFacts | null;
  readonly storage: StorageFacts | null;
  readonly jobs: readonly JobRuns[] | null;
  readonly watched: Watched | null;
  readonly tried: Tried | null;
}

/** What a daemon watches of the database that it publishes into. */
export interface DatabaseFacts {
  /** Instances that stand by; null: this is the only one. */
  readonly standbys: number | null;
  /** Whether commits are to wait for another server, and none of those that were named is there. */
  readonly unsynchronised: 0 | 1;
  /** How long a transaction has been keeping old versions of rows from being removed, as far as this user may see. */
  readonly vacuum_held_ms: number;
}

export interface ShortListFacts extends ToldShortList {
  readonly since: number;
  /** 1: it is accepted as it is, because three lists agree. */
  readonly settled: 0 | 1;
}

interface InboxFacts {
  readonly waiting: number;
  readonly applied: number;
  readonly superseded: number;
  readonly quarantined: number;
  readonly last_delivery_at: number | null;
  readonly receiver: { readonly failed: number } | null;
}

export interface FreshnessFacts {
  readonly resource: string;
  readonly tier: string | null;
  readonly records: number;
  readonly stale: number;
  readonly expired: number;
  readonly target_ms: number;
  readonly met: 0 | 1;
  readonly oldest_checked_at: number | null;
}

interface Copy {
  readonly late: 0 | 1;
  readonly failure: string | null;
}

export interface StorageFacts {
  readonly trouble: {
    readonly kind: WriteTrouble;
    readonly path: string;
    readonly since: number;
    readonly missing_bytes: number | null;
  } | null;
  readonly directories: readonly {
    readonly path: string;
    readonly free_bytes: number;
    readonly low_below_bytes: number;
    readonly low: 0 | 1;
  }[];
}

/** What a daemon knows of its own progress by having looked before. Instants are when it was seen first. */
export interface Watched {
  /** Records that were never read, and since when they have not become fewer. */
  readonly fill: Still<number>;
  /** The newest instant at which anything was read, as far as the status tells; and how many calls have been made since then. */
  readonly reads: Still<number | null> & { readonly calls: number };
  /** Deliveries settled; null: none waits. */
  readonly settled: Still<number> | null;
  /** Deliveries answered 503, and when the last was. */
  readonly failed: { readonly count: number; readonly last_at: number | null };
}

/** A figure, and since when it has been the same. */
export interface Still<Value> {
  readonly value: Value;
  readonly since: number;
}

/** What a daemon has tried for itself. */
export interface Tried {
  /** Since when no connection to the service could be made although no call was due, and why; null: one could. */
  readonly unreachable: { readonly since: number; readonly says: string } | null;
  /** How far the service's clock is ahead of ours; null: it does not say. */
  readonly clock_offset_ms: number | null;
  /** Products of which updates were announced within hours, were read since, and none showed anything new; null: some did. */
  readonly unshown: { readonly products: number; readonly since: number } | null;
  /** Subscriptions that have fallen silent against their quirk, and when the first of them last sent. */
  readonly mute: { readonly subscriptions: readonly string[]; readonly since: number } | null;
  /** Rights that readers of the mirror lost since the daemon began, with the commands that restore them; null: none. */
  readonly shut_out: { readonly since: number; readonly says: string } | null;
  /** File descriptors in use, of how many; `used` null: not one is left to count them with. Null: the system does not tell. */
  readonly descriptors: { readonly used: number | null; readonly limit: number } | null;
  /** The last test of our own public address; null: none was made. */
  readonly public_address: AddressTest | null;
}

export interface AddressTest {
  /** `skipped`: there is nothing to test. */
  readonly result: 'passed' | 'failed' | 'skipped';
  /** Whether anybody answered. */
  readonly answered: boolean;
  readonly message: string;
  /** When it failed first without having passed since; of one that passed, when it was made. */
  readonly since: number;
}
