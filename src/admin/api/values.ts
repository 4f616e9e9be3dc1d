import { z } from 'zod';
import { isDate } from '../../kernel/time/venue.ts';

export { bit, count, date, instant, maybe, never, text } from '../../kernel/values/answer-values.ts';

/*
 * The kinds of value in requests. The message of a request's value says what was expected ("a product id").
 * request.ts puts the name of the member and the invalid value in front of it.
 */

export const id = whole(1, Number.MAX_SAFE_INTEGER, 'a product id');

export const notObject = 'the body must be a JSON object';

/** A whole number within bounds. */
export function whole(least: number, most: number, expected: string) {
  return z.int(expected).min(least, expected).max(most, expected);
}

/** A date of the calendar at a venue. */
export const calendarDate = z
  .string('a date of the calendar, like 2026-12-24')
  .refine(isDate, 'a date of the calendar, like 2026-12-24')
  .meta({ format: 'date' });

/** A date in the right form. A later check of its range names the first and last date in its error. */
export const dateText = z
  .string('a date, like 2026-12-24')
  .regex(/^\d{4}-\d{2}-\d{2}$/, 'a date, like 2026-12-24')
  .meta({ format: 'date' });

/** A whole number that may also come as text: from a URL, or from a language that writes ids as strings. */
export function numeral(least: number, expected: string) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
    whole(least, Number.MAX_SAFE_INTEGER, expected),
  );
}

/** A boolean that may also come as text; false by default. */
export const flag = z
  .preprocess((value) => (value === 'true' ? true : value === 'false' ? false : value), z.boolean('true or false'))
  .default(false);

/** An object of a request with these members. Other members are ignored. */
export function loose<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, notObject);
}

/** An object of a request with these members and no others. Otherwise a misspelt member would count as absent. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape, expected: string) {
  const names = Object.keys(shape);
  const known =
    names.length === 0 ? 'is not known; expected no parameters' : `is not known; known are ${names.join(', ')}`;
  return z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? known : expected) });
}
