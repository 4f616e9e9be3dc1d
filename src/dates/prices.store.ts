import type { ProductEntry } from '../catalogue/product.rules.ts';
import { markByRate } from '../feed/change.rules.ts';
import { FeedingStore, type FoundBy } from '../feed/changes.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, pick, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, dropBy, query, setBy, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import { type PrintedStep, printedSteps, samePrices } from './printed-price.rules.ts';

type Price = Tables['price'];
type OfProduct = { readonly product_id: number; readonly currency: string };

/** The read of a product that brings its price. */
interface PriceRead extends FoundBy {
  readonly currency: string;
  readonly primary: { readonly currency: string };
  readonly stale_at: Instant;
}

/** Start of the first price of a product, and end of the last one. */
export const atFirst = instant(0);
const atLast = instant(8_640_000_000_000_000);

/** The columns that the list brings: the same in all rows of a product in a currency. */
const listedColumns = ['from_price', 'prediscount_price'] as const;
/** The columns that the dates bring. */
const printedColumns = ['lowest_price', 'lowest_adult_price', 'price_variant_type'] as const;
const insertedColumns = ['product_id', 'currency', 'from_at', 'until_at', ...printedColumns, ...listedColumns] as const;

/** Values for a product without stored dates, and after the last one of the others. */
const nothingLeft = { until_at: atLast, lowest_price: null, lowest_adult_price: null, price_variant_type: null };

/** Values for a currency in which the list was not read. */
const unlisted = { from_price: null, prediscount_price: null };

/** The price from which a product is sold, by currency. */
export class ProductPrices extends FeedingStore {
  readonly #one = this.db.row(({ product_id, currency }: Bound<OfProduct>) =>
    query
      .selectFrom('price')
      .select(listedColumns)
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .limit(1),
  );
  readonly #readAt = this.db.value(byKey('_price_read', ['product_id', 'currency'], ['checked_at']));
  readonly #touch = this.db.change(
    upsert('_price_read', ['product_id', 'currency'], ['checked_at', 'stale_at', 'held_at']),
  );
  readonly #put = this.db.change(setBy('price', ['product_id', 'currency'], listedColumns));
  readonly #add = this.db.change(insertPrice);

  /** Returns whether it is another one, or the first. */
  store(
    { product_id, from_price, prediscount_price = null }: ProductEntry,
    read: PriceRead,
    product: 'added' | 'known',
    isByRate: boolean,
  ): boolean {
    const { currency, sent_at, stale_at } = read;
    const of = { product_id, currency };
    const checked_at = this.#readAt(of);
    if (checked_at !== null && !mayReplace(checked_at, sent_at)) return false;
    const stored = this.#one(of);
    // Where the list was not read before, a row is made from dates alone.
    const row = checked_at === null ? null : stored;
    const other = row?.from_price !== from_price;
    const next = { ...of, from_price, prediscount_price };
    this.#touch({ ...of, checked_at: sent_at, stale_at, held_at: null });
    if (!other && row.prediscount_price === prediscount_price) return false;
    if (stored === null) this.#add({ ...next, from_at: atFirst, ...nothingLeft });
    else this.#put(next);
    if (product === 'added') return true;
    const detail = { currency, old: row?.from_price ?? null, new: from_price, ...markByRate(isByRate) };
    if (row !== null && other) this.changes.add({ product_id, kind: 'price_changed', detail }, read);
    if (row === null || currency !== read.primary.currency)
      this.changes.add({ product_id, kind: 'prices_changed', detail }, read);
    return true;
  }
}

/** Printed prices of products, each valid from one instant to another. */
export class PrintedPrices extends Store<Writes> {
  readonly #available = this.db.rows(({ product_id, currency }: Bound<OfProduct>) =>
    query
      .selectFrom('day')
      .select(['from_at', 'until_at', ...printedColumns])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('state', '=', 'available'),
  );
  readonly #stored = this.db.rows(({ product_id, currency }: Bound<OfProduct>) =>
    query
      .selectFrom('price')
      .select(['until_at', ...printedColumns, ...listedColumns])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .orderBy('until_at'),
  );
  readonly #drop = this.db.change(dropBy('price', ['product_id', 'currency']));
  readonly #put = this.db.change(insertPrice);

  /** Recomputes the printed prices from the available dates of a product. Writes nothing if they are the same. */
  recompute(of: OfProduct): void {
    const steps = printedSteps(this.#available(of));
    const before = this.#stored(of);
    const [listed = unlisted] = before;
    if (sameSteps(before.slice(0, -1), steps)) return;
    this.#drop(of);
    let from_at = atFirst;
    for (const step of [...steps, nothingLeft]) {
      const until_at = instant(step.until_at);
      this.#put({ ...of, ...listed, ...step, from_at, until_at });
      from_at = until_at;
    }
  }
}

/** Inserts a row, with `shut` of its product: why no date of it is sold. */
function insertPrice(row: Bound<Pick<Price, (typeof insertedColumns)[number]>>) {
  const shut = query.selectFrom('_product').select('shut').where('product_id', '=', row.product_id).$asScalar();
  return query.insertInto('price').values({ ...pick(row, insertedColumns), shut } as never);
}

function sameSteps(before: readonly PrintedStep[], steps: readonly PrintedStep[]): boolean {
  return (
    before.length === steps.length &&
    steps.every((step, index) => {
      const one = before[index];
      return one !== undefined && one.until_at === step.until_at && samePrices(one, step);
    })
  );
}
