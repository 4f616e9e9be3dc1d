import { z } from 'zod';
import { checkReasons } from '../../domain/checks/check.ts';
import { deadline, isCaller, isOrderId, isSlotTime } from '../../domain/checks/check-question.ts';
import {
  bit,
  calendarDate,
  count,
  date,
  id,
  instant,
  maybe,
  money,
  never,
  notObject,
  strict,
  text,
  whole,
} from './values.ts';

const most = { variants: 50, count: 999, quantity: 99_999 } as const;

const slotTime = z
  .string('HH:MM or whole_day')
  .refine(isSlotTime, 'HH:MM or whole_day')
  .nullable()
  .default(null)
  .meta({ description: "HH:MM, whole_day, or the service's own word; null: any time, or not told" });

const wantedVariant = strict(
  {
    variant_id: whole(1, Number.MAX_SAFE_INTEGER, 'a variant id'),
    count: whole(1, most.count, `a number of tickets from 1 to ${most.count}`),
  },
  '{"variant_id": …, "count": …}',
);

const wantedVariants = z
  .array(wantedVariant, `a list of at most ${most.variants}`)
  .max(most.variants, `a list of at most ${most.variants}`)
  .superRefine((variants, context) => {
    const seen = new Set<number>();
    for (const [index, { variant_id }] of variants.entries()) {
      if (seen.has(variant_id))
        context.addIssue({
          code: 'custom',
          path: [index],
          params: { said: true },
          message: `variant ${variant_id} is given twice`,
        });
      seen.add(variant_id);
    }
  })
  .default([])
  .meta({ description: 'empty: any one ticket' });

export const caller = z
  .string('one to a hundred characters')
  .refine(isCaller, 'one to a hundred characters')
  .nullable()
  .default(null)
  .meta({ description: "a name of the storefront's choice for whoever asks" });

export const checkQuestion = strict(
  {
    product_id: id,
    date: calendarDate,
    time: slotTime,
    variants: wantedVariants,
    currency: z
      .string('a currency code, like EUR')
      .nullable()
      .default(null)
      .meta({ description: 'null: that of expect_price, or the first of service.currencies' }),
    expect_price: strict(
      {
        amount: whole(0, Number.MAX_SAFE_INTEGER, 'an integer in minor units'),
        currency: z.string('a currency code, like EUR'),
      },
      '{"amount": …, "currency": …}',
    )
      .nullable()
      .default(null)
      .meta({ description: 'in minor units: the total of all variants, or one ticket where none is named' }),
    deadline_ms: whole(deadline.least, deadline.most, `${deadline.least} to ${deadline.most} milliseconds`)
      .default(deadline.usual)
      .meta({ description: 'how long the shopper waits' }),
    caller,
  },
  notObject,
);

const checkedDate = {
  sellable: z.boolean(),
  state: z.enum(['available', 'sold_out', 'not_on_sale']),
  time: maybe,
  price: money.nullable(),
  max_tickets_per_order: z.number().nullable(),
  slots: z.array(
    z.object({
      time: text,
      availability: z.number().nullable(),
      variants: z.array(
        z.object({
          variant_id: z.int(),
          max_tickets: z.number().nullable(),
          retail_price: z.number().nullable(),
        }),
      ),
    }),
  ),
};

export const checkAnswer = z.object({
  verdict: z.enum(['holds', 'changed', 'gone', 'unknown']),
  reasons: z.array(z.enum(checkReasons)),
  now: z
    .object({ ...checkedDate, read_at: instant })
    .nullable()
    .meta({ description: 'what the service says now; null: it was not asked, or did not answer' }),
  mirror: z
    .object({ ...checkedDate, checked_at: instant, stale: z.boolean() })
    .nullable()
    .meta({ description: 'what the mirror showed before; null: it had no row' }),
  alternatives: z.array(
    z.object({
      kind: z.enum(['time', 'date', 'product']),
      product_id: z.int(),
      date,
      time: maybe,
      price: money.nullable(),
      checked_at: instant,
    }),
  ),
});

export const orderReport = strict(
  {
    product_id: id,
    date: calendarDate,
    time: slotTime,
    quantity: whole(1, most.quantity, `a number of tickets from 1 to ${most.quantity}`),
    outcome: z.enum(['confirmed', 'failed'], 'confirmed or failed'),
    // Codes come from the service and go into the log, so no other text may pass as one.
    code: z
      .string("the service's code, like variants_not_available")
      .regex(/^[\w.-]{1,100}$/, "the service's code, like variants_not_available")
      .nullable()
      .default(null),
    order_id: z
      .string('an id of one to two hundred characters')
      .refine(isOrderId, 'an id of one to two hundred characters')
      .nullable()
      .default(null)
      .meta({
        description: 'your own id of one attempt at an order, which then counts once; null: each request counts',
      }),
  },
  notObject,
);

export const orderNoted = z.object({
  repeated: z.boolean().meta({ description: 'true: this id was already counted, and nothing was done' }),
  due: z.int().meta({ description: 'number of records that this made due; 0: they were due already' }),
  mirror: z
    .enum(['right', 'said-available', 'said-sold-out', 'said-price', 'unknown'])
    .nullable()
    .meta({ description: 'whether the mirror was right about what was ordered; null: the order does not show that' }),
});

const reports = { checks: z.int(), wrong: z.int(), orders: z.int(), orders_wrong: z.int() };
const rate = z.number().nullable();

/** The mirror's error rate, as in the status. */
export const errorRate = z.object({
  ...reports,
  rate,
  unknown: z.int(),
  unanswered: z.int(),
  by_tier: z.array(z.object({ ...reports, tier: z.enum(['near', 'middle', 'far']), rate })),
  worst: z.array(z.object({ ...reports, product_id: z.int(), rate })),
});

const outdated = { audited: z.int(), outdated: z.int(), share: rate, margin: rate };

/** The share of outdated data that shoppers see, estimated by random reads, as in the status. */
export const truth = z.object({
  ...outdated,
  from_at: never,
  to_at: never,
  by_tier: z.array(z.object({ ...outdated, tier: z.enum(['near', 'middle', 'far']) })),
});

/** The value of the product list as a signal for changes of dates. */
export const signal = z.object({
  shows: z.number().nullable().meta({ description: 'share of the changes that it shows; null: too few to tell' }),
  wrong: z.number().nullable().meta({ description: 'share of its signals behind which nothing had changed' }),
  changes: count.meta({ description: 'changes that reads found, those that still count' }),
  signals: count,
});

/** One date as the views show it. */
export const dateNow = z.object({
  currency: text,
  state: text,
  available: bit,
  lowest_price: z.number().nullable(),
  checked_at: instant,
  stale: bit,
});
