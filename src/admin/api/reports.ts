import { z } from 'zod';
import { subjectNames } from '../../domain/evidence/claims.ts';
import { lanes } from '../../domain/schedule/lanes.ts';
import { dateNow, signal } from './checks.ts';
import { count, date, dateText, instant, loose, maybe, never, numeral, text } from './values.ts';

const lane = z.enum(lanes);

export const plan = z.object({
  products: count,
  lines: z.array(z.object({ lane, what: text, records: count, calls_per_day: z.number() })),
  calls_per_day: z.number(),
  rate: z.number().nullable(),
  ceiling: z.number(),
  share_of_ceiling: z.number(),
  sweeps: z.array(z.object({ what: text, calls: z.number(), minutes: z.number() })),
  lanes: z.array(z.object({ lane, wanted: z.number(), got: z.number() })),
  broken: z.array(
    z.object({
      lane: text,
      factor: z
        .number()
        .nullable()
        .meta({ description: 'how many times later than its freshness target; null: never' }),
    }),
  ),
  buys: z.array(z.object({ what: text, calls_per_day: z.number(), outdated: z.number() })),
  interest: z.object({ views: z.number(), viewed: count, greatest: z.number() }).nullable().meta({
    description: 'the views told lately, of how many products, and the share of the weight of the ten most looked at',
  }),
  what_if: z.array(z.object({ change: text, calls_per_day: z.number() })),
});

export const explainedProduct = z.object({ id: numeral(1, 'a product id') });
export const explainedDate = z.object({ date: dateText.optional() });

const record = z.object({
  resource: text,
  edition: text,
  from: date.nullable(),
  to: date.nullable(),
  fetched_at: never,
  fetched_reason: maybe,
  changed_at: never,
  due_at: instant,
  due_reason: text,
  lane: text,
  cadence_ms: z.number(),
  changes_per_day: z.number().nullable(),
  calls_per_day: z.number(),
  weight: z.number(),
  failures: count,
  failed_at: never,
  failure: maybe,
  off_sale_at: never,
  unanswered_at: never,
  left_out: z.array(text),
});

const claims = z.array(
  z.object({
    subject: z.enum(subjectNames),
    edition: text,
    from: date.nullable(),
    to: date.nullable(),
    state: z.enum(['pending', 'held', 'applied']),
    shown: z.number().nullable().meta({ description: 'how much was shown, or the lowest price in minor units' }),
    said: z.number().nullable().meta({ description: 'the same by the last answer' }),
    shown_as: maybe.meta({
      description: 'the value that was shown, such as a time zone, where the claim is about one',
    }),
    said_as: maybe.meta({ description: 'the same by the last answer' }),
    first_at: instant,
    last_at: instant,
    since: instant,
    again_at: never,
  }),
);

export const explanation = z.object({
  product_id: z.int(),
  title: maybe,
  sale_status: text,
  sellable: z.boolean(),
  disabled_reason: maybe,
  expected_reopening: maybe,
  dates_off_at: never,
  throttled_until: never,
  withdrawn_at: never,
  first_seen_at: instant,
  timezone: maybe,
  today: date,
  category: maybe,
  weight: z.number(),
  weighed: z.object({
    category: z.number(),
    interest: z.number(),
    list_place: z.number().nullable(),
    views: z.number().meta({ description: 'told lately: seen, checked, and ten for each ticket sold' }),
    limited: z.boolean().meta({ description: 'more was told than counts of one product' }),
  }),
  images: z.object({ shown: count, verified_at: never, hidden_from: never }),
  records: z.array(record),
  claims,
  unreadable: z.array(
    z.object({
      resource: text,
      member: text,
      edition: text,
      from: date.nullable(),
      to: date.nullable(),
      example: text,
      since: instant,
      kept: z.boolean().meta({ description: 'the answer counts as a failed read' }),
    }),
  ),
  covered: z.boolean(),
  announced_by: z.array(z.object({ subscription_id: text, trust: z.number().nullable(), trusted: z.boolean() })),
  list_signal: signal.extend({ entry_changed_at: never }),
  notices: z.array(z.object({ subscription_id: text, change_type: text, received_at: instant })),
  closures: z.array(
    z.object({
      notified_at: instant,
      state: z.enum(['waits for its read', 'off sale until read', 'confirmed', 'undone', 'over']),
      reason: maybe,
      expected_reopening: maybe,
      alternative_product_id: z.int().nullable(),
      confirmed_at: never,
      ended_at: never,
    }),
  ),
  calls_per_day: z.number(),
});

export const dateExplanation = z.object({
  product_id: z.int(),
  date,
  now: z.array(dateNow),
  history: z.array(
    z.object({
      currency: text,
      from: never,
      to: never,
      state: z.enum(['available', 'sold_out', 'not_on_sale']).nullable(),
      lowest_price: z.number().nullable(),
      reason: maybe,
    }),
  ),
  claims,
});

export const heldClaims = z.array(
  z.object({
    subject: z.enum(subjectNames),
    since: instant,
    state: z.enum(['held', 'asking', 'taken-back', 'reported', 'ended']),
    able: count,
    claiming: count,
    decision: z.enum(['approved', 'rejected']).nullable(),
    decided_until: never,
    ended_at: never,
    likeness: maybe.meta({
      description: 'how the answers are alike: the ratio of their prices, or their common value',
    }),
    examples: z.array(
      z.object({
        product_id: z.int(),
        title: maybe,
        edition: text,
        part: count,
        shown: z.number().nullable(),
        said: z.number().nullable(),
        shown_as: maybe,
        said_as: maybe,
      }),
    ),
  }),
);

export const held = z.object({ held: heldClaims });

export const heldKind = loose({
  kind: z.enum(['less', 'price', ...subjectNames], `one of less, price, ${subjectNames.join(', ')}`),
});

export const heldDecision = z.object({ subjects: z.array(z.enum(subjectNames)) });

export const doctor = z.array(
  z.object({ name: text, verdict: z.enum(['ok', 'wrong', 'skipped']), found: text, advice: maybe }),
);

const profile = z.record(text, z.unknown());
export const probe = z.object({
  unusable: z.object({ code: text, message: text }).nullable(),
  cut_short: maybe,
  calls: count,
  findings: z.array(
    z.object({
      name: text,
      believed: text,
      seen: text,
      verdict: z.enum(['as believed', 'otherwise', 'cannot tell']),
      means: text,
      profile: profile.nullable(),
    }),
  ),
  profile,
  recorded: z
    .array(
      z.object({
        resource: text,
        product_id: z.int().nullable(),
        recorded_on: date,
        question: z.record(text, z.unknown()),
        status: z.int(),
        body: z.unknown(),
      }),
    )
    .meta({ description: 'the recorded answers, anonymised' }),
});
