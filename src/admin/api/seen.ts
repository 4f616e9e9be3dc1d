import { z } from 'zod';
import { caller } from './checks.ts';
import { calendarDate, count, id, notObject, strict, whole } from './values.ts';

const most = { products: 500, count: 10_000 } as const;

const seenProduct = strict(
  {
    product_id: id,
    date: calendarDate.nullable().default(null).meta({ description: 'the date looked at; null: none in particular' }),
    count: whole(1, most.count, `a number of views from 1 to ${most.count}`).default(1),
  },
  '{"product_id": …, "date": …, "count": …}',
);

export const seenReport = strict(
  {
    seen: z
      .array(seenProduct, `a list of one to ${most.products}`)
      .min(1, `a list of one to ${most.products}`)
      .max(most.products, `a list of one to ${most.products}`),
    caller,
  },
  notObject,
);

export const seenCounted = z.object({
  counted: count.meta({ description: 'number of views' }),
  ignored: count.meta({
    description: 'views of products that are not mirrored, and of callers that told more than 30 times in a minute',
  }),
});
