import { isConverted, noRate, rateDifference } from '../dates/converted-price.rules.ts';
import { ProductPrices } from '../dates/prices.store.ts';
import { differing } from '../feed/change.rules.ts';
import { type ChangeTable, FeedingStore, type FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import { type Bound, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, dropBy, insertOf, query, setBy, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { type ClosureVerdict, judge } from '../push/closure.rules.ts';
import type { ClosureTable, StoredClosure } from '../push/closures.store.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import type { BatchReads } from '../schedule/signal.rules.ts';
import type { SearchTable } from '../storefront/search/search.store.ts';
import { type ImageLedger, ImageTable } from './images.store.ts';
import type { ProductEntry } from './product.rules.ts';
import { type ProductRead, ProductReads, type StoredProduct } from './product-reads.store.ts';
import { noTextChange, ProductTexts, type ShownProducts, type TextChange } from './product-texts.store.ts';
import type { ZoneTable } from './zones.store.ts';

/** The tables that products are stored beside. */
interface ProductPorts {
  readonly changes: ChangeTable;
  readonly closures: ClosureTable;
  readonly shown: ShownProducts;
  readonly search: SearchTable;
  readonly images: ImageLedger;
  readonly zones: ZoneTable;
}

/** Products with their texts, prices, tags and images. */
export class ProductTables extends ProductReads<Writes> {
  readonly #signal = this.db.change(setBy('_product', ['product_id'], ['signal_at', 'signal_before_at']));
  readonly #changes: ChangeTable;
  readonly #rows: ProductRows;
  readonly #texts: ProductTexts;
  readonly #prices: ProductPrices;

  constructor(db: Writes, ports: ProductPorts) {
    super(db);
    this.#changes = ports.changes;
    this.#rows = new ProductRows(db, ports);
    this.#texts = new ProductTexts(db, ports.shown, ports.search);
    this.#prices = new ProductPrices(db, ports.changes);
  }

  store(entry: ProductEntry, read: ProductRead): StoredProduct {
    const { source, language, currency, primary } = read;
    const row = this.#rows.find({ product_id: entry.product_id });
    const kept = {
      was: row?.sale_status ?? null,
      is: row?.sale_status ?? entry.sale_status,
      sale: 'neither' as const,
    };
    // Further editions only add to what a primary read has found.
    if ((language !== primary.language || currency !== primary.currency) && row === null)
      return {
        outcome: 'late',
        ...kept,
        detail_doubted: false,
        repriced: false,
        by_rate: false,
        fields: [],
        before_at: null,
      };
    const earlier = this.#changes.added();
    const rate = isConverted(entry.document, currency)
      ? rateDifference(this.said({ ...read, product_id: entry.product_id }).document, entry.document, currency)
      : noRate;
    const primarily = language === primary.language && currency === primary.currency;
    const { differing: columns, ...status } = primarily
      ? this.#rows.store(entry, read)
      : { outcome: 'unchanged' as const, ...kept, differing: [] };
    // A further language brings texts in the primary currency, a further currency prices in the primary language.
    const text =
      currency === primary.currency && read.onlySaleAndImages !== true ? this.#texts.store(entry, read) : noTextChange;
    // A withdrawn product is not shown, and `product_returned` reports all of one that comes back.
    const known = row === null || row.withdrawn_at !== null ? 'added' : 'known';
    const price =
      language === primary.language &&
      read.onlySaleAndImages !== true &&
      this.#prices.store(entry, read, known, rate.prices);
    const told = this.#changes.added() > earlier;
    if (known === 'known')
      this.#tellFields([...new Set([...text.differing, ...columns])].sort(), { entry, read, text, told });
    const outcome = status.outcome === 'unchanged' && (text.changed || price) ? 'changed' : status.outcome;
    const { before_at } = text;
    const by_rate = rate.alone && status.outcome === 'unchanged';
    const fields = rate.alone ? [] : text.fields;
    const detail_doubted = text.changed && source === 'list' && !rate.alone;
    return { ...status, outcome, detail_doubted, repriced: price && !rate.prices, by_rate, fields, before_at };
  }

  /** The closure in force takes effect: the product is off sale until reads decide. */
  close(product_id: number, by: FoundBy): void {
    this.#rows.close(product_id, by);
  }

  /** Records that price or sale status differ between two reads of its list entry: its dates may have changed too. */
  signalled(product_id: number, { at, before_at }: { readonly [Name in keyof BatchReads]: Instant }): void {
    this.#signal({ product_id, signal_at: at, signal_before_at: before_at });
  }

  /**
   * Reports fields that differ, if no other entry of the change feed does. Fields that a first read brings are reported
   * only once the mirror is filled.
   */
  #tellFields(
    fields: readonly string[],
    { entry, read, text, told }: { entry: ProductEntry; read: ProductRead; text: TextChange; told: boolean },
  ): void {
    const again = text.fields.length > 0;
    const first = this.#changes.tellsFirstReads() && (fields.length > 0 || (text.changed && !told));
    const { product_id } = entry;
    const { language } = read;
    if (again || first) this.#changes.add({ product_id, kind: 'product_changed', language, detail: { fields } }, read);
  }
}

/** Without what is computed, and what is no part of a read. */
type Product = Omit<Tables['_product_read'], 'list_place'> &
  Omit<
    Tables['_product'],
    | 'sellable'
    | 'shut'
    | 'category'
    | 'sold'
    | 'sold_at'
    | 'asked'
    | 'asked_at'
    | 'covered'
    | 'dates_off_at'
    | `signal_${string}`
  >;

const productColumns = [
  'timezone', 'sale_status', 'disabled_reason', 'disabled_source', 'expected_reopening', 'alternative_product_id',
  'closure_unconfirmed', 'city_id', 'country_id', 'venue_id', 'latitude', 'longitude', 'rating', 'rating_count', 'weighed_rating',
  'first_seen_at', 'withdrawn_at', 'withdrawn_reason',
] as const; // biome-ignore format: a list of columns

/** Columns shown by views. `offSaleColumns` are those that the report of a changed sale covers. */
const offSaleColumns = [
  'sale_status', 'disabled_reason', 'disabled_source', 'expected_reopening', 'alternative_product_id', 'closure_unconfirmed',
] as const; // biome-ignore format: a list of columns
const otherColumns = [
  'timezone', 'city_id', 'country_id', 'venue_id', 'latitude', 'longitude', 'rating', 'rating_count',
] as const; // biome-ignore format: a list of columns

/** `differing`: columns shown by views that differ, and that no other entry of the change feed reports. */
type StoredRow = Pick<StoredProduct, 'outcome' | 'was' | 'is' | 'sale'> & {
  readonly differing: readonly string[];
};

/** Columns set only by reads in the primary language: visibility, sale status, place and images. */
class ProductRows extends FeedingStore {
  readonly find = this.db.row(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_product as p')
      .innerJoin('_product_read as r', 'r.product_id', 'p.product_id')
      .select(['p.product_id', ...productColumns, 'read_at', 'images_verified_at'])
      .where('p.product_id', '=', product_id),
  );
  readonly #put = this.db.change(upsert('_product', ['product_id'], productColumns));
  readonly #touch = this.db.change(upsert('_product_read', ['product_id'], ['read_at', 'images_verified_at']));
  readonly #tags = new ProductTags(this.db);
  readonly #alternatives = new Recommending(this.db, this.changes);
  readonly #ports: ProductPorts;
  readonly #images: ImageTable;

  constructor(db: Writes, ports: ProductPorts) {
    super(db, ports.changes);
    this.#ports = ports;
    this.#images = new ImageTable(db, ports.changes, ports.images);
  }

  store(entry: ProductEntry, read: ProductRead): StoredRow {
    const { closures, shown, search, images, zones } = this.#ports;
    const { sent_at, now } = read;
    const row = this.find({ product_id: entry.product_id });
    // An answer to a request sent before the withdrawal does not undo it: only a newer read brings the product back.
    if (row !== null && !(mayReplace(row.read_at, sent_at) && mayReplace(row.withdrawn_at, sent_at))) {
      // Reads in between may have left out the images.
      if (entry.images !== null && row.withdrawn_at === null && mayReplace(row.images_verified_at, sent_at)) {
        this.#write(row, { ...row, images_verified_at: sent_at });
        this.#replaceImages(row, entry, read);
      }
      return { outcome: 'late', was: row.sale_status, is: row.sale_status, sale: 'neither', differing: [] };
    }
    const { product_id, sale_status } = entry;
    const said = read.onlySaleAndImages === true && row !== null ? row : entry;
    const timezone = this.#zoneOf(said, entry.unread?.has('timezone') === true, product_id);
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
    if (row === null || row.timezone !== timezone) zones.add(timezone, now);
    this.#write(row, next);
    if (row !== null && row.withdrawn_at !== null) shown.again(product_id);
    if (row === null || row.withdrawn_at !== null || locationKey(row) !== locationKey(next))
      search.productChanged(product_id);
    // Those of a withdrawn product were dropped with it, and `product_returned` reports them.
    const otherTags = this.#tags.store(product_id, entry.tag_ids) && row?.withdrawn_at === null;
    const imagesChanged = this.#replaceImages(row, entry, read);
    if (row !== null && row.withdrawn_at !== null) images.productReturned({ product_id, at: sent_at });
    const told = tellSale(this.changes, row, next, entry, read);
    const outcome = outcomeOf(row, imagesChanged || row?.sale_status !== sale_status);
    this.#recommend(row, next, read);
    const differs =
      row === null ? [] : differing(row, next, told ? otherColumns : [...offSaleColumns, ...otherColumns]);
    return {
      ...{ outcome, was: row?.sale_status ?? null, is: sale_status, sale: saleOf(row, next) },
      differing: otherTags ? [...differs, 'tag_ids'] : differs,
    };
  }

  /** Takes a product off sale by a closure in force, and reports what differs since. */
  close(product_id: number, by: FoundBy): void {
    const row = this.find({ product_id });
    this.#ports.closures.apply({ product_id });
    const next = this.find({ product_id });
    if (row === null || next === null) return;
    const { disabled_reason: reason, expected_reopening } = next;
    const fields = differing(row, next, offSaleColumns);
    if (isOnSale(row))
      this.changes.add({ product_id, kind: 'sale_disabled', detail: { reason, expected_reopening } }, by);
    else if (fields.length > 0 && this.changes.tellsFirstReads())
      this.changes.add({ product_id, kind: 'product_changed', detail: { fields } }, by);
    this.#recommend(row, next, by);
  }

  /**
   * Returns the zone that counts for a product: that of its timeslots, else its own; where that cannot be read, the one of
   * most products of its city.
   */
  #zoneOf({ timezone, city_id }: Product | ProductEntry, isUnread: boolean, product_id: number) {
    const { zones } = this.#ports;
    const known = zones.ofSlots(product_id) ?? timezone;
    return known === null && isUnread && city_id !== null ? zones.ofCity({ city_id }) : known;
  }

  /** Writes a row over the one that is known. Walks find most products as they were, and write only when they read them. */
  #write(row: Product | null, next: Product): void {
    this.#touch(next);
    if (row === null || differing(row, next, productColumns).length > 0) this.#put(next);
  }

  /** Stores the images of a read; returns whether they differ. False if the read leaves images out. */
  #replaceImages(row: Product | null, entry: ProductEntry, read: ProductRead): boolean {
    const known = {
      before_at: row?.images_verified_at ?? null,
      product: row === null || row.withdrawn_at !== null ? 'added' : 'known',
    } as const;
    return entry.images !== null && this.#images.replace(entry.product_id, entry.images, { ...read, ...known });
  }

  /** Stores the alternatives again that follow from what differs in a row. */
  #recommend(row: Product | null, next: Product, by: FoundBy): void {
    if (row === null || alternativeKey(row) !== alternativeKey(next)) this.#alternatives.changed(next.product_id, by);
    else if (mayHaveAlternative(row) !== mayHaveAlternative(next)) this.#alternatives.again(next.product_id);
  }
}

/** The tags of products. */
class ProductTags extends Store<Writes> {
  readonly #ids = this.db.values(byKey('product_tags', ['product_id'], ['tag_id']));
  readonly #drop = this.db.change(dropBy('product_tags', ['product_id']));
  readonly #add = this.db.change(insertOf('product_tags', ['product_id', 'tag_id']));

  /** Returns whether they are others than before. */
  store(product_id: number, tag_ids: readonly number[]): boolean {
    const stored = new Set(this.#ids({ product_id }));
    if (stored.size === tag_ids.length && tag_ids.every((id) => stored.has(id))) return false;
    this.#drop({ product_id });
    for (const tag_id of tag_ids) this.#add({ product_id, tag_id });
    return true;
  }
}

function outcomeOf(row: Product | null, changed: boolean): StoredProduct['outcome'] {
  if (row === null) return 'added';
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

/**
 * Returns why a product is off sale: by the read, in whose silence the notification's words stand; or by the
 * notification alone.
 */
function offSale(
  entry: ProductEntry,
  closure: StoredClosure | null,
): Pick<Product, Exclude<(typeof offSaleColumns)[number], 'sale_status'>> {
  const disabled = entry.sale_status === 'disabled';
  const closed = closure !== null && closure.confirmed_at === null && closure.applied_at !== null;
  const words = disabled || closed ? closure : null;
  return {
    disabled_reason: (disabled ? entry.disabled_reason : null) ?? words?.reason ?? null,
    disabled_source: disabled ? 'read' : closed ? 'notification' : null,
    expected_reopening: (disabled ? entry.expected_reopening : null) ?? words?.expected_reopening ?? null,
    alternative_product_id: words?.alternative_product_id ?? null,
    closure_unconfirmed: closed ? 1 : 0,
  };
}

function isOnSale({ sale_status, closure_unconfirmed }: Product): boolean {
  return sale_status === 'enabled' && closure_unconfirmed === 0;
}

/** Returns what a read says of a product's sale beside the row before it. */
function saleOf(row: Product | null, next: Product): StoredProduct['sale'] {
  if (!isOnSale(next)) return 'neither';
  return row !== null && !isOnSale(row) ? 'back' : 'on';
}

/** Reports to the change feed how a read changes a product's sale. Returns whether it did. */
function tellSale(
  changes: ChangeTable,
  row: Product | null,
  next: Product,
  { title }: ProductEntry,
  read: ProductRead,
): boolean {
  const { product_id, disabled_reason: reason, expected_reopening } = next;
  if (row === null) {
    changes.add({ product_id, kind: 'product_added', detail: { title } }, read);
    return true;
  }
  const returned = row.withdrawn_at !== null;
  if (returned) changes.add({ product_id, kind: 'product_returned', detail: { withdrawn_at: row.withdrawn_at } }, read);
  if (isOnSale(row) === isOnSale(next)) return returned;
  if (isOnSale(next)) changes.add({ product_id, kind: 'sale_enabled', detail: {} }, read);
  else changes.add({ product_id, kind: 'sale_disabled', detail: { reason, expected_reopening } }, read);
  return true;
}

const instantOf = {
  confirmed: 'confirmed_at',
  'available-once': 'available_at',
  undone: 'ended_at',
  reopened: 'ended_at',
} as const satisfies Partial<Record<ClosureVerdict, string>>;

/** Notes what a read decides about a closure that is in force; returns the closure as it stands then, null where it is over. */
function decideClosure(
  closures: ClosureTable,
  { product_id, sale_status: is }: ProductEntry,
  sent_at: Instant,
): StoredClosure | null {
  const closure = closures.inForce({ product_id });
  if (closure === null) return null;
  const verdict = judge(closure, is, sent_at);
  if (verdict !== 'undecided') closures.mark(closure.closure_id, instantOf[verdict], sent_at);
  return closures.inForce({ product_id });
}

/** A chain of recommendations is followed so far. */
const longestChain = 8;

/** Products that recommend others while they are closed: what can be had of a chain of recommendations is in `alternatives`. */
export class Recommending extends FeedingStore {
  readonly #direct = this.db.rows(byKey('_product', ['alternative_product_id'], ['product_id', 'withdrawn_at']));
  readonly #one = this.db.row(
    byKey('_product', ['product_id'], ['sellable', 'withdrawn_at', 'closure_unconfirmed', 'alternative_product_id']),
  );
  readonly #stored = this.db.value(byKey('alternatives', ['product_id'], ['alternative_product_id']));
  readonly #drop = this.db.change(dropBy('alternatives', ['product_id']));
  readonly #add = this.db.change(insertOf('alternatives', ['product_id', 'alternative_product_id']));

  /** Handles a product that becomes or stops being available, or recommends another one. Reports those that lead to it. */
  changed(product_id: number, by: FoundBy): void {
    this.again(product_id);
    const met = new Set([product_id]);
    let last = [product_id];
    for (let depth = 0; depth < longestChain && last.length > 0; depth += 1) {
      const next = last
        .flatMap((alternative_product_id) => this.#direct({ alternative_product_id }))
        .filter((each) => !met.has(each.product_id));
      for (const { product_id: id, withdrawn_at } of next) {
        if (met.has(id)) continue;
        met.add(id);
        this.again(id);
        if (withdrawn_at === null && this.changes.tellsFirstReads())
          this.changes.add({ product_id: id, kind: 'product_changed', detail: { fields: ['alternatives'] } }, by);
      }
      last = next.map((each) => each.product_id);
    }
  }

  /** Recomputes the stored alternative of a product after a change in whether the product itself needs one. */
  again(product_id: number): void {
    const [before, after] = [this.#stored({ product_id }), this.#resolved(product_id)];
    if (before === after) return;
    this.#drop({ product_id });
    if (after !== null) this.#add({ product_id, alternative_product_id: after });
  }

  /** Returns the first of a chain that can be had; null: none can, or the product needs none. */
  #resolved(product_id: number): number | null {
    const row = this.#one({ product_id });
    if (row === null || row.withdrawn_at !== null || row.sellable === 1 || row.closure_unconfirmed === 1) return null;
    let candidate = row.alternative_product_id;
    for (let depth = 0; depth < longestChain && candidate !== null; depth += 1) {
      const next = this.#one({ product_id: candidate });
      if (next?.sellable === 1) return candidate;
      candidate = next?.alternative_product_id ?? null;
    }
    return null;
  }
}

/** Ratings that every product is taken to have beside its own, and their stars. */
const prior = { people: 10, stars: 4 };

/**
 * Returns thousandths of a star: a rating by two people says less than one by two thousand. A rating without a number of people
 * counts as one by ten.
 */
function weighedRating(rating: number | null, rating_count: number | null): number {
  const people = rating === null ? 0 : (rating_count ?? 10);
  const stars = Math.min(Math.max(rating ?? prior.stars, 0), 5);
  return Math.round((1000 * (prior.people * prior.stars + stars * people)) / (prior.people + people));
}
