import type { DayForm, Tier } from '../domain/catalogue/availability.ts';
import type { DateOffer, SaleState } from '../domain/checks/check.ts';
import type { ReportCounts } from '../domain/checks/error-rate.ts';
import { type Bound, pick, type Reads, sql, type Writes } from '../sqlite/statements.ts';
import { query } from './sql/sql.ts';
import type { Tables } from './sql/tables.ts';

/** One date as it was read last. */
export interface ReadDate extends DateOffer {
  readonly date: string;
  readonly checked_at: number;
  readonly stale_at: number;
}

/** What a check found, as it is counted: of one product, tier and day. */
export type CheckCounts = Omit<Tables['check_count'], 'product_id' | 'tier' | 'day'>;

/** One line of the view `availability_error_rate`. */
export interface ErrorRateRow extends ReportCounts {
  readonly product_id: number;
  readonly tier: Tier;
  readonly rate: number | null;
  readonly said_available: number;
  readonly said_sold_out: number;
  readonly said_price: number;
  readonly unknown: number;
  readonly unanswered: number;
  readonly since_at: number;
}

/** What a check before an order compares. */
export interface CheckReads {
  /** Null where the product was never seen. */
  saleState(product_id: number): SaleState | null;
  /** A date as it was read last; null where it never was. */
  date(product_id: number, currency: string, date: string): ReadDate | null;
  /** Available dates from `from` to `to` but for `date` itself, the nearest first. */
  nearest(product_id: number, currency: string, date: string, range: { from: string; to: string }): ReadDate[];
  /** Every variant that was ever read of it. */
  variantIds(product_id: number): Set<number>;
  /** What the service recommends instead and can itself be sold. */
  alternatives(product_id: number): number[];
  /** How often the mirror was wrong about a product, by tier. */
  ofProduct(product_id: number): ErrorRateRow[];
}

/** The same, and what was counted of it. */
export interface CheckTables extends CheckReads {
  count(key: Pick<Tables['check_count'], 'product_id' | 'tier' | 'day'>, counts: CheckCounts): void;
  /** Forgets what was counted before a day. */
  prune(day: number): number;
}

type DateRow = Omit<ReadDate, 'form'> & { readonly document: string | null };

export const countNames = [
  'checks', 'wrong', 'orders', 'orders_wrong', 'tickets', 'said_available', 'said_sold_out', 'said_price', 'unknown',
  'unanswered',
] as const; // biome-ignore format: a list of columns

export function checkReads(db: Reads): CheckReads {
  return { ...offered(db), ...dates(db) };
}

export function checkTables(db: Writes): CheckTables {
  const add = db.change((bound: Bound<Tables['check_count']>) =>
    query
      .insertInto('check_count')
      .values(pick(bound, ['product_id', 'tier', 'day', ...countNames]))
      .onConflict((counted) =>
        counted.doUpdateSet((of) =>
          Object.fromEntries(
            countNames.map((name) => [name, of(`check_count.${name}`, '+', of.ref(`excluded.${name}`))]),
          ),
        ),
      ),
  );
  const drop = db.change(({ day }: Bound<{ day: number }>) => query.deleteFrom('check_count').where('day', '<', day));
  return {
    ...checkReads(db),
    count: (key, counts) => {
      add.run({ ...key, ...counts });
    },
    prune: (day) => drop.run({ day }).changes,
  };
}

interface OfProduct {
  readonly product_id: number;
}

function offered(db: Reads): Omit<CheckReads, 'date' | 'nearest'> {
  const sale = db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('product')
      .select(['sale_status', 'closure_unconfirmed', 'withdrawn_at', 'dates_off_at'])
      .where('product_id', '=', product_id),
  );
  const variants = db.values(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('variant').select('variant_id').distinct().where('product_id', '=', product_id),
  );
  const alternatives = db.values(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('alternatives as a')
      .select('a.alternative_product_id')
      .distinct()
      .where('a.product_id', '=', product_id)
      .where((of) =>
        of.exists(
          of
            .selectFrom('product as p')
            .select(of.lit(1).as('one'))
            .whereRef('p.product_id', '=', 'a.alternative_product_id')
            .where('p.dates_off_at', 'is', null),
        ),
      )
      .orderBy('a.alternative_product_id')
      .limit(3),
  );
  const errorRates = db.rows(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('availability_error_rate').selectAll().where('product_id', '=', product_id),
  );
  return {
    saleState: (product_id) => {
      const row = sale.get({ product_id });
      if (row === undefined) return null;
      if (row.withdrawn_at !== null) return 'withdrawn';
      if (row.closure_unconfirmed === 1) return 'closure-unconfirmed';
      if (row.sale_status !== 'enabled') return 'not-on-sale';
      return row.dates_off_at === null ? 'on-sale' : 'sale-contradicted';
    },
    variantIds: (product_id) => new Set(variants.all({ product_id })),
    alternatives: (product_id) => alternatives.all({ product_id }),
    ofProduct: (product_id) => errorRates.all({ product_id }),
  };
}

type OfDate = OfProduct & { readonly currency: string; readonly date: string };

function dates(db: Reads): Pick<CheckReads, 'date' | 'nearest'> {
  const one = db.rows((bound: Bound<OfDate>) => readDates(bound).where('d.date', '=', bound.date));
  const near = db.rows((bound: Bound<OfDate & { from: string; to: string }>) =>
    readDates(bound)
      .where((of) => of.between('d.date', bound.from, bound.to))
      .where('d.date', '<>', bound.date)
      .where('d.available', '=', 1)
      .orderBy((of) => sql`abs(julianday(${of.ref('d.date')}) - julianday(${bound.date}))`)
      .orderBy('d.date'),
  );
  return {
    date: (product_id, currency, date) => {
      const row = one.get({ product_id, currency, date });
      return row === undefined ? null : parsed(row);
    },
    nearest: (product_id, currency, date, range) => near.all({ product_id, currency, date, ...range }).map(parsed),
  };
}

/** Dates with the span that each was read in: the newest that begins before it, where it reaches so far. */
function readDates({ product_id, currency }: Bound<Pick<OfDate, 'product_id' | 'currency'>>) {
  return query
    .selectFrom('day as d')
    .crossJoin('availability_span as s')
    .leftJoin('day_document as c', 'c.document_id', 'd.document_id')
    .select(['d.date', 'c.document', 's.max_tickets_per_order', 's.checked_at', 's.stale_at'])
    .whereRef('s.product_id', '=', 'd.product_id')
    .whereRef('s.currency', '=', 'd.currency')
    .where('s.from_date', '=', (of) =>
      of
        .selectFrom('availability_span as r')
        .select((span) => span.fn.max('r.from_date').as('from_date'))
        .whereRef('r.product_id', '=', 'd.product_id')
        .whereRef('r.currency', '=', 'd.currency')
        .whereRef('r.from_date', '<=', 'd.date'),
    )
    .whereRef('s.to_date', '>=', 'd.date')
    .where('d.product_id', '=', product_id)
    .where('d.currency', '=', currency);
}

function parsed({ document, ...row }: DateRow): ReadDate {
  return { ...row, form: document === null ? null : (JSON.parse(document) as DayForm) };
}
