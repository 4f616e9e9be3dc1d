import type { Wanted } from './check.ts';

/** What is asked before an order: the body of `POST /v1/check`, as it was read (admin/api/checks.ts). */
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

/** A time that somebody may ask for: `HH:MM`, `whole_day`, or a word. */
export function isSlotTime(value: unknown): value is string {
  return typeof value === 'string' && /^(?:(?:[01]\d|2[0-3]):[0-5]\d|[a-z][a-z_ -]{0,19})$/i.test(value);
}

/** A key that a storefront may make up for whoever asks: nothing is read out of it. */
export function isCaller(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 100;
}

/** An id that a storefront gives an order: only ever hashed. */
export function isOrderId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 200;
}

/** What of a date is wanted. */
export function wantedOf({ time = null, variants = [] }: CheckQuestion): Wanted {
  const quantity = variants.reduce((sum, { count }) => sum + count, 0);
  return { time, variants, quantity: variants.length === 0 ? 1 : quantity };
}
