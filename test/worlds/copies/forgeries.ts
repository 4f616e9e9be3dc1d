import { type Announced, valued } from './announced.ts';
import type { Shown } from './commits.ts';
import type { Row } from './script.ts';

/** Returns a feed that is wrong about a commit, from the right one. */
export type Forgery = (changes: readonly Announced[], before: Shown, after: Shown) => readonly Announced[];

const rowsOf = (shown: Shown, view: string): Row[] => [...(shown.get(view)?.values() ?? [])];

type Named = { readonly currency?: string; readonly dates?: string[]; readonly image_keys?: string[] };

/** Announces dates as sold out that readers saw as not on sale, and still do. */
const closedAsSoldOut: Forgery = (changes, before, after) =>
  changes.flatMap((change) => {
    const { product_id } = change;
    const { currency, dates = [] } = JSON.parse(change.detail) as Named;
    const isClosed = (row: Row) =>
      row.state === 'not_on_sale' && row.product_id === product_id && row.currency === currency;
    const closed = dates.filter((date) =>
      [before, after].every((shown) =>
        rowsOf(shown, 'availability_days').some((row) => isClosed(row) && row.date === date),
      ),
    );
    const detail = JSON.stringify({
      currency,
      old: { state: 'available', lowest_price: 1 },
      new: { state: 'sold_out', lowest_price: null },
    });
    return [change, ...closed.map((date) => ({ ...change, kind: 'date_sold_out' as const, date, detail }))];
  });

/** Announces other credits of images that readers did not see. */
const hiddenCredits: Forgery = (changes, before) =>
  changes.flatMap((change) => {
    const { image_keys = [] } = JSON.parse(change.detail) as Named;
    const seen = new Set(rowsOf(before, 'images').map(({ image_key }) => image_key));
    return [
      change,
      ...image_keys
        .filter((image_key) => !seen.has(image_key))
        .map((image_key) => {
          const detail = JSON.stringify({ image_key, old: 'Someone', new: 'Someone Else' });
          return { ...change, kind: 'image_credit_changed' as const, detail };
        }),
    ];
  });

/** Exchanges old and new. */
const turned: Forgery = (changes) =>
  changes.map((change) => {
    const detail = JSON.parse(change.detail) as { old?: unknown; new?: unknown };
    return { ...change, detail: JSON.stringify({ ...detail, old: detail.new, new: detail.old }) };
  });

const without =
  (left: string): Forgery =>
  (changes) =>
    changes.filter(({ kind }) => kind !== left);

/** Wrong feeds, each of which has to be noticed. */
export const forgeries: Readonly<Record<string, Forgery>> = {
  closedAsSoldOut,
  hiddenCredits,
  turned,
  // One that is left out is noticed by the rows that nothing names.
  ...Object.fromEntries(
    [...valued, 'slots_changed', 'images_changed'].map((kind) => [`without ${kind}`, without(kind)]),
  ),
};
