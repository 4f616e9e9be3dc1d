import type { ProductEntry } from '../../../domain/catalogue/product.ts';
import { weighedRating } from '../../../domain/catalogue/weighed-rating.ts';
import { differing } from '../../../domain/changes/change.ts';
import { mayReplace } from '../../../domain/schedule/record.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../../changes/changes.ts';
import type { ClosureTable } from '../../push/closures.ts';
import { query, upsert } from '../../sql/sql.ts';
import { type ImageLedger, ImageTable } from '../images.ts';
import type { SearchTable } from '../search.ts';
import type { ZoneTable } from '../zones.ts';
import { recommending } from './alternatives.ts';
import type { ProductRead, StoredProduct } from './entry.ts';
import { decideClosure, isOnSale, offSale, type Product, saleOf, tellSale } from './sale.ts';
import type { ShownProducts } from './shown.ts';
import { productTags } from './tags.ts';

/** Columns set only by reads in the primary language: visibility, sale status, place and images. */
export interface ProductRows {
  find(product_id: number): Pick<Product, 'sale_status' | 'withdrawn_at'> | null;
  store(entry: ProductEntry, read: ProductRead): StoredRow;
  /** The closure in force takes effect: the product is off sale until reads decide. */
  close(product_id: number, by: FoundBy): void;
}

/** `differing`: columns shown by views that differ, and that no other entry of the change feed reports. */
export type StoredRow = Pick<StoredProduct, 'outcome' | 'was' | 'is' | 'sale'> & {
  readonly differing: readonly string[];
};

interface Ports {
  readonly changes: ChangeTable;
  readonly closures: ClosureTable;
  readonly shown: Pick<ShownProducts, 'again'>;
  readonly search: SearchTable;
  readonly images: ImageLedger;
  readonly zones: Pick<ZoneTable, 'add' | 'ofSlots' | 'ofCity'>;
}

const productColumns = [
  'timezone', 'sale_status', 'disabled_reason', 'disabled_source', 'expected_reopening', 'alternative_product_id',
  'closure_unconfirmed', 'city_id', 'country_id', 'venue_id', 'latitude', 'longitude', 'rating', 'rating_count', 'weighed_rating',
  'first_seen_at', 'read_at',
  'images_verified_at', 'withdrawn_at', 'withdrawn_reason',
] as const; // biome-ignore format: a list of columns

/** Columns that every read sets; all others are `factColumns`. */
const instantColumns = ['read_at', 'images_verified_at'] as const;
type Instants = Pick<Product, 'product_id' | (typeof instantColumns)[number]>;
const factColumns = productColumns.filter((name) => !(instantColumns as readonly string[]).includes(name));

/** Columns shown by views. `offSaleColumns` are those that the report of a changed sale covers. */
const offSaleColumns = [
  'sale_status', 'disabled_reason', 'disabled_source', 'expected_reopening', 'alternative_product_id', 'closure_unconfirmed',
] as const; // biome-ignore format: a list of columns
const otherColumns = [
  'timezone', 'city_id', 'country_id', 'venue_id', 'latitude', 'longitude', 'rating', 'rating_count',
] as const; // biome-ignore format: a list of columns

export function productRows(
  db: Writes,
  { changes, closures, shown, search, images: ledger, zones }: Ports,
): ProductRows {
  const one = db.rows(({ product_id }: Bound<Pick<Product, 'product_id'>>) =>
    query
      .selectFrom('_product')
      .select(['product_id', ...productColumns])
      .where('product_id', '=', product_id),
  );
  const put = productWrites(db);
  const images = new ImageTable(db, changes, ledger);
  const tags = productTags(db);
  const alternatives = recommending(db, changes);

  /**
   * Returns the zone that counts for a product: that of its timeslots, else its own; where that cannot be read, the one of
   * most products of its city.
   */
  function zoneOf({ timezone, city_id }: Pick<Product, 'timezone' | 'city_id'>, isUnread: boolean, product_id: number) {
    const known = zones.ofSlots(product_id) ?? timezone;
    return known === null && isUnread && city_id !== null ? zones.ofCity(city_id) : known;
  }

  /** Stores the images of a read; returns whether they differ. False if the read leaves images out. */
  function replaceImages(row: Product | undefined, entry: ProductEntry, read: ProductRead): boolean {
    const known = {
      before_at: row?.images_verified_at ?? null,
      product: row === undefined || row.withdrawn_at !== null ? 'added' : 'known',
    } as const;
    return entry.images !== null && images.replace(entry.product_id, entry.images, { ...read, ...known });
  }

  function store(entry: ProductEntry, read: ProductRead): ReturnType<ProductRows['store']> {
    const { sent_at, now } = read;
    const row = one.get({ product_id: entry.product_id });
    // An answer to a request sent before the withdrawal does not undo it: only a newer read brings the product back.
    if (row !== undefined && !(mayReplace(row.read_at, sent_at) && mayReplace(row.withdrawn_at, sent_at))) {
      // Reads in between may have left out the images.
      if (entry.images !== null && row.withdrawn_at === null && mayReplace(row.images_verified_at, sent_at)) {
        put(row, { ...row, images_verified_at: sent_at });
        replaceImages(row, entry, read);
      }
      return { outcome: 'late', was: row.sale_status, is: row.sale_status, sale: 'neither', differing: [] };
    }
    const { product_id, sale_status } = entry;
    const said = read.onlySaleAndImages === true && row !== undefined ? row : entry;
    const timezone = zoneOf(said, entry.unread?.has('timezone') === true, product_id);
    const { city_id, country_id, venue_id, latitude, longitude, rating } = said;
    const next: Product = {
      product_id, timezone, sale_status, city_id, country_id, venue_id, latitude, longitude, rating,
      ...offSale(entry, decideClosure(closures, entry, sent_at)),
      rating_count: said.rating_count ?? null,
      weighed_rating: weighedRating(rating, said.rating_count ?? null),
      first_seen_at: row?.first_seen_at ?? sent_at,
      read_at: sent_at,
      images_verified_at: entry.images === null ? (row?.images_verified_at ?? null) : sent_at,
      withdrawn_at: null,
      withdrawn_reason: null,
    }; // biome-ignore format: one row
    if (row === undefined || row.timezone !== timezone) zones.add(timezone, now);
    put(row, next);
    if (row !== undefined && row.withdrawn_at !== null) shown.again(product_id);
    if (row === undefined || row.withdrawn_at !== null || locationKey(row) !== locationKey(next))
      search.productChanged(product_id);
    // Those of a withdrawn product were dropped with it, and `product_returned` reports them.
    const otherTags = tags.store(product_id, entry.tag_ids) && row?.withdrawn_at === null;
    const imagesChanged = replaceImages(row, entry, read);
    if (row !== undefined && row.withdrawn_at !== null) ledger.productReturned(product_id, sent_at);
    const told = tellSale(changes, row, next, { title: entry.title, read });
    const outcome = outcomeOf(row, imagesChanged || row?.sale_status !== sale_status);
    if (row === undefined || alternativeKey(row) !== alternativeKey(next)) alternatives.changed(product_id, read);
    else if (mayHaveAlternative(row) !== mayHaveAlternative(next)) alternatives.again(product_id);
    const differs =
      row === undefined ? [] : differing(row, next, told ? otherColumns : [...offSaleColumns, ...otherColumns]);
    return {
      ...{ outcome, was: row?.sale_status ?? null, is: sale_status, sale: saleOf(row, next) },
      differing: otherTags ? [...differs, 'tag_ids'] : differs,
    };
  }

  return {
    find: (product_id) => one.get({ product_id }) ?? null,
    store,
    close: closing(one, { changes, closures, alternatives }),
  };
}

/** Returns what takes a product off sale by a closure in force, and tells what differs since. */
function closing(
  one: { get(of: Pick<Product, 'product_id'>): Product | undefined },
  {
    changes,
    closures,
    alternatives,
  }: Pick<Ports, 'changes' | 'closures'> & { alternatives: ReturnType<typeof recommending> },
): ProductRows['close'] {
  return (product_id, by) => {
    const row = one.get({ product_id });
    closures.apply(product_id);
    const next = one.get({ product_id });
    if (row === undefined || next === undefined) return;
    const { disabled_reason: reason, expected_reopening } = next;
    const fields = differing(row, next, offSaleColumns);
    if (isOnSale(row)) changes.add({ product_id, kind: 'sale_disabled', detail: { reason, expected_reopening } }, by);
    else if (fields.length > 0 && changes.tellsFirstReads())
      changes.add({ product_id, kind: 'product_changed', detail: { fields } }, by);
    if (alternativeKey(row) !== alternativeKey(next)) alternatives.changed(product_id, by);
    else if (mayHaveAlternative(row) !== mayHaveAlternative(next)) alternatives.again(product_id);
  };
}

/**
 * Returns what writes a row over the one that is known. Walks find most products as they were: a column that is set anew
 * writes its indexes again, whatever its value, so only the instants are.
 */
function productWrites(db: Writes): (row: Product | undefined, next: Product) => void {
  const put = db.change(upsert('_product', ['product_id'], productColumns));
  const touch = db.change(({ product_id, read_at, images_verified_at }: Bound<Instants>) =>
    query.updateTable('_product').set({ read_at, images_verified_at }).where('product_id', '=', product_id),
  );
  return (row, next) => {
    const { product_id, read_at, images_verified_at } = next;
    if (row !== undefined && differing(row, next, factColumns).length === 0)
      touch.run({ product_id, read_at, images_verified_at });
    else put.run(next);
  };
}

function outcomeOf(row: Product | undefined, changed: boolean): StoredProduct['outcome'] {
  if (row === undefined) return 'added';
  if (row.withdrawn_at !== null) return 'returned';
  return changed ? 'changed' : 'unchanged';
}

/** Returns a text that differs if a product can be an alternative, or no longer, or leads on to another product. */
function alternativeKey(row: Product): string {
  return [row.withdrawn_at === null && isOnSale(row), row.alternative_product_id].join();
}

/** Returns whether a product may have an alternative: it is visible, and its closure, if any, is confirmed. */
function mayHaveAlternative({ withdrawn_at, closure_unconfirmed }: Product): boolean {
  return withdrawn_at === null && closure_unconfirmed === 0;
}

/** Returns a text that differs if the location of a product does. */
function locationKey({ venue_id, latitude, longitude }: Product): string {
  return [venue_id, latitude, longitude].join();
}
