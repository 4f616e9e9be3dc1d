import { z } from 'zod';
import { instant, loose, numeral, text } from './values.ts';

export const rowsAsked = loose({
  origin: z.string('the origin of a copy').meta({ description: 'what the numbers of the copy belong to' }),
  after: numeral(0, 'the number of the copy'),
  limit: numeral(1, 'from 1 to 1000').pipe(z.int().max(1000, 'from 1 to 1000')).default(1000),
});

const values = z.array(z.array(z.union([z.string(), z.number(), z.null()])));

export const rows = z.object({
  origin: text,
  number: z.int().meta({ description: 'ask after it next' }),
  whole: z.boolean().meta({ description: 'all pages since the last whole one together are a state of the mirror' }),
  schema_version: z.int().meta({ description: 'another one than that of the copy: begin with a new copy' }),
  published_at: instant,
  tables: z.array(
    z.object({
      table: text,
      columns: z.array(text),
      key: z.array(text),
      rows: values.meta({ description: 'in the order of the columns' }),
      gone: values.meta({ description: 'keys of rows that are no more' }),
    }),
  ),
});
