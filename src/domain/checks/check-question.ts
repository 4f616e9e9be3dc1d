import { isDate } from '../time/dates.ts';
import type { Wanted } from './check.ts';

/** What is asked before an order: the body of `POST /v1/check`, read and bounded. */
export interface CheckQuestion {
  readonly product_id: number;
  /** A date of the calendar at the venue. */
  readonly date: string;
  /** `HH:MM`, `whole_day`, or the service's own word; null: any time. */
  readonly time?: string | null;
  /** None: any one ticket. */
  readonly variants?: readonly { readonly variant_id: number; readonly count: number }[];
  /** In minor units: of all variants together, or of one ticket where none is named. */
  readonly expect_price?: { readonly amount: number; readonly currency: string } | null;
  /** How long the shopper waits, in milliseconds. */
  readonly deadline_ms?: number;
  /** Whoever asks, in a word of the storefront's own (a session, hashed): one caller may not use up the calls of all. */
  readonly caller?: string | null;
}

export const deadline = { usual: 5000, least: 50, most: 30_000 } as const;
const most = { variants: 50, count: 999 } as const;

/** A time that somebody may ask for: `HH:MM`, `whole_day`, or a word. */
export function isSlotTime(value: unknown): value is string {
  return typeof value === 'string' && /^(?:(?:[01]\d|2[0-3]):[0-5]\d|[a-z][a-z_ -]{0,19})$/i.test(value);
}

/** A key that a storefront may make up for whoever asks: nothing is read out of it. */
export function isCaller(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 100;
}

/** A question out of JSON from outside; or in one line what is wrong with it. */
export function readQuestion(json: unknown): CheckQuestion | { readonly problem: string } {
  if (!isObject(json)) return { problem: 'the body must be a JSON object' };
  const { product_id, date, time = null, variants = [], expect_price = null, caller = null } = json;
  const { deadline_ms = deadline.usual } = json;
  const problem =
    extra(json, ['product_id', 'date', 'time', 'variants', 'expect_price', 'deadline_ms', 'caller']) ??
    wrong('product_id', product_id, isWhole(product_id, 1), 'a product id') ??
    wrong('date', date, isDate(date), 'a date of the calendar, like 2026-12-24') ??
    wrong('time', time, time === null || isSlotTime(time), 'HH:MM or whole_day') ??
    wrongVariants(variants) ??
    wrongPrice(expect_price) ??
    wrong(
      'deadline_ms',
      deadline_ms,
      isWhole(deadline_ms, deadline.least, deadline.most),
      `${deadline.least} to ${deadline.most} milliseconds`,
    ) ??
    wrong('caller', caller, caller === null || isCaller(caller), 'one to a hundred characters');
  if (problem !== null) return { problem };
  return { product_id, date, time, variants, expect_price, deadline_ms, caller } as CheckQuestion;
}

/** What of a date is wanted. */
export function wantedOf({ time = null, variants = [] }: CheckQuestion): Wanted {
  const quantity = variants.reduce((sum, { count }) => sum + count, 0);
  return { time, variants, quantity: variants.length === 0 ? 1 : quantity };
}

function wrongVariants(variants: unknown): string | null {
  if (!Array.isArray(variants) || variants.length > most.variants)
    return wrong('variants', variants, false, `a list of at most ${most.variants}`);
  const seen = new Set<unknown>();
  for (const [index, each] of variants.entries()) {
    const name = `variants[${index}]`;
    if (!isObject(each)) return wrong(name, each, false, '{"variant_id": …, "count": …}');
    const { variant_id, count } = each;
    const problem =
      extra(each, ['variant_id', 'count'], `${name}.`) ??
      wrong(`${name}.variant_id`, variant_id, isWhole(variant_id, 1), 'a variant id') ??
      wrong(`${name}.count`, count, isWhole(count, 1, most.count), `a number of tickets from 1 to ${most.count}`);
    if (problem !== null) return problem;
    if (seen.has(variant_id)) return `${name}: variant ${String(variant_id)} is named twice`;
    seen.add(variant_id);
  }
  return null;
}

function wrongPrice(price: unknown): string | null {
  if (price === null) return null;
  if (!isObject(price)) return wrong('expect_price', price, false, '{"amount": …, "currency": …}');
  const { amount, currency } = price;
  return (
    extra(price, ['amount', 'currency'], 'expect_price.') ??
    wrong('expect_price.amount', amount, isWhole(amount, 0), 'an integer in minor units') ??
    wrong('expect_price.currency', currency, typeof currency === 'string', 'a currency code, like EUR')
  );
}

function extra(object: object, known: readonly string[], prefix = ''): string | null {
  const unknown = Object.keys(object).find((name) => !known.includes(name));
  return unknown === undefined ? null : `${prefix}${unknown.slice(0, 60)}: is not known; known are ${known.join(', ')}`;
}

/** The line about one member; null where it is as it should be. */
export function wrong(name: string, value: unknown, right: boolean, expected: string): string | null {
  if (right) return null;
  const found = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 60);
  return `${name}: found ${found}; expected ${expected}`;
}

/** A whole number within bounds. */
export function isWhole(value: unknown, least: number, highest = Number.MAX_SAFE_INTEGER): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= highest;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
