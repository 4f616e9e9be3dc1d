import { z } from 'zod';
import { deadline, isCaller, isOrderId, isSlotTime } from '../../desk/check-question.rules.ts';
import { calendarDate, id, never, notObject, strict, whole } from './values.ts';

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
