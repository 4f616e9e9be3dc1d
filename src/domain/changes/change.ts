import { parseExact } from '../values/exact-json.ts';

/** The kinds of change in the feed, a closed list (design 3.3). A product's first reads emit only `product_added`. */
export type ChangeKind =
  /** {title} */
  | 'product_added'
  /** {fields}: the members of the product's document that differ now. Those with a kind of their own are not among them. */
  | 'product_changed'
  /** {reason} */
  | 'product_withdrawn'
  /** {withdrawn_at} */
  | 'product_returned'
  /** {reason, expected_reopening} */
  | 'sale_disabled'
  | 'sale_enabled'
  /** {}: on sale by its own read, but its dates are answered as not on sale: none is bookable, until they are released. */
  | 'dates_withheld'
  | 'dates_released'
  /** {currency, old, new}: with a date its lowest price, without one the product's price; minor units or null. */
  | 'price_changed'
  /** {currency, old, new}: state and lowest price of the date; `old` is null where it had none. */
  | 'date_added'
  | 'date_sold_out'
  | 'date_back'
  /** {image_key, credit} */
  | 'image_added'
  /** {image_key, old, new} */
  | 'image_credit_changed'
  /** {image_key, credit} */
  | 'image_withdrawn';

/** Members that have a kind of their own, or say nothing about the product. */
const told = new Set([
  'images',
  'price',
  'price_in_supplier_currency',
  'sale_status',
  'sale_status_reason',
  'sale_status_expected_reopen',
]);

/** Returns the top-level members in which two documents differ, in alphabetical order. */
export function changedFields(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) => parseExact(text) as Record<string, unknown>);
  const names = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})]);
  return [...names]
    .filter((name) => !told.has(name) && JSON.stringify(old?.[name]) !== JSON.stringify(now?.[name]))
    .sort();
}
