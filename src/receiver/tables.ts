import type { Instant } from '../kernel/clock.ts';
import type { InstantRules } from '../kernel/sqlite/instants.ts';
import { queryBuilder, type WithDefaults } from '../kernel/sqlite/statements.ts';

/* The tables of schema/inbox/ as Kysely types. A test keeps the two equal. Booleans are 0 or 1. */

type Bit = 0 | 1;

export type DeliveryState = 'waiting' | 'applied' | 'superseded' | 'quarantined';

/** The mirror that the inbox expects. */
export type MirrorState = 'none' | 'any' | 'known';

export interface InboxTables {
  inbox: {
    inbox_id: 1;
    pair_id: string;
    stopped_at: Instant | null;
    applied: number;
    superseded: number;
    quarantined: number;
    skipped_numbers: number;
    heartbeat_at: Instant | null;
    master_fingerprint: string | null;
    stored_bytes: number;
    bodies_gone: number;
    mirror_state: MirrorState;
    mirror_inode: string | null;
    feed_ceiling: number;
    feed_newest: number;
    watched_since: Instant | null;
  };
  delivery: {
    delivery_id: number;
    received_at: Instant;
    subscription_id: string;
    epoch: number;
    peer: string;
    content_type: string | null;
    length: number;
    truncated: Bit;
    sha256: string;
    state: DeliveryState;
    reason: string | null;
    settled_at: Instant | null;
    replay_of: number | null;
    body: Buffer;
    coding: Bit | null;
  };
  last_delivery: { subscription_id: string; received_at: Instant };
  callback_epoch: {
    subscription_id: string;
    epoch: number;
    begun_at: Instant;
    announced_at: Instant | null;
    until: Instant | null;
  };
  machine_clock: {
    clock_id: 1;
    boot_id: string | null;
    booted_at: Instant;
    confirmed: Bit;
    doubted_at: Instant | null;
  };
  condition_period: {
    period_id: number;
    code: string;
    began_at: Instant;
    ended_at: Instant | null;
    says: string;
    acknowledged_at: Instant | null;
    acknowledged: string | null;
  };
  told_order: { order_number: number; id_sha256: string; contents_sha256: string; told_at: Instant };
  fruitless_search: { day: number; words: string; searches: number };
}

/** Columns that an insert may leave out: they have a default, or the next number. */
interface Defaulted {
  inbox:
    | 'applied'
    | 'superseded'
    | 'quarantined'
    | 'skipped_numbers'
    | 'stored_bytes'
    | 'bodies_gone'
    | 'mirror_state'
    | 'feed_ceiling'
    | 'feed_newest';
  delivery: 'delivery_id' | 'state';
  condition_period: 'period_id';
}

/** SQLite's own table: the highest number that each AUTOINCREMENT has used. */
interface Numbering {
  sqlite_sequence: { name: 'delivery'; seq: number };
}

export type InboxSchema = WithDefaults<InboxTables, Defaulted> & Numbering;

/** The builder of the inbox's statements. */
export const query = queryBuilder<InboxSchema>();

/** The repair rule for each instant of the inbox that a wrong clock has written. */
export const inboxInstants: InstantRules = {
  inbox: {
    stopped_at: 'now',
    heartbeat_at: 'now',
    watched_since: 'now',
  },
  delivery: { received_at: 'now', settled_at: 'now' },
  last_delivery: { received_at: 'now' },
  told_order: { told_at: 'now' },
  fruitless_search: { day: 'day' },
  condition_period: { began_at: 'now', ended_at: 'now', acknowledged_at: 'now' },
  callback_epoch: { begun_at: 'now', announced_at: 'now', until: 'ahead' },
  machine_clock: {
    booted_at: { leave: 'believed only within the same boot, and judged like every clock' },
    doubted_at: { leave: 'the end of a doubt that lies ahead keeps things from being forgotten, for an hour at most' },
  },
};
