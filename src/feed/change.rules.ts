import { isMembers, parseExact } from '../kernel/values/exact-json.ts';

/**
 * Kinds of change in the feed. `old` and `new` are what the views showed right before the commit and right after it: a closed
 * product has no date that sells out, and an image that has expired no credit that changes. Readers skip kinds that they do not know, because the list is open. Until a
 * mirror is filled, only the older kinds are published, and of a product's first reads only `product_added`.
 */
export type ChangeKind = OlderKind | NewerKind;

export type OlderKind =
  /** {title} */
  | 'product_added'
  /**
   * {fields}: the members of the product's document, and the columns of views, that differ now. Fields with a kind of
   * their own are left out. Empty if it was read for the first time. Without a language: in all languages.
   */
  | 'product_changed'
  /** {reason} */
  | 'product_withdrawn'
  /** {withdrawn_at} */
  | 'product_returned'
  /** {reason, expected_reopening} */
  | 'sale_disabled'
  | 'sale_enabled'
  /**
   * {}: on sale by its own read, but its dates are answered as not on sale. None is bookable until `dates_released`.
   */
  | 'dates_withheld'
  | 'dates_released'
  /**
   * {currency, old, new}: with a bookable date its lowest price, without one the price of the product; minor units or null.
   * `by_rate` is true if the exchange rate alone has moved it.
   */
  | 'price_changed'
  /** {currency, old, new}: state and lowest price of the date; `old` is null if it had none. */
  | 'date_added'
  /** A read has found it no longer bookable. Its state is `not_on_sale` if its last time has begun. */
  | 'date_sold_out'
  | 'date_back'
  /** {image_key, credit} */
  | 'image_added'
  /** {image_key, old, new}: of an image that was shown. */
  | 'image_credit_changed'
  /** {image_key, credit}: of an image that was shown until now. */
  | 'image_withdrawn';

/** Each of these is one line per product and transaction. No kind reports numbers of tickets left. */
export type NewerKind =
  /** {fields}: the members that differ; empty if it was read for the first time. */
  | 'checkout_changed'
  /** {variant_ids}: variants that are new, gone or different. */
  | 'variants_changed'
  /**
   * {currency, dates}: dates whose times, prices or limit changed while they stayed bookable or not bookable, or that have
   * their first rows.
   */
  | 'slots_changed'
  /**
   * {image_keys}: images with another position, address or alternative text, and images that were hidden or are shown
   * again, with another credit or not.
   */
  | 'images_changed'
  /** {currency, old, new}: the product's price in a further currency, or its first price in any. */
  | 'prices_changed'
  /**
   * {experience_ids}: with a product, experiences that it joined or left; without one, experiences that themselves
   * differ.
   */
  | 'experience_changed'
  /** {tag_ids}: of no product. Tags that are new, gone or called otherwise in the language of the change. */
  | 'tags_changed'
  /**
   * {subject}: a claim that many answers make at once, also about this product, is held: the data are stale. Once per
   * product and hold.
   */
  | 'held'
  /**
   * {from, to}: of no product. First and last number, both included, of the changes of the sync cycle that ends here.
   */
  | 'pass_completed';

const newer: Readonly<Record<NewerKind, true>> = {
  checkout_changed: true,
  variants_changed: true,
  slots_changed: true,
  images_changed: true,
  prices_changed: true,
  experience_changed: true,
  tags_changed: true,
  held: true,
  pass_completed: true,
};

export function isNewer(kind: ChangeKind): kind is NewerKind {
  return kind in newer;
}

/** Product id of a change that is about no product. */
export const noProduct = 0;

/** Returns the member of a change's detail that marks a price moved by the exchange rate alone. */
export function markByRate(isByRate: boolean): { readonly by_rate?: true } {
  return isByRate ? { by_rate: true } : {};
}

/** Members that have a kind of their own, or that are no facts about the product. */
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

/**
 * Returns the top-level members in which two documents differ, in alphabetical order. The order of members does not
 * count.
 */
export function changedFields(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) => parseExact(text) as Record<string, unknown>);
  const names = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})]);
  return [...names].filter((name) => !told.has(name) && unordered(old?.[name]) !== unordered(now?.[name])).sort();
}

/**
 * Returns a value as text with sorted members, so that their order does not count. The printer goes as deep as the
 * parser.
 */
function unordered(value: unknown): string | undefined {
  return JSON.stringify(value, (_, each) =>
    isMembers(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each,
  );
}
