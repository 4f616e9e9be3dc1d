import type { FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import {
  type Bound,
  type Expression,
  listed,
  type RawBuilder,
  type Reads,
  Store,
  sql,
} from '../kernel/sqlite/statements.ts';
import { byKey, query } from '../mirror/sql/sql.ts';
import type { SaleStatus } from './product.rules.ts';

/** The read that an entry comes from, and what that read may set. */
export interface ProductRead extends FoundBy {
  readonly source: 'list' | 'detail';
  readonly language: string;
  readonly currency: string;
  readonly primary: { readonly language: string; readonly currency: string };
  readonly now: Instant;
  readonly stale_at: Instant;
  /** `true`: only the sale status and the images of the entry are stored. */
  readonly onlySaleAndImages?: boolean;
}

/** Result of storing an entry. */
export interface StoredProduct {
  readonly outcome: 'added' | 'returned' | 'changed' | 'unchanged' | 'late';
  /** The sale status before, and after. */
  readonly was: SaleStatus | null;
  readonly is: SaleStatus;
  /** Effect of the read on the sale: `back` on sale after being off sale, still `on` sale, or neither. */
  readonly sale: 'back' | 'on' | 'neither';
  /** True if the price differs from that of the last read, by more than the exchange rate. */
  readonly repriced: boolean;
  /** True if it differs from the last read of the same kind only by the exchange rate: that is no change of the product. */
  readonly by_rate: boolean;
  /** A list entry has changed, so the single-product read stored over it may be outdated too. */
  readonly detail_doubted: boolean;
  /** Members of the document that differ from the last read of the same kind, and when that was sent; null: there was none. */
  readonly fields: readonly string[];
  readonly before_at: Instant | null;
}

/** Facts about a product that the engine needs before it requests anything else. */
export interface KnownProduct {
  readonly product_id: number;
  readonly timezone: string | null;
  readonly sale_status: SaleStatus;
  readonly has_dynamic_pricing: boolean;
  /** A working, trusted subscription announces its changes. */
  readonly covered: boolean;
  readonly expected_reopening: string | null;
  /** Visible, enabled by its own reads, and no closure that no read has decided. */
  readonly sellable: boolean;
  /** Instant at which the newest of the product's own reads was sent. */
  readonly read_at: Instant;
  /** Instant since which the service answers that some of the dates are not on sale; null if it does so for none. */
  readonly dates_off_at: Instant | null;
  readonly category: string | null;
  /** Tickets sold, as counted at `sold_at` (see `faded`). */
  readonly sold: number;
  readonly sold_at: Instant | null;
  /** Instant of the last read of its entry in the primary list; null if it was never read. */
  readonly listed_at: Instant | null;
  /** Instants of the last two reads of that entry between which its price or sale status changed; null if none did. */
  readonly signal_at: Instant | null;
  readonly signal_before_at: Instant | null;
}

/** A product as people ask about it. */
export interface ShownProduct {
  readonly title: string | null;
  readonly sale_status: SaleStatus;
  readonly sellable: boolean;
  readonly disabled_reason: string | null;
  readonly expected_reopening: string | null;
  readonly withdrawn_at: Instant | null;
  readonly first_seen_at: Instant;
  readonly images: number;
  readonly images_verified_at: Instant | null;
}

/** A list entry or a product's own read, in a language and a currency. */
interface SaidBy {
  readonly product_id: number;
  readonly language: string;
  readonly currency: string;
  readonly source: 'list' | 'detail';
}

type OfProduct = { readonly product_id: number };

interface Limited {
  readonly limit: number;
}

/** Queries about products. */
export class ProductReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #texts = this.db.row(
    byKey('_product_text', ['product_id', 'language'], ['list_document', 'detail_document']),
  );
  readonly #price = this.db.value(({ product_id, currency }: Bound<OfProduct & { currency: string }>) =>
    query
      .selectFrom('price')
      .select('from_price')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .limit(1),
  );
  /** Returns the currency in which a product's supplier sets its prices; null: it is not known. */
  readonly supplierCurrency = this.db.value(({ product_id }: Bound<OfProduct>) =>
    ofPrimaryText(product_id).select((of) =>
      sql<
        string | null
      >`json_extract(coalesce(${of.ref('t.list_document')}, ${of.ref('t.detail_document')}), '$.supplier_currency')`.as(
        'currency',
      ),
    ),
  );
  readonly #known = this.db.row(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product as p')
      .innerJoin('_product_read as r', 'r.product_id', 'p.product_id')
      .select(['p.product_id', 'timezone', 'sale_status', 'expected_reopening', 'sellable', 'read_at', 'dates_off_at'])
      .select(['category', 'sold', 'sold_at', 'covered', 'signal_at', 'signal_before_at'])
      .select((of) => [
        of
          .selectFrom(['_text_read as t', '_mirror as m'])
          .select('t.list_read_at')
          .whereRef('t.product_id', '=', 'p.product_id')
          .whereRef('t.language', '=', 'm.language')
          .as('listed_at'),
        hasDynamicPricing(of.ref('p.product_id')).as('has_dynamic_pricing'),
      ])
      .where('p.product_id', '=', product_id),
  );
  /** Returns the instant since which the service answers that dates of a product are not on sale; null if it does not. */
  readonly datesOffAt = this.db.value(byKey('_product', ['product_id'], ['dates_off_at']));
  readonly #visible = this.db.value(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product')
      .select('product_id')
      .where('product_id', '=', product_id)
      .where('withdrawn_at', 'is', null),
  );
  readonly #shown = this.db.row(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product as p')
      .innerJoin('_product_read as r', 'r.product_id', 'p.product_id')
      .select(['sale_status', 'sellable', 'disabled_reason', 'expected_reopening', 'withdrawn_at', 'first_seen_at'])
      .select('images_verified_at')
      .select((of) => primaryTitle(of.ref('p.product_id')).as('title'))
      .select((of) =>
        standingImages()
          .where('i.product_id', '=', of.ref('p.product_id'))
          .where((image) =>
            image.or([
              image('i.doubted_at', 'is', null),
              image('i.doubted_at', '<', of.ref('r.images_verified_at').$notNull()),
            ]),
          )
          .$asScalar()
          .$notNull()
          .as('images'),
      )
      .where('p.product_id', '=', product_id),
  );
  readonly #images = this.db.value(({ ids }: Bound<{ ids: string }>) =>
    standingImages().where('i.product_id', 'in', listed<number>(ids)),
  );
  /** Returns the key of the first image of a product that stands; null: there is none. */
  readonly firstImage = this.db.value(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('image')
      .select('image_key')
      .where('product_id', '=', product_id)
      .where('withdrawn_at', 'is', null)
      .orderBy('position')
      .limit(1),
  );
  /** Returns all visible products, in ascending order. */
  readonly ids = this.db.values(() => visibleProducts().orderBy('product_id'));
  /** Returns the next visible products after one, in ascending order. */
  readonly idsAfter = this.db.values(({ product_id, limit }: Bound<OfProduct & Limited>) =>
    visibleProducts().where('product_id', '>', product_id).orderBy('product_id').limit(limit),
  );
  /** Visible products whose images were last confirmed before an instant, the oldest first; those never confirmed are not meant. */
  readonly imagesVerifiedBefore = this.db.values(({ at, limit }: Bound<{ at: Instant } & Limited>) =>
    query
      .selectFrom('_product_read as r')
      .crossJoin('_product as p')
      .select('r.product_id')
      .whereRef('p.product_id', '=', 'r.product_id')
      .where('p.withdrawn_at', 'is', null)
      .where('r.images_verified_at', '<', at)
      .orderBy('r.images_verified_at')
      .limit(limit),
  );
  readonly #count = this.db.value(() =>
    query
      .selectFrom('_product')
      .select((of) => of.fn.countAll<number>().as('products'))
      .where('withdrawn_at', 'is', null),
  );

  find(product_id: number): KnownProduct | null {
    const row = this.#known({ product_id });
    if (row === null) return null;
    const { has_dynamic_pricing, covered, sellable } = row;
    return { ...row, has_dynamic_pricing: has_dynamic_pricing === 1, covered: covered === 1, sellable: sellable === 1 };
  }

  isVisible(product_id: number): boolean {
    return this.#visible({ product_id }) !== null;
  }

  /** Returns the last read's document of a product in a language, and its `from_price` in a currency; null: nothing. */
  said({ source, ...of }: SaidBy): { readonly document: string | null; readonly from_price: number | null } {
    return {
      document: this.#texts(of)?.[`${source}_document`] ?? null,
      from_price: this.#price(of),
    };
  }

  /** Returns what people ask about a product, in the primary language; null where it was never seen. */
  shown(product_id: number): ShownProduct | null {
    const row = this.#shown({ product_id });
    return row === null ? null : { ...row, sellable: row.sellable === 1 };
  }

  /** Returns how many images of these products stand: shown, until their 14 days are over. */
  countImages(product_ids: readonly number[]): number {
    return this.#images({ ids: JSON.stringify(product_ids) }) ?? 0;
  }

  count(): number {
    return this.#count() ?? 0;
  }
}

/** A date as storefronts see it. */
export interface ShownDay {
  readonly date: string;
  readonly currency: string;
  readonly state: string;
  /** Price that shops print, in minor units. */
  readonly lowest_adult_price: number | null;
  /** Type of the tickets that have this price; null: there is none. */
  readonly price_variant_type: string | null;
  readonly checked_at: Instant;
  readonly stale: 0 | 1;
}

/** An image as storefronts see it. */
export interface ShownImage {
  readonly position: number;
  readonly credit: string | null;
  readonly alt_text: string | null;
  readonly verified_at: Instant;
}

/** Data of a product as storefronts show it, for display: read through the same views. */
export class ShownReads extends Store<Reads> {
  /** Returns the dates in ascending order, starting at `from`. */
  readonly days = this.db.rows(({ product_id, from, limit }: Bound<OfProduct & Limited & { from: string }>) =>
    query
      .selectFrom('availability_days')
      .select(['date', 'currency', 'state', 'lowest_adult_price', 'price_variant_type', 'checked_at', 'stale'])
      .where('product_id', '=', product_id)
      .where('date', '>=', from)
      .orderBy('date')
      .orderBy('currency')
      .limit(limit),
  );
  readonly images = this.db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('images')
      .select(['position', 'credit', 'alt_text', 'verified_at'])
      .where('product_id', '=', product_id)
      .orderBy('position'),
  );
}

function visibleProducts() {
  return query.selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null);
}

/** Counts images, as `i`, that stand. */
function standingImages() {
  return query
    .selectFrom('image as i')
    .select((of) => of.fn.countAll<number>().as('images'))
    .where('i.withdrawn_at', 'is', null);
}

/** Returns the title of a product in the primary language. */
export function primaryTitle(product_id: Expression<number>) {
  return ofPrimaryText(product_id).select('t.title');
}

/** Returns the text of a product in the primary language, as `t`. */
export function ofPrimaryText(product_id: Expression<number>) {
  return query
    .selectFrom(['_product_text as t', '_mirror as m'])
    .where('t.product_id', '=', product_id)
    .whereRef('t.language', '=', 'm.language');
}

/** Returns whether the checkout information of a product says, in any language, that its prices are dynamic. */
export function hasDynamicPricing(product_id: Expression<number>): RawBuilder<0 | 1> {
  const said = query
    .selectFrom('checkout as c')
    .select((of) => of.lit(1).as('one'))
    .where('c.product_id', '=', product_id)
    .where('c.has_dynamic_pricing', '=', 1);
  return sql<0 | 1>`exists ${said}`;
}
