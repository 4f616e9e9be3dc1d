import { z } from 'zod';
import { changeTypes } from '../../domain/push/subscription.ts';
import { count, flag, loose, maybe, never, numeral, text } from './values.ts';

const named = z.string('the id of a declaration or of one of its parts').max(120, 'an id of at most 120 characters');
export const oneOrAll = loose({ subscription_id: named.nullable().default(null) });
export const one = loose({ subscription_id: named });
export const applied = loose({ dry_run: flag });

const type = z.enum(['product_ids', 'experience_ids', 'products_i_sell']);
const entity_ids = z.array(z.int()).nullable();

export const subscriptionList = z.object({
  subscriptions: z.array(
    z.object({
      subscription_id: text,
      type,
      covered_products: count.nullable(),
      last_delivery_at: never,
      trust: z.number().nullable(),
      checked_at: never,
      put_at: never,
      failures: count,
      declared_id: maybe,
      entities: count.nullable(),
      status: maybe,
      failure: maybe,
      not_before: never,
      differences: z.array(text),
    }),
  ),
  waiting: z.array(text),
  uncovered: z.object({ count, products: z.array(z.object({ product_id: z.int(), title: maybe })) }),
});

export const comparisons = z.array(
  z.object({
    subscription_id: text,
    declared: z
      .object({
        subscription_id: text,
        declared_id: text,
        type,
        entity_ids,
        change_types: z.array(z.enum(changeTypes)),
      })
      .nullable(),
    service: z
      .object({
        held_type: maybe,
        entity_ids,
        change_types: z.array(text).nullable(),
        status: maybe,
        checked_at: never,
      })
      .nullable(),
    differences: z.array(text),
    failure: maybe,
    last_attempt: maybe,
  }),
);

export const applications = z.array(
  z.object({
    subscription_id: text,
    action: z.enum(['create', 'update', 'none']),
    differences: z.array(text),
    request: z.record(text, z.unknown()).nullable(),
    done: z.boolean(),
    message: maybe,
  }),
);

export const attempts = z.array(z.object({ subscription_id: text, done: z.boolean(), message: maybe }));

export const replayed = loose({ since: numeral(0, 'epoch milliseconds') });
export const replay = z.object({ deliveries: count });
