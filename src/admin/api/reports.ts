import { z } from 'zod';
import { subjectNames } from '../../trust/claims.rules.ts';
import { count, dateText, instant, loose, maybe, never, numeral, text } from './values.ts';

export const explainedProduct = z.object({ id: numeral(1, 'a product id') });
export const explainedDate = z.object({ date: dateText.optional() });

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
