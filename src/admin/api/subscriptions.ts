import { z } from 'zod';
import { attempt } from '../../push/subscription.ask.ts';
import { applied as application, comparison } from '../../push/subscriptions.ts';
import { count, flag, loose, maybe, never, numeral, text } from './values.ts';

const named = z.string('the id of a declaration or of one of its parts').max(120, 'an id of at most 120 characters');
export const oneOrAll = loose({ subscription_id: named.nullable().default(null) });
export const one = loose({ subscription_id: named });
export const applied = loose({ dry_run: flag });

const type = z.enum(['product_ids', 'experience_ids', 'products_i_sell']);

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

export const comparisons = z.array(comparison);
export const applications = z.array(application);
export const attempts = z.array(attempt);

export const replayed = loose({ since: numeral(0, 'epoch milliseconds') });
export const replay = z.object({ deliveries: count });
