import { parseExact } from '../values/exact-json.ts';
import { isMembers } from '../values/members.ts';

/**
 * The kinds of change in the feed. Readers pass over those that they do not know, because the list is open (design 3.3).
 * Until a mirror is filled, only the older kinds are told, and of a product's first reads only `product_added`.
 */
export type ChangeKind = OlderKind | NewerKind;

export type OlderKind =
  /** {title} */
  | 'product_added'
  /**
   * {fields}: the members of the product's document, and columns of views, that differ now. Those with a kind of their own
   * are not among them; empty: read for the first time. Without a language: in all of them.
   */
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

/** Each is one line a product and transaction. Counts of the tickets left are told by none. */
export type NewerKind =
  /** {fields}: the members that differ; empty: read for the first time. */
  | 'checkout_changed'
  /** {variant_ids}: those that are new, gone or different. */
  | 'variants_changed'
  /** {currency, dates}: those whose times, prices or limit moved while their state stayed, or that have their first rows. */
  | 'slots_changed'
  /** {image_keys}: those whose order, address or alternative text is another, or that are hidden, or shown again. */
  | 'images_changed'
  /** {currency, old, new}: the product's price in a further currency, or the first one in any. */
  | 'prices_changed'
  /** {experience_ids}: of a product, those that it belongs to or no longer does; of no product, those that themselves differ. */
  | 'experience_changed'
  /** {subject}: what many answers claim at once of products, this one among them, is held: it is stale. Once a product and hold. */
  | 'held'
  /** {from, to}: of no product. The numbers of the changes, both included, that end here. */
  | 'pass_completed';

const newer: Readonly<Record<NewerKind, true>> = {
  checkout_changed: true,
  variants_changed: true,
  slots_changed: true,
  images_changed: true,
  prices_changed: true,
  experience_changed: true,
  held: true,
  pass_completed: true,
};

export function isNewer(kind: ChangeKind): kind is NewerKind {
  return kind in newer;
}

/** What stands for the product in a change that is of none. */
export const noProduct = 0;

/** Members that have a kind of their own, or say nothing about the product. */
const told = new Set([
  'images',
  'price',
  'price_in_supplier_currency',
  'sale_status',
  'sale_status_reason',
  'sale_status_expected_reopen',
]);

/** Returns the names whose values differ between two rows of facts. */
export function differing<Row extends object>(
  before: Row,
  after: Row,
  names: readonly (keyof Row & string)[],
): string[] {
  return names.filter((name) => before[name] !== after[name]);
}

/** Returns the top-level members in which two documents differ, in alphabetical order; the order of members says nothing. */
export function changedFields(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) => parseExact(text) as Record<string, unknown>);
  const names = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})]);
  return [...names].filter((name) => !told.has(name) && unordered(old?.[name]) !== unordered(now?.[name])).sort();
}

/** Returns a value as text in which the order of members says nothing. The printer goes as deep as the parser. */
function unordered(value: unknown): string | undefined {
  return JSON.stringify(value, (_, each) =>
    isMembers(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each,
  );
}
