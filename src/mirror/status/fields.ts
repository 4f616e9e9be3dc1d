import type { WatchedField } from '../../domain/conditions/fields.ts';
import { type Bound, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import { query, upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

type Field = Tables['_field'];

/** Whether a product carries each field; null: it cannot, as what has no date on sale has no price of one. */
export type Carried = Readonly<Record<WatchedField, 0 | 1 | null>>;

/** What the answers of the service carry, as the products show it that they have brought. */
export interface FieldTable {
  /** Counts the next so many products, and how many of them can be seen; `last` null: there are no more. */
  countAfter(after: number, most: number): { readonly last: number | null; readonly seen: number };
  /**
   * Returns what a share of the products carry, of those after one and up to another: the same ones each time. Of dates
   * before today nothing is asked.
   */
  carried(share: number, among: { readonly after: number; readonly last: number }, today: string): Carried[];
  all(): Field[];
  note(field: Field): void;
}

interface Draw {
  readonly drawn: number;
  readonly today: string;
  readonly after: number;
  readonly last: number;
}

/** A prime: products are drawn by what is left of their ids. */
const draws = 997;

const inDocument = ['title', 'price', 'description', 'city_id', 'geolocation', 'timezone'] as const;
/** As readers see it. */
const document = sql<string>`coalesce(t.merged_document, t.detail_document, t.list_document)`;

/**
 * Whether the product's last row in the list confirmed its images; unknown where its own read did so later. A service that
 * shows images in that read alone has never confirmed any by the list.
 */
const imagesInList = sql<0 | 1 | null>`case
  when t.list_read_at is null or p.images_verified_at > t.list_read_at then null
  else coalesce(p.images_verified_at, 0) = t.list_read_at
end`;

export function fieldTable(db: Writes): FieldTable {
  const all = db.rows(() => query.selectFrom('_field').selectAll());
  const put = db.change(upsert('_field', ['field'], ['usual', 'share', 'looked_at']));
  const count = db.rows(({ after, most }: Bound<{ after: number; most: number }>) =>
    query
      .selectFrom((from) =>
        from
          .selectFrom('_product')
          .select(['product_id', 'withdrawn_at'])
          .where('product_id', '>', after)
          .orderBy('product_id')
          .limit(most)
          .as('p'),
      )
      .select(({ fn }) => [
        fn.max<number | null>('p.product_id').as('last'),
        sql<number>`count(*) - count(p.withdrawn_at)`.as('seen'),
      ]),
  );
  const drawn = db.rows(({ drawn, today, after, last }: Bound<Draw>) =>
    query
      .selectFrom(['_product as p', '_mirror as m'])
      .innerJoin('_product_text as t', (on) =>
        on.onRef('t.product_id', '=', 'p.product_id').onRef('t.language', '=', 'm.language'),
      )
      .select(
        inDocument.map((name) => sql<0 | 1>`json_extract(${document}, ${sql.lit(`$.${name}`)}) is not null`.as(name)),
      )
      .select([
        sql<0 | 1>`p.sale_status <> 'unknown'`.as('sale_status'),
        imagesInList.as('images'),
        sql<0 | 1 | null>`(${firstDate(today).select(isKnown('d.lowest_price'))})`.as('total_retail_price_incl_vat'),
        sql<0 | 1 | null>`(${firstDate(today).select(isKnown('d.max_tickets'))})`.as('max_tickets'),
      ])
      .where('p.withdrawn_at', 'is', null)
      .where('p.product_id', '>', after)
      .where('p.product_id', '<=', last)
      .where(sql<number>`p.product_id % ${sql.lit(draws)}`, '<', drawn),
  );
  return {
    countAfter: (after, most) => count.get({ after, most }) ?? { last: null, seen: 0 },
    carried: (share, among, today) => drawn.all({ ...among, today, drawn: Math.ceil(draws * share) }),
    all: () => all.all(),
    note: (field) => {
      put.run(field);
    },
  };
}

/** The first date on sale, whose price and tickets stand for those of all. */
function firstDate(today: RawBuilder<string>) {
  return query
    .selectFrom('_day as d')
    .where(sql<boolean>`d.product_id = p.product_id and d.currency = m.currency`)
    .where('d.date', '>=', today)
    .where('d.available', '=', 1)
    .orderBy('d.date')
    .limit(1);
}

function isKnown(column: 'd.lowest_price' | 'd.max_tickets') {
  return sql<0 | 1>`${sql.ref(column)} is not null`.as('is');
}
