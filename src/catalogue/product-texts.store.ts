import { hash } from 'node:crypto';
import { changedFields, differing } from '../feed/change.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import { type Bound, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import type { Members } from '../kernel/values/exact-json.ts';
import { lacksMembers, mergeDocuments } from '../kernel/values/exact-json.ts';
import { products } from '../mirror/contract/products.ts';
import { query, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import type { SearchTable } from '../storefront/search/search.store.ts';
import { factsOf, membersOf } from './document-facts.store.ts';
import type { ProductEntry } from './product.rules.ts';
import type { ProductRead, StoredProduct } from './product-reads.store.ts';
import { slugOf } from './slug.rules.ts';
import { offsetColumns } from './zones.store.ts';

type TextRow = Tables['_product_text'];
type Text = TextRow & Omit<Tables['_text_read'], 'shown_stale_at' | 'expired_at'>;
type Shown = Tables['product'];

/** `differing`: what readers see otherwise than before, by its members and columns. */
export type TextChange = Pick<StoredProduct, 'fields' | 'before_at'> & {
  readonly changed: boolean;
  readonly differing: readonly string[];
};
export const noTextChange: TextChange = { changed: false, fields: [], before_at: null, differing: [] };

const textKey = ['product_id', 'language'] as const;
const entryColumns = ['title', 'tagline', 'city_name', 'country_name'] as const;
const readColumns = ['list_read_at', 'detail_read_at', 'checked_at', 'stale_at', 'held_at'] as const;
const withoutDocuments = [...entryColumns, 'city_path', 'changed_at', 'list_hash', 'detail_hash'] as const;
const textColumns = [...withoutDocuments, 'list_document', 'detail_document', 'merged_document'] as const;

/** The texts of products, by language. */
export class ProductTexts extends Store<Writes> {
  readonly #brief = this.db.row((of: Bound<TextKey>) => stored(of).select([...withoutDocuments, ...readColumns]));
  readonly #whole = this.db.row((of: Bound<TextKey>) =>
    stored(of).select(['t.product_id', 't.language', ...textColumns, ...readColumns]),
  );
  readonly #put = this.db.change(upsert('_product_text', textKey, textColumns));
  readonly #touch = this.db.change(upsert('_text_read', textKey, readColumns));
  readonly #shown: ShownProducts;
  readonly #search: SearchTable;

  constructor(db: Writes, shown: ShownProducts, search: SearchTable) {
    super(db);
    this.#shown = shown;
    this.#search = search;
  }

  /** List entry and detail stand apart: what one of them leaves empty never clears what the other one brought. */
  store(entry: ProductEntry, read: ProductRead): TextChange {
    const { source, language, sent_at, stale_at } = read;
    const { product_id, document } = entry;
    const known = this.#brief({ product_id, language });
    const row = known ?? emptyText(product_id, language, sent_at);
    const before_at = row[`${source}_read_at`];
    if (!mayReplace(before_at, sent_at)) return noTextChange;
    const digest = hash('sha256', document, 'base64url');
    const changed = digest !== row[`${source}_hash`];
    const newest = mayReplace(row.checked_at, sent_at);
    const column = (name: (typeof entryColumns)[number]) =>
      newest ? (entry[name] ?? (source === 'list' ? row[name] : null)) : row[name];
    const city_name = column('city_name');
    const said = {
      ...{ title: column('title'), tagline: column('tagline') },
      ...{ city_name, city_path: slugOf(city_name), country_name: column('country_name') },
      [`${source}_read_at`]: sent_at,
      ...(newest ? { checked_at: sent_at, stale_at, held_at: null } : {}),
    };
    const columns = known === null ? [] : differing(row, { ...row, ...said }, entryColumns);
    this.#touch({ ...row, ...said, product_id, language });
    if (!changed && columns.length === 0) return { ...noTextChange, before_at };
    const before = this.#whole({ product_id, language }) ?? emptyText(product_id, language, sent_at);
    const received: Text = {
      ...before,
      ...said,
      [`${source}_document`]: document,
      [`${source}_hash`]: digest,
      changed_at: changed ? sent_at : before.changed_at,
    };
    const next = changed ? { ...received, merged_document: mergedDocument(received) } : received;
    this.#put(next);
    // Without its title, another language's text is shown in its place.
    if (isTitled(before) && !isTitled(next)) this.#shown.again(product_id);
    else this.#shown.put(next);
    this.#search.textChanged(product_id);
    const members = changed ? changedMembers(before, next) : [];
    const fields = before[`${source}_document`] === null ? [] : members;
    return { changed, fields, before_at, differing: [...new Set([...members, ...columns])].sort() };
  }
}

type TextKey = Pick<Text, (typeof textKey)[number]>;

/** Selects from the text of a product in a language, with when it was read. */
function stored({ product_id, language }: Bound<TextKey>) {
  return query
    .selectFrom('_product_text as t')
    .innerJoin('_text_read as r', (on) =>
      on.onRef('r.product_id', '=', 't.product_id').onRef('r.language', '=', 't.language'),
    )
    .where('t.product_id', '=', product_id)
    .where('t.language', '=', language);
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

/** Columns of `_product`; a trigger of the schema carries their changes over. */
const ofProduct = [
  'sale_status', 'sellable', 'disabled_reason', 'disabled_source', 'expected_reopening', 'alternative_product_id', 'city_id', 'country_id',
  'venue_id', 'latitude', 'longitude', 'timezone', 'rating', 'rating_count',
] as const; // biome-ignore format: a list of columns
const ofText = ['title', 'tagline', 'city_name', 'city_path', 'country_name', 'changed_at'] as const;
/** Columns of `price`, which the view adds. */
const ofPrice = ['from_price', 'prediscount_price'] as const;

/** Columns that are shown as the document has them: those that are declared with a path in it, and stand nowhere else. */
type Fact = Exclude<
  keyof Shown & keyof typeof products.columns,
  | (typeof ofProduct | typeof ofText)[number]
  | 'product_id'
  | 'language'
  | 'language_shown'
  | 'currency'
  | 'expired_at'
  | 'document'
>;
const elsewhere = new Set<string>(['product_id', ...ofProduct, ...ofText, ...ofPrice]);
export const factColumns = Object.fromEntries(
  Object.entries(products.columns).filter(([name, { from }]) => from !== undefined && !elsewhere.has(name)),
) as unknown as Pick<typeof products.columns, Fact>;
const ofDocument = [...(Object.keys(factColumns) as Fact[]), 'document'] as const;

/** The rows of `product`: a visible product in each mirrored language, with the text that is shown there. */
export class ShownProducts extends Store<Writes> {
  readonly #put = this.db.change(putting);
  readonly #texts = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_product_text').selectAll().where('product_id', '=', product_id),
  );
  readonly #dropOthers = this.db.change(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .deleteFrom('product')
      .where('product_id', '=', product_id)
      .where('language', 'not in', query.selectFrom('languages').select('language')),
  );
  readonly #visible = this.db.values(() =>
    query.selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null),
  );

  /** Shows a text in its language, and in those that have none of their own. Rows that are the same are not written. */
  put(text: TextRow): void {
    const { product_id, language } = text;
    const document = shownDocument(text);
    const members = membersOf(document);
    this.#put({
      product_id,
      language,
      document,
      text_language: languageOf(members),
      ...factsOf(members, factColumns),
    });
  }

  /** Makes the rows of a product again from all its texts. */
  again(product_id: number): void {
    this.#dropOthers({ product_id });
    for (const text of this.#texts({ product_id })) this.put(text);
  }

  /** Makes the rows of all products again, after a change of the mirrored languages or of the primary edition. */
  allAgain(): void {
    for (const product_id of this.#visible()) this.again(product_id);
  }
}

/** Returns the two letters of the language that a text says it is in: a service may answer in another one than was asked for. */
function languageOf({ language }: Members): string | null {
  return /^[a-z]{2}(?=$|[-_])/.exec(String(language ?? '').toLowerCase())?.[0] ?? null;
}

/** Returns the document of a text that readers see. */
function shownDocument({ merged_document, detail_document, list_document }: TextRow): string | null {
  return merged_document ?? detail_document ?? list_document;
}

type Put = Pick<Shown, 'product_id' | 'language' | (typeof ofDocument)[number]> & { text_language: string | null };

/** The text shown in a language is its own where that has a title, else that of the primary language, else of any. */
function putting(bound: Bound<Put>) {
  const textIn = (language: string) =>
    sql`select x.language from _product_text x where x.product_id = p.product_id and x.language = ${sql.ref(language)}`;
  const computed = {
    language: sql.ref('l.language'),
    read_language: sql.ref('t.language'),
    language_shown: sql`coalesce(${bound.text_language}, ${sql.ref('t.language')})`,
    currency: sql.ref('m.currency'),
    detail_target_ms: query.selectFrom('_target').select('target_ms').where('resource', '=', 'product_detail'),
    ...offsetColumns,
  };
  const others = [...Object.keys(computed), ...ofProduct, ...ofText, ...ofDocument] as (keyof Shown)[];
  return query
    .insertInto('product')
    .columns(['product_id', ...others])
    .expression(
      query
        .selectFrom('_product as p')
        .crossJoin('_mirror as m')
        .crossJoin('languages as l')
        .crossJoin('_product_text as t')
        .select('p.product_id')
        .select(Object.entries(computed).map(([name, value]) => sql`${value}`.as(name)))
        .select(ofProduct.map((name) => `p.${name}` as const))
        .select(ofText.map((name) => `t.${name}` as const))
        .select(ofDocument.map((name) => sql`${bound[name]}`.as(name)))
        .where('p.product_id', '=', bound.product_id)
        .where('p.withdrawn_at', 'is', null)
        .whereRef('t.product_id', '=', 'p.product_id')
        .where('t.language', '=', bound.language)
        .where(
          't.language',
          '=',
          sql<string>`coalesce((${textIn('l.language')} and x.title <> ''), (${textIn('m.language')}),
            (select min(x.language) from _product_text x where x.product_id = p.product_id))`,
        ) as never,
    )
    .onConflict((taken) =>
      taken
        .columns(['product_id', 'language'])
        .doUpdateSet(Object.fromEntries(others.map((name) => [name, sql.raw(`excluded."${name}"`)])) as never)
        .where((of) =>
          of.or(others.map((name) => of(`product.${name}`, 'is not', sql.raw(`excluded."${name}"`) as never))),
        ),
    );
}
