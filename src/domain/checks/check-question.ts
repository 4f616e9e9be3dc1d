import type { Wanted } from './check.ts';

/** A question before an order: the parsed body of `POST /v1/check` (admin/api/checks.ts). */
export interface CheckQuestion {
  readonly product_id: number;
  /** A date of the calendar at the venue. */
  readonly date: string;
  /** `HH:MM`, `whole_day`, or the service's own word; null: any time. */
  readonly time?: string | null;
  /** None: any one ticket. */
  readonly variants?: readonly { readonly variant_id: number; readonly count: number }[];
  /** The currency to ask and answer in; null: that of the expected price, or the first mirrored one. */
  readonly currency?: string | null;
  /** In minor units: of all variants together, or of one ticket where none is named. */
  readonly expect_price?: { readonly amount: number; readonly currency: string } | null;
  /** How long the shopper waits, in milliseconds. */
  readonly deadline_ms?: number;
  /**
   * A name of the storefront's choice for whoever asks (such as a hashed session): no caller may use up the calls of
   * all.
   */
  readonly caller?: string | null;
}

export const deadline = { usual: 5000, least: 50, most: 30_000 } as const;

/** Tells whether a value is a time that may be asked for: `HH:MM`, `whole_day`, or a word. */
export function isSlotTime(value: unknown): value is string {
  return typeof value === 'string' && /^(?:(?:[01]\d|2[0-3]):[0-5]\d|[a-z][a-z_ -]{0,19})$/i.test(value);
}

/** Tells whether a value can be a caller's key, which is never interpreted. */
export function isCaller(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 100;
}

/** Tells whether a value can be an order id, which is only ever hashed. */
export function isOrderId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 200;
}

/** Returns what a question wants of its date. */
export function wantedOf({ time = null, variants = [] }: CheckQuestion): Wanted {
  const quantity = variants.reduce((sum, { count }) => sum + count, 0);
  return { time, variants, quantity: variants.length === 0 ? 1 : quantity };
}
