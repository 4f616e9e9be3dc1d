import { hash } from 'node:crypto';
import type { Instant } from '../../../clock.ts';
import type { ProductEntry } from '../../../domain/catalogue/product.ts';
import { slugOf } from '../../../domain/catalogue/slug.ts';
import { changedFields, differing } from '../../../domain/changes/change.ts';
import { mayReplace } from '../../../domain/schedule/record.ts';
import { lacksMembers, mergeDocuments } from '../../../domain/values/exact-json.ts';
import { type Bound, pick, type Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { SearchTable } from '../search.ts';
import type { ProductRead, StoredProduct } from './entry.ts';
import { type ShownProducts, shownDocument, type Text } from './shown.ts';

type OfText = Pick<Text, 'product_id' | 'language'>;

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

const shownColumns = ['title', 'tagline', 'city_name', 'country_name'] as const;
const instantColumns = ['list_read_at', 'detail_read_at', 'checked_at', 'stale_at', 'held_at'] as const;
const withoutDocuments = [
  ...shownColumns,
  'city_path',
  ...instantColumns,
  'changed_at',
  'list_hash',
  'detail_hash',
] as const;
const textColumns = [...withoutDocuments, 'list_document', 'detail_document', 'merged_document'] as const;

interface Ports {
  readonly shown: ShownProducts;
  readonly search: SearchTable;
}

export function productTexts(db: Writes, { shown, search }: Ports): ProductTexts {
  const select = <Columns extends readonly (keyof Text)[]>(columns: Columns) =>
    db.rows(({ product_id, language }: Bound<OfText>) =>
      query
        .selectFrom('_product_text')
        .select(columns)
        .where('product_id', '=', product_id)
        .where('language', '=', language),
    );
  const brief = select(withoutDocuments);
  const whole = select(['product_id', 'language', ...textColumns]);
  const put = db.change(upsert('_product_text', ['product_id', 'language'], textColumns));
  const touch = db.change((bound: Bound<OfText & Pick<Text, (typeof instantColumns)[number]>>) =>
    query
      .updateTable('_product_text')
      .set(pick(bound, instantColumns))
      .where('product_id', '=', bound.product_id)
      .where('language', '=', bound.language),
  );

  function store(entry: ProductEntry, read: ProductRead): TextChange {
    const { source, language, sent_at, stale_at } = read;
    const { product_id, document } = entry;
    const known = brief.get({ product_id, language });
    const row = known ?? emptyText(product_id, language, sent_at);
    const before_at = row[`${source}_read_at`];
    if (!mayReplace(before_at, sent_at)) return noTextChange;
    const digest = hash('sha256', document, 'base64url');
    const changed = digest !== row[`${source}_hash`];
    const newest = mayReplace(row.checked_at, sent_at);
    const column = (name: (typeof shownColumns)[number]) =>
      newest ? (entry[name] ?? (source === 'list' ? row[name] : null)) : row[name];
    const city_name = column('city_name');
    const said = {
      ...{ title: column('title'), tagline: column('tagline') },
      ...{ city_name, city_path: slugOf(city_name), country_name: column('country_name') },
      [`${source}_read_at`]: sent_at,
      ...(newest ? { checked_at: sent_at, stale_at, held_at: null } : {}),
    };
    const columns = known === undefined ? [] : differing(row, { ...row, ...said }, shownColumns);
    if (!changed && columns.length === 0) {
      const next = { ...row, ...said, product_id, language };
      touch.run(next);
      shown.touch(next);
      return { ...noTextChange, before_at };
    }
    const before = whole.get({ product_id, language }) ?? emptyText(product_id, language, sent_at);
    const received: Text = {
      ...before,
      ...said,
      [`${source}_document`]: document,
      [`${source}_hash`]: digest,
      changed_at: changed ? sent_at : before.changed_at,
    };
    const next = changed ? { ...received, merged_document: mergedDocument(received) } : received;
    put.run(next);
    // Without its title, another language's text is shown in its place.
    if (isTitled(before) && !isTitled(next)) shown.again(product_id);
    else shown.put(next);
    search.textChanged(product_id);
    const members = changed ? changedMembers(before, next) : [];
    const fields = before[`${source}_document`] === null ? [] : members;
    return { changed, fields, before_at, differing: [...new Set([...members, ...columns])].sort() };
  }

  return { store };
}

/** Returns what differs in the document that readers see. */
function changedMembers(row: Text, next: Text): readonly string[] {
  const [before, after] = [row, next].map(shownDocument);
  return before == null || after == null ? [] : changedFields(before, after);
}

function isTitled({ title }: Text): boolean {
  return title !== null && title !== '';
}

function emptyText(product_id: number, language: string, at: Instant): Text {
  return {
    product_id, language, title: null, tagline: null, city_name: null, city_path: null, country_name: null,
    list_document: null, list_hash: null, list_read_at: null,
    detail_document: null, detail_hash: null, detail_read_at: null, merged_document: null,
    checked_at: at, changed_at: at, stale_at: at, held_at: null,
  }; // biome-ignore format: one row
}

function mergedDocument({ list_document, detail_document }: Text): string | null {
  if (list_document === null || detail_document === null) return null;
  return lacksMembers(detail_document, list_document) ? mergeDocuments(list_document, detail_document) : null;
}
