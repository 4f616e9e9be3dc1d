import type { Members } from '../../../domain/values/members.ts';
import { type Bound, pick, sql, type Writes } from '../../../sqlite/statements.ts';
import { products } from '../../contract/products.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import { factsOf, membersOf } from '../document-facts.ts';
import { offsetColumns } from '../zones.ts';

export type Text = Tables['_product_text'];
type Shown = Tables['product'];

/** The rows of `product`: a visible product in each mirrored language, with the text that is shown there. */
export interface ShownProducts {
  /** Shows a text in its language, and in those that have none of their own. Rows that are the same are not written. */
  put(text: Text): void;
  /** Moves the instants of a text's read, where it is shown. */
  touch(text: Instants): void;
  /** Makes the rows of a product again from all its texts. */
  again(product_id: number): void;
  /** Makes the rows of all products again, after a change of the mirrored languages or of the primary edition. */
  allAgain(): void;
}

type Instants = Pick<Text, 'product_id' | 'language' | (typeof instantColumns)[number]>;

/** Columns of `_product`; a trigger of the schema carries their changes over. */
const ofProduct = [
  'sale_status', 'sellable', 'disabled_reason', 'disabled_source', 'expected_reopening', 'alternative_product_id', 'city_id', 'country_id',
  'venue_id', 'latitude', 'longitude', 'timezone', 'rating', 'rating_count',
] as const; // biome-ignore format: a list of columns
const instantColumns = ['checked_at', 'stale_at', 'held_at', 'detail_read_at'] as const;
const ofText = ['title', 'tagline', 'city_name', 'city_path', 'country_name', 'changed_at', ...instantColumns] as const;
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

export function shownProducts(db: Writes): ShownProducts {
  const put = db.change(putting);
  const touch = db.change((bound: Bound<Instants>) =>
    query
      .updateTable('product')
      .set(pick(bound, instantColumns))
      .where('product_id', '=', bound.product_id)
      .where('read_language', '=', bound.language),
  );
  const texts = db.rows(({ product_id }: Bound<Pick<Text, 'product_id'>>) =>
    query.selectFrom('_product_text').selectAll().where('product_id', '=', product_id),
  );
  const dropOthers = db.change(({ product_id }: Bound<Pick<Text, 'product_id'>>) =>
    query
      .deleteFrom('product')
      .where('product_id', '=', product_id)
      .where('language', 'not in', query.selectFrom('languages').select('language')),
  );
  const visible = db.values(() => query.selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null));

  const show = (text: Text) => {
    const { product_id, language } = text;
    const document = shownDocument(text);
    const members = membersOf(document);
    put.run({ product_id, language, document, text_language: languageOf(members), ...factsOf(members, factColumns) });
  };
  const again = (product_id: number) => {
    dropOthers.run({ product_id });
    for (const text of texts.all({ product_id })) show(text);
  };
  return {
    put: show,
    touch: (text) => {
      touch.run(text);
    },
    again,
    allAgain: () => {
      for (const product_id of visible.all()) again(product_id);
    },
  };
}

/** Returns the two letters of the language that a text says it is in: a service may answer in another one than was asked for. */
function languageOf({ language }: Members): string | null {
  return /^[a-z]{2}(?=$|[-_])/.exec(String(language ?? '').toLowerCase())?.[0] ?? null;
}

/** Returns the document of a text that readers see. */
export function shownDocument({ merged_document, detail_document, list_document }: Text): string | null {
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
