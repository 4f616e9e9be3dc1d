import { hash } from 'node:crypto';
import type { ProductEntry, SaleStatus } from '../../domain/catalogue/product.ts';
import { changedFields } from '../../domain/changes/change.ts';
import { type ClosureVerdict, judge } from '../../domain/sale/closure.ts';
import { type DueReason, mayReplace } from '../../domain/schedule/record.ts';
import { lacksMembers, mergeDocuments } from '../../domain/values/exact-json.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { type Bound, listed, readsOf, writesTo } from '../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import type { ClosureTable, StoredClosure } from '../push/closures.ts';
import { prepare, query, namedUpsert as upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { imageLedger } from './image-ledger.ts';
import { imageTable } from './images.ts';
import { searchTable } from './search.ts';

/** Without what is computed, and what is no part of a read. */
type Product = Omit<Tables['product'], 'sellable' | 'category' | 'sold' | 'sold_at' | 'covered' | 'dates_off_at'>;
type Text = Tables['product_text'];

/** Which read an entry comes from, and what it may say: see `Editions`. */
export interface ProductRead {
  readonly source: 'list' | 'detail';
  readonly language: string;
  readonly currency: string;
  readonly primary: { readonly language: string; readonly currency: string };
  readonly sent_at: number;
  readonly now: number;
  readonly stale_at: number;
  /** Why it was read. */
  readonly reason: DueReason;
}

/** What storing an entry came to. */
export interface StoredProduct {
  readonly outcome: 'added' | 'returned' | 'changed' | 'unchanged' | 'late';
  /** The sale status before, and after. */
  readonly was: SaleStatus | null;
  readonly is: SaleStatus;
  /** What the read says of its sale: `back` from being off sale, still `on`, or neither. */
  readonly sale: 'back' | 'on' | 'neither';
  /** A list entry has changed, so the single-product read stored over it may be outdated too. */
  readonly detail_doubted: boolean;
  /** Members of the document that differ from the last read of the same kind, and when that was sent; null: there was none. */
  readonly fields: readonly string[];
  readonly before_at: number | null;
}

type TextChange = Pick<StoredProduct, 'fields' | 'before_at'> & { readonly changed: boolean };
const noTextChange: TextChange = { changed: false, fields: [], before_at: null };

/** What the engine needs to know of a product before it asks for anything else. */
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
  /** When the newest of its own reads was sent. */
  readonly read_at: number;
  /** Since when some of its dates are answered as not on sale; null: none is. */
  readonly dates_off_at: number | null;
  readonly category: string | null;
  /** Tickets sold, as counted at `sold_at` (see `soldBy`). */
  readonly sold: number;
  readonly sold_at: number | null;
}

/** A product as people ask about it. */
export interface ShownProduct {
  readonly title: string | null;
  readonly sale_status: SaleStatus;
  readonly sellable: boolean;
  readonly disabled_reason: string | null;
  readonly expected_reopening: string | null;
  readonly withdrawn_at: number | null;
  readonly first_seen_at: number;
  readonly images: number;
  readonly images_verified_at: number | null;
}

/** Products with their texts, prices, tags and images. Every function runs inside the caller's transaction. */
export interface ProductTables {
  store(entry: ProductEntry, read: ProductRead): StoredProduct;
  find(product_id: number): KnownProduct | null;
  isVisible(product_id: number): boolean;
  /** The closure in force takes effect: the product is off sale until reads decide. */
  close(product_id: number, by: FoundBy): void;
  /** What people ask about a product, in the primary language; null where it was never seen. */
  shown(product_id: number): ShownProduct | null;
  /** How many images of these products stand: shown, until their 14 days are over. */
  countImages(product_ids: readonly number[]): number;
  /** All visible products, in ascending order. */
  ids(): number[];
  /** The next visible products after one, in ascending order. */
  idsAfter(product_id: number, limit: number): number[];
  /** Visible products whose images were last confirmed before an instant, the oldest first; those never confirmed are not meant. */
  imagesVerifiedBefore(at: number, limit: number): number[];
  count(): number;
  /** On sale by their own reads, and with dates that have been answered as not on sale since an instant or longer. */
  contradicted(since_at: number): number;
}

const productColumns = [
  'timezone', 'sale_status', 'disabled_reason', 'disabled_source', 'expected_reopening', 'alternative_product_id',
  'closure_unconfirmed', 'city_id', 'country_id', 'venue_id', 'latitude', 'longitude', 'rating', 'first_seen_at', 'read_at',
  'images_verified_at', 'withdrawn_at', 'withdrawn_reason',
] as const; // biome-ignore format: a list of columns

const textColumns = [
  'title', 'tagline', 'city_name', 'country_name', 'list_document', 'list_hash', 'list_read_at', 'detail_document',
  'detail_hash', 'detail_read_at', 'merged_document', 'checked_at', 'changed_at', 'stale_at',
] as const; // biome-ignore format: a list of columns

export function productTables(db: Database, changes: ChangeTable, closures: ClosureTable): ProductTables {
  const productRow = db.prepare<[number], Product>('SELECT * FROM product WHERE product_id = ?');
  const textRow = db.prepare<[number, string], Text>(
    'SELECT * FROM product_text WHERE product_id = ? AND language = ?',
  );
  const putProduct = prepare<Product>(db, upsert('product', ['product_id'], productColumns));
  const putText = prepare<Text>(db, upsert('product_text', ['product_id', 'language'], textColumns));
  const priceRow = db.prepare<[number, string], Tables['product_price']>(
    'SELECT * FROM product_price WHERE product_id = ? AND currency = ?',
  );
  const putPrice = prepare<Tables['product_price']>(
    db,
    upsert('product_price', ['product_id', 'currency'], ['from_price', 'read_at', 'stale_at']),
  );
  const tagIds = db.prepare<[number], number>('SELECT tag_id FROM product_tag WHERE product_id = ?').pluck();
  const dropTags = db.prepare<[number]>('DELETE FROM product_tag WHERE product_id = ?');
  const addTag = db.prepare<[number, number]>('INSERT INTO product_tag (product_id, tag_id) VALUES (?, ?)');
  const known = db.prepare<
    [number],
    Omit<KnownProduct, 'has_dynamic_pricing' | 'covered' | 'sellable'> & {
      has_dynamic_pricing: number;
      covered: number;
      sellable: number;
    }
  >(
    `SELECT product_id, timezone, sale_status, expected_reopening, sellable, read_at, dates_off_at, category, sold, sold_at, covered,
       EXISTS (SELECT 1 FROM checkout_information_read c WHERE c.product_id = p.product_id AND c.has_dynamic_pricing = 1) AS has_dynamic_pricing
     FROM product p WHERE product_id = ?`,
  );
  const shown = db.prepare<[number], Omit<ShownProduct, 'sellable'> & { sellable: number }>(
    `SELECT (SELECT t.title FROM product_text t, mirror m WHERE t.product_id = p.product_id AND t.language = m.language) AS title,
       sale_status, sellable, disabled_reason, expected_reopening, withdrawn_at, first_seen_at,
       (SELECT count(*) FROM image i WHERE i.product_id = p.product_id AND i.withdrawn_at IS NULL
         AND (i.doubted_at IS NULL OR i.doubted_at < p.images_verified_at)) AS images, images_verified_at
     FROM product p WHERE product_id = ?`,
  );
  const visible = db
    .prepare<[], number>('SELECT product_id FROM product WHERE withdrawn_at IS NULL ORDER BY product_id')
    .pluck();
  const visibleAfter = db
    .prepare<[number, number], number>(
      'SELECT product_id FROM product WHERE withdrawn_at IS NULL AND product_id > ? ORDER BY product_id LIMIT ?',
    )
    .pluck();
  const verifiedBefore = db
    .prepare<[number, number], number>(
      'SELECT product_id FROM product WHERE withdrawn_at IS NULL AND images_verified_at < ? ORDER BY images_verified_at LIMIT ?',
    )
    .pluck();
  const visibleCount = db.prepare<[], number>('SELECT count(*) FROM product WHERE withdrawn_at IS NULL').pluck();
  const contradicted = db
    .prepare<[number], number>('SELECT count(*) FROM product WHERE dates_off_at <= ? AND sellable = 1')
    .pluck();
  const countOf = readsOf(db).values(({ ids }: Bound<{ ids: string }>) =>
    query
      .selectFrom('image')
      .select((of) => of.fn.countAll<number>().as('images'))
      .where('withdrawn_at', 'is', null)
      .where('product_id', 'in', listed<number>(ids)),
  );
  const ledger = imageLedger(db);
  const images = imageTable(writesTo(db), changes, ledger);
  const search = searchTable(db);

  /** Visibility, sale status, place and images: the primary language's reads only. */
  function storeProduct(
    entry: ProductEntry,
    read: ProductRead,
  ): Pick<StoredProduct, 'outcome' | 'was' | 'is' | 'sale'> {
    const { sent_at, now } = read;
    const row = productRow.get(entry.product_id);
    // Also what was asked before a withdrawal does not undo it: only a newer read brings the product back.
    if (row !== undefined && !(mayReplace(row.read_at, sent_at, now) && mayReplace(row.withdrawn_at, sent_at, now))) {
      return { outcome: 'late', was: row.sale_status, is: row.sale_status, sale: 'neither' };
    }
    const { product_id, timezone, sale_status, city_id, country_id, venue_id, latitude, longitude, rating } = entry;
    const next: Product = {
      product_id, timezone, sale_status, city_id, country_id, venue_id, latitude, longitude, rating,
      ...offSale(entry, decideClosure(product_id, sale_status, sent_at)),
      first_seen_at: row?.first_seen_at ?? sent_at,
      read_at: sent_at,
      images_verified_at: entry.images === null ? (row?.images_verified_at ?? null) : sent_at,
      withdrawn_at: null,
      withdrawn_reason: null,
    }; // biome-ignore format: one row
    putProduct.run(next);
    if (row === undefined || row.withdrawn_at !== null || stands(row) !== stands(next))
      search.productChanged(product_id);
    storeTags(product_id, entry.tag_ids);
    const imagesChanged =
      entry.images !== null &&
      images.replace(product_id, entry.images, { ...read, before_at: row?.images_verified_at ?? null });
    if (row != null && row.withdrawn_at !== null) ledger.productReturned(product_id, sent_at);
    tellStatus(row, next, entry, read);
    const outcome =
      row === undefined
        ? 'added'
        : row.withdrawn_at !== null
          ? 'returned'
          : imagesChanged || row.sale_status !== sale_status
            ? 'changed'
            : 'unchanged';
    const sale = !isOnSale(next) ? 'neither' : row !== undefined && !isOnSale(row) ? 'back' : 'on';
    return { outcome, was: row?.sale_status ?? null, is: sale_status, sale };
  }

  function tellStatus(row: Product | undefined, next: Product, { title }: ProductEntry, read: ProductRead): void {
    const { product_id, disabled_reason: reason, expected_reopening } = next;
    if (row === undefined) {
      changes.add({ product_id, kind: 'product_added', detail: { title } }, read);
      return;
    }
    if (row.withdrawn_at !== null)
      changes.add({ product_id, kind: 'product_returned', detail: { withdrawn_at: row.withdrawn_at } }, read);
    if (isOnSale(row) === isOnSale(next)) return;
    if (isOnSale(next)) changes.add({ product_id, kind: 'sale_enabled', detail: {} }, read);
    else changes.add({ product_id, kind: 'sale_disabled', detail: { reason, expected_reopening } }, read);
  }

  /** What this read decides about a closure that is in force; the closure as it stands then, null where it is over. */
  function decideClosure(product_id: number, is: SaleStatus, sent_at: number): StoredClosure | null {
    const closure = closures.inForce(product_id);
    if (closure === null) return null;
    const { closure_id } = closure;
    const note: Readonly<Record<ClosureVerdict, () => void>> = {
      undecided: () => {},
      confirmed: () => closures.confirmed(closure_id, sent_at),
      'available-once': () => closures.available(closure_id, sent_at),
      undone: () => closures.ended(closure_id, sent_at),
      reopened: () => closures.ended(closure_id, sent_at),
    };
    note[judge(closure, is, sent_at)]();
    return closures.inForce(product_id);
  }

  function storeTags(product_id: number, tag_ids: readonly number[]): void {
    const stored = new Set(tagIds.all(product_id));
    if (stored.size === tag_ids.length && tag_ids.every((id) => stored.has(id))) return;
    dropTags.run(product_id);
    for (const id of tag_ids) addTag.run(product_id, id);
  }

  /** What differs in the document that readers see; what the detail brings for the first time is no change. */
  function tellFields(row: Text, next: Text, read: ProductRead): readonly string[] {
    const [before, after] = [row, next].map(shownDocument);
    if (before == null || after == null) return [];
    const fields = changedFields(before, after);
    const { product_id, language } = next;
    if (fields.length > 0) changes.add({ product_id, kind: 'product_changed', language, detail: { fields } }, read);
    return fields;
  }

  /** List entry and detail stand apart: what one of them leaves empty never clears what the other one brought. */
  function storeText(entry: ProductEntry, read: ProductRead): TextChange {
    const { source, language, sent_at, now, stale_at } = read;
    const { product_id, document } = entry;
    const row = textRow.get(product_id, language) ?? emptyText(product_id, language, sent_at);
    const before_at = row[`${source}_read_at`];
    if (!mayReplace(before_at, sent_at, now)) return noTextChange;
    const digest = hash('sha256', document, 'base64url');
    const changed = digest !== row[`${source}_hash`];
    const newest = mayReplace(row.checked_at, sent_at, now);
    const column = (name: 'title' | 'tagline' | 'city_name' | 'country_name') =>
      newest ? (entry[name] ?? (source === 'list' ? row[name] : null)) : row[name];
    const next: Text = {
      ...row,
      title: column('title'), tagline: column('tagline'), city_name: column('city_name'), country_name: column('country_name'),
      [`${source}_document`]: document,
      [`${source}_hash`]: digest,
      [`${source}_read_at`]: sent_at,
      ...(newest ? { checked_at: sent_at, stale_at } : {}),
      changed_at: changed ? sent_at : row.changed_at,
    }; // biome-ignore format: one row
    if (changed) next.merged_document = mergedDocument(next);
    const fields = changed && row[`${source}_document`] !== null ? tellFields(row, next, read) : [];
    putText.run(next);
    if (changed || spoken(row) !== spoken(next)) search.textChanged(product_id);
    return { changed, fields, before_at };
  }

  function storePrice({ product_id, from_price }: ProductEntry, read: ProductRead): boolean {
    const { currency, sent_at, stale_at, now } = read;
    const row = priceRow.get(product_id, currency);
    if (row !== undefined && !mayReplace(row.read_at, sent_at, now)) return false;
    putPrice.run({ product_id, currency, from_price, read_at: sent_at, stale_at });
    if (row === undefined || row.from_price === from_price) return row === undefined;
    const detail = { currency, old: row.from_price, new: from_price };
    changes.add({ product_id, kind: 'price_changed', detail }, read);
    return true;
  }

  function store(entry: ProductEntry, read: ProductRead): StoredProduct {
    const { source, language, currency, primary } = read;
    const row = productRow.get(entry.product_id);
    const kept = {
      was: row?.sale_status ?? null,
      is: row?.sale_status ?? entry.sale_status,
      sale: 'neither' as const,
    };
    // Further editions only add to what a primary read has found.
    if ((language !== primary.language || currency !== primary.currency) && row === undefined)
      return { outcome: 'late', ...kept, detail_doubted: false, fields: [], before_at: null };
    const status =
      language === primary.language && currency === primary.currency
        ? storeProduct(entry, read)
        : { outcome: 'unchanged' as const, ...kept };
    // A further language brings texts in the primary currency, a further currency prices in the primary language.
    const text = currency === primary.currency ? storeText(entry, read) : noTextChange;
    const price = language === primary.language && storePrice(entry, read);
    const outcome = status.outcome === 'unchanged' && (text.changed || price) ? 'changed' : status.outcome;
    const { fields, before_at } = text;
    return { ...status, outcome, detail_doubted: text.changed && source === 'list', fields, before_at };
  }

  return {
    store,
    find: (product_id) => {
      const row = known.get(product_id);
      if (row === undefined) return null;
      const { has_dynamic_pricing, covered, sellable } = row;
      return {
        ...row,
        has_dynamic_pricing: has_dynamic_pricing === 1,
        covered: covered === 1,
        sellable: sellable === 1,
      };
    },
    isVisible: (product_id) => {
      const row = productRow.get(product_id);
      return row !== undefined && row.withdrawn_at === null;
    },
    close: (product_id, by) => {
      const row = productRow.get(product_id);
      closures.apply(product_id);
      if (row === undefined || !isOnSale(row)) return;
      const { disabled_reason: reason, expected_reopening } = productRow.get(product_id) ?? row;
      changes.add({ product_id, kind: 'sale_disabled', detail: { reason, expected_reopening } }, by);
    },
    shown: (product_id) => {
      const row = shown.get(product_id);
      return row === undefined ? null : { ...row, sellable: row.sellable === 1 };
    },
    countImages: (product_ids) => countOf.get({ ids: JSON.stringify(product_ids) }) ?? 0,
    ids: () => visible.all(),
    idsAfter: (product_id, limit) => visibleAfter.all(product_id, limit),
    imagesVerifiedBefore: (at, limit) => verifiedBefore.all(at, limit),
    count: () => visibleCount.get() ?? 0,
    contradicted: (since_at) => contradicted.get(since_at) ?? 0,
  };
}

type OffSale =
  | 'disabled_reason'
  | 'disabled_source'
  | 'expected_reopening'
  | 'alternative_product_id'
  | 'closure_unconfirmed';

/** Why a product is off sale: by the read, in whose silence the notification's words stand; or by the notification alone. */
function offSale(entry: ProductEntry, closure: StoredClosure | null): Pick<Product, OffSale> {
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

/** Where a product is, to compare. */
function stands({ venue_id, latitude, longitude }: Product): string {
  return [venue_id, latitude, longitude].join();
}

/** What is searched of a text beside its document, to compare. */
function spoken({ title, tagline, city_name }: Text): string {
  return JSON.stringify([title, tagline, city_name]);
}

function isOnSale({ sale_status, closure_unconfirmed }: Pick<Product, 'sale_status' | 'closure_unconfirmed'>): boolean {
  return sale_status === 'enabled' && closure_unconfirmed === 0;
}

function emptyText(product_id: number, language: string, at: number): Text {
  return {
    product_id, language, title: null, tagline: null, city_name: null, country_name: null,
    list_document: null, list_hash: null, list_read_at: null,
    detail_document: null, detail_hash: null, detail_read_at: null, merged_document: null,
    checked_at: at, changed_at: at, stale_at: at,
  }; // biome-ignore format: one row
}

/** The document that the view `products` shows. */
function shownDocument({ merged_document, detail_document, list_document }: Text): string | null {
  return merged_document ?? detail_document ?? list_document;
}

function mergedDocument({ list_document, detail_document }: Text): string | null {
  if (list_document === null || detail_document === null) return null;
  return lacksMembers(detail_document, list_document) ? mergeDocuments(list_document, detail_document) : null;
}
