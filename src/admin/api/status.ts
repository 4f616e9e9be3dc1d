import { z } from 'zod';
import { jobRuns } from '../../domain/schedule/job-runs.ts';
import { optionalPaths } from '../../domain/schedule/offer.ts';
import { signal } from '../../sync/reports/explain.ts';
import { errorRate, truth } from './checks.ts';
import { condition } from './conditions.ts';
import { heldClaims } from './reports.ts';
import { bit, count, instant, maybe, never, text } from './values.ts';

const freshness = z.object({
  resource: text,
  tier: maybe,
  records: count,
  fresh: count,
  stale: count,
  expired: count,
  oldest_checked_at: never,
  target_ms: z.number(),
  met: bit,
});

const subscription = z.object({
  subscription_id: text,
  type: text,
  status: maybe,
  covered_products: count.nullable(),
  last_delivery_at: never,
  trust: z.number().nullable(),
  trusted: bit,
  broken: bit,
  failing: bit,
  not_understood_since: never,
});

/** The mirror's part of the status. */
const mirror = {
  as_of: instant,
  path: text,
  file_bytes: count,
  wal_bytes: count,
  contract_version: z.int(),
  schema_version: z.int(),
  written_by: text,
  filled_at: never,
  products: z.object({ visible: count, sellable: count, withdrawn: count }),
  bookable: z.object({
    currency: maybe,
    days: count,
    earlier: z.object({ counted_at: instant, sellable: count, days: count }).nullable(),
  }),
  last_hour: z.object({
    changes: count,
    products: count,
    kinds: z.array(z.object({ kind: text, changes: count })),
    prices_by_rate: count,
    turnover: z.object({
      added: count,
      returned: count,
      withdrawn: count,
      closed: count,
      reopened: count,
      first_filled: count,
    }),
  }),
  images: count,
  oldest_image_at: never,
  images_unconfirmed: z.object({ products: count, since: instant }).nullable(),
  unconfirmed_images: z.array(
    z.object({ product_id: z.int(), images: count, verified_at: instant, hidden_from: instant }),
  ),
  records: z.object({
    all: count,
    never_fetched: count,
    failing: count,
    quarantined: count,
    failing_long: count,
    last_read_at: never,
    unanswered: count,
    unanswered_products: count,
  }),
  unusable: z.object({ resource: text, failure: text, records: count }).nullable(),
  unreadable: z.array(
    z.object({
      resource: text,
      member: text,
      records: count,
      kept: count.meta({ description: 'those whose answers count as failed reads' }),
      able: count,
      example: text,
      id: z.int().meta({ description: 'the product, experience or tag of the example' }),
      since: instant,
    }),
  ),
  failures: z.array(z.object({ resource: text, failure: text, records: count })),
  freshness: z.array(freshness),
  held: heldClaims,
  contradicted: z.object({ products: count, since: instant }).nullable(),
  closures: z.object({ unconfirmed: count, held: count, mostly_false: bit }),
  subscriptions: z.array(subscription),
  gaps: z.array(z.object({ subscription_id: maybe, from_at: instant, to_at: never, products: count })),
  error_rate: errorRate,
  truth,
  list_signal: z.object({ near: signal, far: signal, walked_every_ms: z.number().nullable() }),
  not_offered: z.array(
    z.object({
      path: z.enum(optionalPaths),
      since: instant,
      asked_at: instant,
      refusal: z.enum(['path', 'key']),
      set: text,
    }),
  ),
  short_lists: z.array(
    z.object({
      resource: text,
      edition: text,
      primary: bit,
      since: instant,
      walked_at: instant,
      counted: count,
      met: count,
      unusable: count,
      unusable_example: maybe,
      settled: bit,
    }),
  ),
  outcomes: z.array(
    z.object({
      operation: text,
      last_ok_at: never,
      failed_at: never,
      noticed_at: never,
      affected: count,
      detail: maybe,
    }),
  ),
};

const live = z.object({
  calls: count,
  calls_in_flight: count,
  rate: z.number(),
  ceiling: z.number(),
  throttled: count,
  lanes: z.record(text, count),
  not_before: never,
  told_until: never,
  asked: z.object({ until: instant, next_try_at: never }).nullable(),
  unreachable_since: never,
  away: z.object({ how: z.enum(['unreachable', 'silent', 'unusable']), says: text }).nullable(),
  key_refused: maybe,
  key_refused_since: never,
});

const refused = z.object({ path: count, method: count, address: count, token: count, dropped: count });
const inbox = z.object({
  received: count,
  waiting: count,
  applied: count,
  superseded: count,
  quarantined: count,
  last_delivery_at: never,
  stored_bytes: count,
  budget_bytes: count,
  bodies_gone: count,
  receiver: z
    .object({
      address: text,
      stored: count,
      truncated: count,
      failed: count,
      unfinished: count,
      crowded: count,
      refused,
    })
    .nullable(),
});

const file = z.enum(['mirror', 'inbox']);
const storage = z.object({
  trouble: z
    .object({
      kind: z.enum(['disk-full', 'locked']),
      file,
      path: text,
      since: instant,
      missing_bytes: z.number().nullable(),
    })
    .nullable(),
  directories: z.array(
    z.object({ of: file, path: text, free_bytes: z.number(), low_below_bytes: z.number(), low: bit }),
  ),
  low_since: never,
});

const files = z.array(
  z.object({
    name: file,
    path: text,
    lost: z.enum(['gone', 'replaced']).nullable(),
    damage: maybe,
    lost_since: never,
    damaged_since: never,
  }),
);

const snapshot = z.object({
  path: text,
  every_ms: z.number(),
  published_at: never,
  bytes: count.nullable(),
  late: bit,
  failure: maybe,
  failing_since: never,
});

const backup = z.object({
  directory: text,
  copies: count,
  newest: maybe,
  made_at: never,
  bytes: count.nullable(),
  late: bit,
  failure: maybe,
  failing_since: never,
  tried_at: never,
  tried_failure: maybe,
});

const database = z.object({
  state: count.nullable(),
  published_at: never,
  lag_ms: z.number().nullable(),
  failing_since: never,
  failure: maybe,
  leads: z.object({ name: text, term: count }).nullable(),
  standbys: count.nullable(),
  unsynchronised: bit,
  vacuum_held_ms: z.number(),
});

export const status = z.object({
  ...mirror,
  daemon: live,
  inbox,
  files,
  storage,
  storefront: z.object({ listen: text }).nullable(),
  jobs: z.array(jobRuns),
  snapshot: snapshot.nullable(),
  backup,
  database: database.nullable(),
  conditions: z.array(condition),
});
