import { z } from 'zod';
import { activeCondition } from '../../says/conditions/decide.rules.ts';
import { instant, maybe, never, numeral, strict, text } from './values.ts';

export const conditions = z.object({ conditions: z.array(activeCondition) });

export const periodsAsked = z.object({ from: numeral(0, 'an instant in epoch milliseconds').default(0) });

export const conditionPeriods = z.object({
  conditions: z.array(activeCondition),
  periods: z.array(
    z.object({
      period_id: z.int(),
      code: text,
      began_at: instant,
      ended_at: never.meta({ description: 'null: it still holds' }),
      says: text.meta({ description: 'when it was shown first' }),
      acknowledged_at: never,
      acknowledged: maybe.meta({ description: 'why, until it ends' }),
    }),
  ),
});

export const conditionNamed = z.object({ code: text.meta({ description: 'the code of a condition that holds' }) });
export const acknowledgement = strict(
  {
    because: z
      .string('why, in 1 to 500 characters')
      .trim()
      .min(1, 'why, in 1 to 500 characters')
      .max(500, 'why, in 1 to 500 characters'),
  },
  'a JSON object with because',
);
