import { z } from 'zod';
import { count, maybe, never, text } from './values.ts';

export const reload = z.object({
  reloads: count.meta({ description: 'times that another configuration took over since the start' }),
  asked_at: never.meta({ description: 'of the last reload; null: there was none' }),
  changed: z.array(text).meta({ description: 'keys, and secrets by name, that it changed' }),
  refused: z
    .object({
      exit_code: z.number(),
      message: text,
      details: z.array(text),
      hint: maybe,
    })
    .nullable()
    .meta({ description: 'why the old configuration stays; null: it does not' }),
});
