import { z } from 'zod';
import { resyncCost, resyncResources } from '../../cycle/request-resync.ts';
import { count, date, dateText, flag, instant, loose, maybe, never, numeral, text } from './values.ts';

const limit = dateText.nullable().default(null);

export const resyncRequest = loose({
  resources: z
    .array(z.enum(resyncResources, `one of ${resyncResources.join(', ')}`), 'a list of resources')
    .min(1, 'at least one resource'),
  product_ids: z.array(numeral(1, 'a product id'), 'a list of product ids').default([]),
  from: limit,
  to: limit,
  dry_run: flag,
});

export const resyncStarted = z.object({
  job_id: z.int().nullable().meta({ description: 'null: a dry run' }),
  resumed: z.boolean().meta({ description: 'false: a daemon makes a new job of each request' }),
  found: z.array(z.int()).meta({ description: 'products that were not mirrored, and that the service has' }),
  ...resyncCost.shape,
});

export const jobAsked = z.object({ id: text.meta({ description: 'the job_id of a resync' }) });
export const job = z.object({
  job_id: z.int(),
  scope: text.optional(),
  requested_at: instant,
  records: count,
  left: count,
  failed: count,
  finished_at: never,
  next_due_at: never,
});

/** Parsed by change-stream.ts, which refuses each invalid value with its own code. */
export const changesAsked = z.object({
  after: text.optional().meta({ description: 'the seq of the last change seen; default: the beginning of the feed' }),
  feed: text.optional().meta({ description: 'the feed that came with the cursor' }),
  limit: text.optional().meta({ description: 'from 1 to 1000; 100 where it is left out' }),
});

export const changes = z.object({
  changes: z.array(
    z.object({
      seq: z.int(),
      at: instant,
      product_id: z.int(),
      kind: text,
      language: maybe,
      date: date.nullable(),
      detail: z.unknown(),
    }),
  ),
  next: z.int(),
  floor: z.int(),
  newest: z.int(),
  feed: maybe,
});
