import type { Wanted } from './verdict.rules.ts';

/** A question before an order: the parsed body of `POST /v1/check` (admin/api/checks.ts). */
export interface CheckQuestion {
  readonly product_id: number;
  /** A date of the calendar at the venue. */
  readonly date: string;
  /** `HH:MM`, `whole_day`, or the service's own word; null: any time. */
  readonly time?: string | null;
  /** Empty: any one ticket. */
  readonly variants?: readonly { readonly variant_id: number; readonly count: number }[];
  /** Currency of the request and the answer. Null: that of the expected price, or the first mirrored one. */
  readonly currency?: string | null;
  /** In minor units: of all variants together, or of one ticket if no variant is named. */
  readonly expect_price?: { readonly amount: number; readonly currency: string } | null;
  /** Time that the shopper waits, in milliseconds. */
  readonly deadline_ms?: number;
  /**
   * Key of the caller, chosen by the storefront (such as a hashed session), so that no single caller can use up the
   * calls of all.
   */
  readonly caller?: string | null;
}

export const deadline = { usual: 5000, least: 50, most: 30_000 } as const;

/** Returns whether a value is a time that a question may name: `HH:MM`, `whole_day`, or a word. */
export function isSlotTime(value: unknown): value is string {
  return typeof value === 'string' && /^(?:(?:[01]\d|2[0-3]):[0-5]\d|[a-z][a-z_ -]{0,19})$/i.test(value);
}

/** Returns whether a value can be the key of a caller. The key is never interpreted. */
export function isCaller(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 100;
}

/** Returns whether a value can be an order id. It is only ever hashed. */
export function isOrderId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 200;
}

/** Returns the time, variants and quantity that a question wants. */
export function wantedOf({ time = null, variants = [] }: CheckQuestion): Wanted {
  const quantity = variants.reduce((sum, { count }) => sum + count, 0);
  return { time, variants, quantity: variants.length === 0 ? 1 : quantity };
}
