import type { Tier } from '../dates/availability.rules.ts';
import { formOf } from '../dates/days.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, pick, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, query } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import type { ReportCounts } from './error-rate.rules.ts';
import type { DateOffer, SaleState } from './verdict.rules.ts';

/** One date as it was read last. */
export interface ReadDate extends DateOffer {
  readonly date: string;
  readonly checked_at: Instant;
  /** As readers see it: what is held is stale. */
  readonly stale_at: Instant;
}

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
  readonly since_at: Instant;
}

type DateRow = Omit<ReadDate, 'form'> & Record<'slots' | 'rest', string | null>;
type OfProduct = { product_id: number };
type OfDate = OfProduct & { currency: string; date: string };

export const countNames = [
  'checks', 'wrong', 'orders', 'orders_wrong', 'tickets', 'said_available', 'said_sold_out', 'said_price', 'unknown',
  'unanswered',
] as const; // biome-ignore format: a list of columns

/** Counters of a check, for one product, tier and day. */
export type CheckCounts = Record<(typeof countNames)[number], number>;

const columns = ['product_id', 'tier', 'day', ...countNames] as const;

/** Tables that a check before an order compares with, and its counters. */
export class CheckTables extends Store<Writes> {
  readonly #sale = this.db.row(
    byKey('_product', ['product_id'], ['sale_status', 'closure_unconfirmed', 'withdrawn_at', 'dates_off_at']),
  );
  readonly #date = this.db.row((bound: Bound<OfDate>) => dates(bound).where('d.date', '=', bound.date));
  readonly #nearest = this.db.rows((bound: Bound<OfDate & { from: string; to: string }>) =>
    dates(bound)
      .where(({ between }) => between('d.date', bound.from, bound.to))
      .where('d.date', '<>', bound.date)
      .where('d.state', '=', 'available')
      .orderBy(({ ref }) => sql`abs(julianday(${ref('d.date')}) - julianday(${bound.date}))`)
      .orderBy('d.date'),
  );
  readonly #variants = this.db.values(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('_variant').select('variant_id').distinct().where('product_id', '=', product_id),
  );
  /** Returns what the service recommends instead and can itself be sold. */
  readonly alternatives = this.db.values(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('alternatives as a')
      .select('a.alternative_product_id')
      .distinct()
      .where('a.product_id', '=', product_id)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('_product as p')
            .select('p.product_id')
            .whereRef('p.product_id', '=', 'a.alternative_product_id')
            .where('p.dates_off_at', 'is', null),
        ),
      )
      .orderBy('a.alternative_product_id')
      .limit(3),
  );
  readonly count = this.db.change((counts: Bound<Tables['_check_count']>) =>
    query
      .insertInto('_check_count')
      .values(pick(counts, columns))
      .onConflict((counted) =>
        counted
          .columns(['product_id', 'tier', 'day'])
          .doUpdateSet(({ eb }) =>
            Object.fromEntries(countNames.map((name) => [name, eb(`_check_count.${name}`, '+', counts[name])])),
          ),
      ),
  );
  /** Forgets what was counted before a day. */
  readonly prune = this.db.change(({ day }: Bound<{ day: number }>) =>
    query.deleteFrom('_check_count').where('day', '<', day),
  );
  /** Returns how often the mirror was wrong about a product, by tier. */
  readonly ofProduct = this.db.rows(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('availability_error_rate').selectAll().where('product_id', '=', product_id),
  );

  /** Returns null if the product was never seen. */
  saleState(product_id: number): SaleState | null {
    const row = this.#sale({ product_id });
    if (row === null) return null;
    if (row.withdrawn_at !== null) return 'withdrawn';
    if (row.closure_unconfirmed === 1) return 'closure-unconfirmed';
    if (row.sale_status !== 'enabled') return 'not-on-sale';
    return row.dates_off_at === null ? 'on-sale' : 'sale-contradicted';
  }

  /** Returns a date as it was read last; null where it never was. */
  date(product_id: number, currency: string, date: string): ReadDate | null {
    const row = this.#date({ product_id, currency, date });
    return row === null ? null : parsed(row);
  }

  /** Returns available dates from `from` to `to` but for `date` itself, the nearest first. */
  nearest(product_id: number, currency: string, date: string, range: { from: string; to: string }): ReadDate[] {
    return this.#nearest({ product_id, currency, date, ...range }).map(parsed);
  }

  /** Returns every variant that was ever read of it. */
  variantIds(product_id: number): Set<number> {
    return new Set(this.#variants({ product_id }));
  }
}

function dates({ product_id, currency }: Bound<OfDate>) {
  return query
    .selectFrom('day as d')
    .innerJoin('date_window as w', 'w.window_id', 'd.window_id')
    .leftJoin('slot_day as s', (join) =>
      join
        .onRef('s.product_id', '=', 'd.product_id')
        .onRef('s.currency', '=', 'd.currency')
        .onRef('s.date', '=', 'd.date'),
    )
    .select(['d.date', 's.slots', 's.rest', 'w.max_tickets_per_order', 'w.checked_at', 'w.shown_stale_at as stale_at'])
    .where('d.product_id', '=', product_id)
    .where('d.currency', '=', currency)
    .where('d.from_at', '=', instant(0));
}

function parsed({ slots, rest, ...row }: DateRow): ReadDate {
  return { ...row, form: slots === null || rest === null ? null : formOf({ slots, rest }) };
}

/** Results of random reads, by period and tier. */
export class AuditTable extends Store<Writes> {
  /** Adds to the counts of a period. */
  readonly count = this.db.change((found: Bound<Tables['_audit']>) =>
    query
      .insertInto('_audit')
      .values(pick(found, ['from_at', 'tier', 'audited', 'outdated']))
      .onConflict((known) =>
        known.columns(['from_at', 'tier']).doUpdateSet(({ eb }) => ({
          audited: eb('_audit.audited', '+', found.audited),
          outdated: eb('_audit.outdated', '+', found.outdated),
        })),
      ),
  );
  /** Forgets periods that began before an instant. */
  readonly prune = this.db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('_audit').where('from_at', '<', before),
  );
}
