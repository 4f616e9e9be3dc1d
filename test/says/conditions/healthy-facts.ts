import { notFailing } from '../../../src/files/failing.rules.ts';
import type { ConditionFacts } from '../../../src/says/conditions/facts.rules.ts';

export const now = Date.parse('2026-11-21T12:00:00Z');
const minute = 60_000;

export const emptyInbox = {
  waiting: 0,
  applied: 0,
  superseded: 0,
  quarantined: 0,
  last_delivery_at: null,
  receiver: null,
};

/** A mirror of which nothing is wrong. */
export const healthy: ConditionFacts = {
  at: now,
  filled_at: 0,
  wal_bytes: 0,
  records: {
    all: 12,
    never_fetched: 0,
    failing: 0,
    failing_long: 0,
    last_read_at: now,
    unanswered: 0,
    unanswered_products: 0,
  },
  unusable: null,
  unreadable: [],
  subscriptions: [],
  images_unconfirmed: null,
  freshness: [
    {
      resource: 'availability',
      tier: 'near',
      records: 12,
      stale: 0,
      expired: 0,
      oldest_checked_at: null,
      target_ms: 360 * minute,
      met: 1,
    },
  ],
  not_offered: [],
  short_lists: [],
  closures: { held: 0, mostly_false: 0 },
  held: [],
  contradicted: null,
  error_rate: { checks: 100, wrong: 1, orders: 0, orders_wrong: 0, rate: 0.01 },
  outcomes: [],
  snapshot: null,
  backup: { late: 0, ...notFailing, made_at: now, directory: '/b', tried_at: null, tried_failure: null },
  database: null,
  daemon: { unreachable_since: null, away: null, key_refused: null, key_refused_since: null, asked: null, calls: 0 },
  inbox: emptyInbox,
  watched: null,
  tried: null,
  files: [],
  storage: { trouble: null, directories: [], low_since: null },
  jobs: [],
};
