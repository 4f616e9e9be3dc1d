import type { Instant } from '../../../clock.ts';
import type { SaleStatus } from '../../../domain/catalogue/product.ts';
import { type Bound, listed, type Reads, sql } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import { hasDynamicPricing, ofPrimaryText, primaryTitle } from '../of-product.ts';

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

/** Queries about products. */
export interface ProductReads {
  find(product_id: number): KnownProduct | null;
  /** Returns the instant since which the service answers that dates of a product are not on sale; null if it does not. */
  datesOffAt(product_id: number): number | null;
  isVisible(product_id: number): boolean;
  /** Returns what the last read of a kind said of a product in a language, and what it costs from in a currency; null: nothing. */
  said(of: SaidBy): { readonly document: string | null; readonly from_price: number | null };
  /** Returns the currency in which a product's supplier sets its prices; null: it is not known. */
  supplierCurrency(product_id: number): string | null;
  /** Returns what people ask about a product, in the primary language; null where it was never seen. */
  shown(product_id: number): ShownProduct | null;
  /** Returns the key of the first image of a product that stands; null: there is none. */
  firstImage(product_id: number): string | null;
  /** Returns how many images of these products stand: shown, until their 14 days are over. */
  countImages(product_ids: readonly number[]): number;
  /** Returns all visible products, in ascending order. */
  ids(): number[];
  /** Returns the next visible products after one, in ascending order. */
  idsAfter(product_id: number, limit: number): number[];
  /** Visible products whose images were last confirmed before an instant, the oldest first; those never confirmed are not meant. */
  imagesVerifiedBefore(at: Instant, limit: number): number[];
  count(): number;
}

/** A list entry or a product's own read, in a language and a currency. */
interface SaidBy {
  readonly product_id: number;
  readonly language: string;
  readonly currency: string;
  readonly source: 'list' | 'detail';
}

interface OfProduct {
  readonly product_id: number;
}

interface Limited {
  readonly limit: number;
}

export function productReads(db: Reads): ProductReads {
  return { ...singleProducts(db), ...offSale(db), ...visibleProducts(db) };
}

function singleProducts(
  db: Reads,
): Pick<ProductReads, 'find' | 'isVisible' | 'said' | 'supplierCurrency' | 'shown' | 'firstImage' | 'countImages'> {
  const texts = db.rows(({ product_id, language }: Bound<Pick<SaidBy, 'product_id' | 'language'>>) =>
    query
      .selectFrom('_product_text')
      .select(['list_document', 'detail_document'])
      .where('product_id', '=', product_id)
      .where('language', '=', language),
  );
  const supplier = db.values(({ product_id }: Bound<OfProduct>) =>
    ofPrimaryText(product_id).select((of) =>
      sql<
        string | null
      >`json_extract(coalesce(${of.ref('t.list_document')}, ${of.ref('t.detail_document')}), '$.supplier_currency')`.as(
        'currency',
      ),
    ),
  );
  const price = db.values(({ product_id, currency }: Bound<Pick<SaidBy, 'product_id' | 'currency'>>) =>
    query
      .selectFrom('price')
      .select('from_price')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .limit(1),
  );
  const known = db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product as p')
      .select(['product_id', 'timezone', 'sale_status', 'expected_reopening', 'sellable', 'read_at', 'dates_off_at'])
      .select(['category', 'sold', 'sold_at', 'covered', 'signal_at', 'signal_before_at'])
      .select((of) => ofPrimaryText(of.ref('p.product_id')).select('t.list_read_at').$asScalar().as('listed_at'))
      .select((of) => hasDynamicPricing(of.ref('p.product_id')).as('has_dynamic_pricing'))
      .where('product_id', '=', product_id),
  );
  const visible = db.values(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product')
      .select('product_id')
      .where('product_id', '=', product_id)
      .where('withdrawn_at', 'is', null),
  );
  const standing = query
    .selectFrom('image as i')
    .select((of) => of.fn.countAll<number>().as('images'))
    .where('i.withdrawn_at', 'is', null);
  const shown = db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product as p')
      .select(['sale_status', 'sellable', 'disabled_reason', 'expected_reopening', 'withdrawn_at', 'first_seen_at'])
      .select('images_verified_at')
      .select((of) => primaryTitle(of.ref('p.product_id')).as('title'))
      .select((of) =>
        standing
          .where('i.product_id', '=', of.ref('p.product_id'))
          .where((image) =>
            image.or([
              image('i.doubted_at', 'is', null),
              image('i.doubted_at', '<', of.ref('p.images_verified_at').$notNull()),
            ]),
          )
          .$asScalar()
          .$notNull()
          .as('images'),
      )
      .where('product_id', '=', product_id),
  );
  const images = db.values(({ ids }: Bound<{ ids: string }>) =>
    standing.where('i.product_id', 'in', listed<number>(ids)),
  );
  const first = db.values(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('image')
      .select('image_key')
      .where('product_id', '=', product_id)
      .where('withdrawn_at', 'is', null)
      .orderBy('position')
      .limit(1),
  );
  return {
    firstImage: (product_id) => first.get({ product_id }) ?? null,
    find: (product_id) => {
      const row = known.get({ product_id });
      if (row === undefined) return null;
      const { has_dynamic_pricing, covered, sellable } = row;
      return {
        ...row,
        has_dynamic_pricing: has_dynamic_pricing === 1,
        covered: covered === 1,
        sellable: sellable === 1,
      };
    },
    isVisible: (product_id) => visible.get({ product_id }) !== undefined,
    said: ({ source, ...of }) => ({
      document: texts.get(of)?.[`${source}_document`] ?? null,
      from_price: price.get(of) ?? null,
    }),
    supplierCurrency: (product_id) => supplier.get({ product_id }) ?? null,
    shown: (product_id) => {
      const row = shown.get({ product_id });
      return row === undefined ? null : { ...row, sellable: row.sellable === 1 };
    },
    countImages: (product_ids) => images.get({ ids: JSON.stringify(product_ids) }) ?? 0,
  };
}

function offSale(db: Reads): Pick<ProductReads, 'datesOffAt'> {
  const datesOff = db.values(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('_product').select('dates_off_at').where('product_id', '=', product_id),
  );
  return { datesOffAt: (product_id) => datesOff.get({ product_id }) ?? null };
}

function visibleProducts(
  db: Reads,
): Omit<
  ProductReads,
  'find' | 'datesOffAt' | 'isVisible' | 'said' | 'supplierCurrency' | 'shown' | 'firstImage' | 'countImages'
> {
  const visible = query.selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null);
  const all = db.values(() => visible.orderBy('product_id'));
  const after = db.values(({ product_id, limit }: Bound<OfProduct & Limited>) =>
    visible.where('product_id', '>', product_id).orderBy('product_id').limit(limit),
  );
  const verifiedBefore = db.values(({ at, limit }: Bound<{ at: Instant } & Limited>) =>
    visible.where('images_verified_at', '<', at).orderBy('images_verified_at').limit(limit),
  );
  const count = db.values(() =>
    query
      .selectFrom('_product')
      .select((of) => of.fn.countAll<number>().as('products'))
      .where('withdrawn_at', 'is', null),
  );
  return {
    ids: () => all.all(),
    idsAfter: (product_id, limit) => after.all({ product_id, limit }),
    imagesVerifiedBefore: (at, limit) => verifiedBefore.all({ at, limit }),
    count: () => count.get() ?? 0,
  };
}
