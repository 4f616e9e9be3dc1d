import type { DayForm, Tier } from '../domain/catalogue/availability.ts';
import type { DateOffer, SaleState } from '../domain/checks/check.ts';
import type { ReportCounts } from '../domain/checks/error-rate.ts';
import type { Database } from '../sqlite/database-file.ts';
import { param, prepare, query } from './sql/sql.ts';
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

/** What a check before an order compares, and what was counted of it. Functions that write run inside the caller's transaction. */
export interface CheckTables {
  /** Null where the product was never seen. */
  saleState(product_id: number): SaleState | null;
  /** Returns a date as it was read last; null where it never was. */
  date(product_id: number, currency: string, date: string): ReadDate | null;
  /** Available dates from `from` to `to` but for `date` itself, the nearest first. */
  nearest(product_id: number, currency: string, date: string, range: { from: string; to: string }): ReadDate[];
  /** Returns every variant that was ever read of it. */
  variantIds(product_id: number): Set<number>;
  /** Returns what the service recommends instead and can itself be sold. */
  alternatives(product_id: number): number[];
  count(key: Pick<Tables['check_count'], 'product_id' | 'tier' | 'day'>, counts: CheckCounts): void;
  /** Forgets what was counted before a day. */
  prune(day: number): number;
  /** Returns how often the mirror was wrong about a product, by tier. */
  ofProduct(product_id: number): ErrorRateRow[];
}

type DateRow = Omit<ReadDate, 'form'> & { readonly document: string | null };

export const countNames = [
  'checks', 'wrong', 'orders', 'orders_wrong', 'tickets', 'said_available', 'said_sold_out', 'said_price', 'unknown',
  'unanswered',
] as const; // biome-ignore format: a list of columns

export function checkTables(db: Database): CheckTables {
  const sale = db.prepare<
    [number],
    Pick<Tables['product'], 'sale_status' | 'closure_unconfirmed' | 'withdrawn_at' | 'dates_off_at'>
  >('SELECT sale_status, closure_unconfirmed, withdrawn_at, dates_off_at FROM product WHERE product_id = ?');
  const dates = (where: string) =>
    `SELECT d.date, c.document, s.max_tickets_per_order, s.checked_at, s.stale_at
     FROM day d
     CROSS JOIN availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
       AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
         WHERE r.product_id = d.product_id AND r.currency = d.currency AND r.from_date <= d.date)
       AND s.to_date >= d.date
     LEFT JOIN day_document c ON c.document_id = d.document_id
     WHERE d.product_id = @product_id AND d.currency = @currency AND ${where}`;
  type OfDate = { product_id: number; currency: string; date: string };
  const one = db.prepare<OfDate, DateRow>(dates('d.date = @date'));
  const near = db.prepare<OfDate & { from: string; to: string }, DateRow>(
    `${dates('d.date BETWEEN @from AND @to AND d.date <> @date AND d.available = 1')}
     ORDER BY abs(julianday(d.date) - julianday(@date)), d.date`,
  );
  const variants = db.prepare<[number], number>('SELECT DISTINCT variant_id FROM variant WHERE product_id = ?').pluck();
  const alternatives = db
    .prepare<[number], number>(
      `SELECT DISTINCT alternative_product_id FROM alternatives a WHERE product_id = ?
         AND EXISTS (SELECT 1 FROM product p WHERE p.product_id = a.alternative_product_id AND p.dates_off_at IS NULL)
       ORDER BY 1 LIMIT 3`,
    )
    .pluck();
  const columns = ['product_id', 'tier', 'day', ...countNames] as const;
  const add = db.prepare<Tables['check_count']>(
    `INSERT INTO check_count (${columns.join(', ')}) VALUES (${columns.map((column) => `@${column}`).join(', ')})
     ON CONFLICT DO UPDATE SET ${countNames.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
  );
  const drop = prepare<{ day: number }>(db, query.deleteFrom('check_count').where('day', '<', param<number>('day')));
  const ofProduct = db.prepare<[number], ErrorRateRow>('SELECT * FROM availability_error_rate WHERE product_id = ?');
  return {
    saleState: (product_id) => {
      const row = sale.get(product_id);
      if (row === undefined) return null;
      if (row.withdrawn_at !== null) return 'withdrawn';
      if (row.closure_unconfirmed === 1) return 'closure-unconfirmed';
      if (row.sale_status !== 'enabled') return 'not-on-sale';
      return row.dates_off_at === null ? 'on-sale' : 'sale-contradicted';
    },
    date: (product_id, currency, date) => {
      const row = one.get({ product_id, currency, date });
      return row === undefined ? null : parsed(row);
    },
    nearest: (product_id, currency, date, range) => near.all({ product_id, currency, date, ...range }).map(parsed),
    variantIds: (product_id) => new Set(variants.all(product_id)),
    alternatives: (product_id) => alternatives.all(product_id),
    count: (key, counts) => {
      add.run({ ...key, ...counts });
    },
    prune: (day) => drop.run({ day }).changes,
    ofProduct: (product_id) => ofProduct.all(product_id),
  };
}

function parsed({ document, ...row }: DateRow): ReadDate {
  return { ...row, form: document === null ? null : (JSON.parse(document) as DayForm) };
}
