import { z } from 'zod';
import { jobRuns } from '../../daemon/job-runs.rules.ts';
import { activeCondition } from '../../says/conditions/decide.rules.ts';
import {
  backupFacts,
  databaseFacts,
  declaredFacts,
  directoryFacts,
  file,
  fileFacts,
  freshnessFacts,
  liveFacts,
  publishedFacts,
  recordFigures,
  storageFacts,
  writeFacts,
} from '../../says/conditions/facts.rules.ts';
import { signal } from '../../says/explain/explain.ts';
import { optionalPaths } from '../../schedule/offer.rules.ts';
import { errorRate, truth } from './checks.ts';
import { heldClaims } from './reports.ts';
import { bit, count, instant, maybe, never, text } from './values.ts';

const freshness = freshnessFacts.extend({ fresh: count });

const subscription = declaredFacts.extend({
  subscription_id: text,
  type: text,
  last_delivery_at: never,
  trust: z.number().nullable(),
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
  records: recordFigures.extend({ quarantined: count }),
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

const live = liveFacts.extend({
  calls_in_flight: count,
  rate: z.number(),
  ceiling: z.number(),
  throttled: count,
  lanes: z.record(text, count),
  not_before: never,
  told_until: never,
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

const storage = storageFacts.extend({
  trouble: writeFacts.extend({ file }).nullable(),
  directories: z.array(directoryFacts.extend({ of: file })),
});

const files = z.array(fileFacts.extend({ path: text, lost: z.enum(['gone', 'replaced']).nullable(), damage: maybe }));

const snapshot = publishedFacts.extend({ path: text, every_ms: z.number(), bytes: count.nullable() });

const backup = backupFacts.extend({ copies: count, newest: maybe, bytes: count.nullable() });

const database = databaseFacts.extend({
  state: count.nullable(),
  published_at: never,
  lag_ms: z.number().nullable(),
  failing_since: never,
  failure: maybe,
  leads: z.object({ name: text, term: count }).nullable(),
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
  conditions: z.array(activeCondition),
});
