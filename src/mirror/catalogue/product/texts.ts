import { hash } from 'node:crypto';
import type { Instant } from '../../../clock.ts';
import { factsOf } from '../../../domain/catalogue/document-facts.ts';
import type { ProductEntry } from '../../../domain/catalogue/product.ts';
import { changedFields, differing } from '../../../domain/changes/change.ts';
import { mayReplace } from '../../../domain/schedule/record.ts';
import { lacksMembers, mergeDocuments } from '../../../domain/values/exact-json.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { SearchTable } from '../search.ts';
import type { ProductRead, StoredProduct } from './entry.ts';

type Text = Tables['_product_text'];

/** `differing`: what readers see otherwise than before, by its members and columns. */
export type TextChange = Pick<StoredProduct, 'fields' | 'before_at'> & {
  readonly changed: boolean;
  readonly differing: readonly string[];
};
export const noTextChange: TextChange = { changed: false, fields: [], before_at: null, differing: [] };

/** The texts of products, by language. */
export interface ProductTexts {
  /** List entry and detail stand apart: what one of them leaves empty never clears what the other one brought. */
  store(entry: ProductEntry, read: ProductRead): TextChange;
}

const textColumns = [
  'title', 'tagline', 'city_name', 'country_name', 'list_document', 'list_hash', 'list_read_at', 'detail_document',
  'detail_hash', 'detail_read_at', 'merged_document', 'checked_at', 'changed_at', 'stale_at', 'held_at',
  'text_language', 'slug', 'url', 'summary', 'description', 'duration', 'languages', 'cancellation_policy', 'cancellation_window', 'supplier',
  'venue_name', 'venue_address', 'wheelchair_access', 'is_package',
] as const; // biome-ignore format: a list of columns

const shownColumns = ['title', 'tagline', 'city_name', 'country_name'] as const;

export function productTexts(db: Writes, search: SearchTable): ProductTexts {
  const one = db.rows(({ product_id, language }: Bound<Pick<Text, 'product_id' | 'language'>>) =>
    query.selectFrom('_product_text').selectAll().where('product_id', '=', product_id).where('language', '=', language),
  );
  const put = db.change(upsert('_product_text', ['product_id', 'language'], textColumns));

  function store(entry: ProductEntry, read: ProductRead): TextChange {
    const { source, language, sent_at, now, stale_at } = read;
    const { product_id, document } = entry;
    const row = one.get({ product_id, language }) ?? emptyText(product_id, language, sent_at);
    const before_at = row[`${source}_read_at`];
    if (!mayReplace(before_at, sent_at, now)) return noTextChange;
    const digest = hash('sha256', document, 'base64url');
    const changed = digest !== row[`${source}_hash`];
    const newest = mayReplace(row.checked_at, sent_at, now);
    const column = (name: 'title' | 'tagline' | 'city_name' | 'country_name') =>
      newest ? (entry[name] ?? (source === 'list' ? row[name] : null)) : row[name];
    const received: Text = {
      ...row,
      title: column('title'), tagline: column('tagline'), city_name: column('city_name'), country_name: column('country_name'),
      [`${source}_document`]: document,
      [`${source}_hash`]: digest,
      [`${source}_read_at`]: sent_at,
      ...(newest ? { checked_at: sent_at, stale_at, held_at: null } : {}),
      changed_at: changed ? sent_at : row.changed_at,
    }; // biome-ignore format: one row
    const next = changed ? withFacts({ ...received, merged_document: mergedDocument(received) }) : received;
    const members = changed ? changedMembers(row, next) : [];
    put.run(next);
    if (changed || spoken(row) !== spoken(next)) search.textChanged(product_id);
    const columns = isNew(row) ? [] : differing(row, next, shownColumns);
    const fields = row[`${source}_document`] === null ? [] : members;
    return { changed, fields, before_at, differing: [...new Set([...members, ...columns])].sort() };
  }

  return { store };
}

/** Returns what differs in the document that readers see. */
function changedMembers(row: Text, next: Text): readonly string[] {
  const [before, after] = [row, next].map(shownDocument);
  return before == null || after == null ? [] : changedFields(before, after);
}

function isNew({ list_document, detail_document }: Text): boolean {
  return list_document === null && detail_document === null;
}

/** What is searched of a text beside its document, to compare. */
function spoken({ title, tagline, city_name }: Text): string {
  return JSON.stringify([title, tagline, city_name]);
}

function emptyText(product_id: number, language: string, at: Instant): Text {
  return {
    product_id, language, title: null, tagline: null, city_name: null, country_name: null,
    list_document: null, list_hash: null, list_read_at: null,
    detail_document: null, detail_hash: null, detail_read_at: null, merged_document: null,
    checked_at: at, changed_at: at, stale_at: at, held_at: null, ...factsOf(null),
  }; // biome-ignore format: one row
}

function withFacts(row: Text): Text {
  return { ...row, ...factsOf(shownDocument(row)) };
}

/** Returns the document that the view `products` shows. */
function shownDocument({ merged_document, detail_document, list_document }: Text): string | null {
  return merged_document ?? detail_document ?? list_document;
}

function mergedDocument({ list_document, detail_document }: Text): string | null {
  if (list_document === null || detail_document === null) return null;
  return lacksMembers(detail_document, list_document) ? mergeDocuments(list_document, detail_document) : null;
}
