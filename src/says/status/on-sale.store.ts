import { type ChangeKind, noProduct } from '../../feed/change.rules.ts';
import { hourMs, type Instant, instant } from '../../kernel/clock.ts';
import { type Bound, pick, type Reads, Store, sql, type Writes } from '../../kernel/sqlite/statements.ts';
import { query } from '../../mirror/sql/sql.ts';
import type { Tables } from '../../mirror/sql/tables.ts';
import { type Event, eventKinds, type Turnover, turnoverOf } from './turnover.rules.ts';

const weekMs = 7 * 24 * hourMs;
/** A day more than a week, for a daemon that was stopped in the hour to compare with. */
const memoryMs = weekMs + 24 * hourMs;

/** Number of products on sale and of bookable days in the hour that began at `counted_at`. */
export interface OnSale {
  readonly counted_at: number;
  readonly sellable: number;
  readonly days: number;
}

export interface BookableDays {
  /** Currency in which days are counted: the primary one; null: nothing was read yet. */
  readonly currency: string | null;
  /** Rows of the view `bookable_days` in this currency. */
  readonly days: number;
  /** The same a week ago, or in the first recorded hour if that is later; null: no hour was recorded. */
  readonly earlier: OnSale | null;
}

/** Changes of the feed in the last hour. Dates count in the primary currency, as bookable days do. */
export interface LastHour {
  readonly changes: number;
  /** Number of products that changed. */
  readonly products: number;
  readonly kinds: readonly { readonly kind: string; readonly changes: number }[];
  /** Number of prices among the changes that the exchange rate alone has moved. */
  readonly prices_by_rate: number;
  /** Numbers of products, each as it stood at the end of the hour, like in the report on a week. */
  readonly turnover: Readonly<Record<keyof Turnover, number>> & {
    /** Found by the first fill, and so not new. */
    readonly first_filled: number;
  };
}

/** The history of what is on sale: one row an hour, for a week. */
export class OnSaleTable extends Store<Writes> {
  readonly #put = this.db.change((counted: Bound<Tables['_on_sale']>) =>
    query
      .insertInto('_on_sale')
      .values(pick(counted, ['counted_at', 'sellable', 'days']))
      .onConflict((known) => known.doNothing()),
  );
  readonly #drop = this.db.change(({ now }: Bound<Now>) =>
    query.deleteFrom('_on_sale').where('counted_at', '<', sql<Instant>`${now} - ${sql.lit(memoryMs)}`),
  );

  /** Records the hour of `counted_at` and deletes what is older than a week. */
  record({ counted_at, ...counts }: Tables['_on_sale']): void {
    this.#put({ counted_at: instant(counted_at - (counted_at % hourMs)), ...counts });
    this.#drop({ now: counted_at });
  }
}

type Now = { readonly now: Instant };
type NowAndCurrency = Now & { readonly currency: string };

/** Queries about what is on sale now, and what changed in the last hour. */
export class OnSaleReads extends Store<Reads> {
  readonly #currency = this.db.value(() => query.selectFrom('_mirror').select('currency'));
  /** The sum of the view takes four times as long: nearly no window is shut, so the days of those are subtracted. */
  readonly #available = this.db.value(({ now, currency }: Bound<NowAndCurrency>) =>
    query
      .selectFrom('day')
      .select(({ fn }) => fn.countAll<number>().as('days'))
      .where('currency', '=', currency)
      .where('state', '=', 'available')
      .where('from_at', '<=', now)
      .where('until_at', '>', now),
  );
  readonly #shut = this.db.value(({ now, currency }: Bound<NowAndCurrency>) =>
    query
      .selectFrom('date_window as w')
      .crossJoin('day as d')
      .select(({ fn }) => fn.countAll<number>().as('days'))
      .where('w.shut', '<>', 0)
      .where('w.currency', '=', currency)
      .whereRef('d.product_id', '=', 'w.product_id')
      .whereRef('d.currency', '=', 'w.currency')
      .whereRef('d.date', '>=', 'w.from_date')
      .whereRef('d.date', '<=', 'w.to_date')
      .whereRef('d.window_id', '=', 'w.window_id')
      .where('d.state', '=', 'available')
      .where('d.from_at', '<=', now)
      .where('d.until_at', '>', now),
  );
  readonly #earlier = this.db.row(({ now }: Bound<Now>) =>
    query
      .selectFrom('_on_sale')
      .selectAll()
      .orderBy(sql`counted_at <= ${now} - ${sql.lit(weekMs)}`, 'desc')
      // The newest of the older ones, else the oldest of the younger ones.
      .orderBy(sql`abs(counted_at - (${now} - ${sql.lit(weekMs)}))`)
      .limit(1),
  );
  readonly #products = this.db.value((now: Bound<Now>) =>
    recent(now).select(({ fn }) => fn.count<number>('product_id').distinct().as('products')),
  );
  readonly #kinds = this.db.rows((now: Bound<Now>) =>
    recent(now)
      .select(({ fn }) => ['kind', fn.countAll<number>().as('changes')])
      .groupBy('kind')
      .orderBy('changes', 'desc')
      .orderBy('kind'),
  );
  readonly #byRate = this.db.value((now: Bound<Now>) =>
    recent(now)
      .select(({ fn }) => fn.countAll<number>().as('prices'))
      .where('kind', 'in', ['price_changed', 'prices_changed'])
      .where((of) => sql<boolean>`json_extract(${of.ref('detail')}, '$.by_rate') is not null`),
  );
  readonly #filled = this.db.value(() => query.selectFrom('_mirror').select('filled_at'));
  readonly #events = this.db.rows((now: Bound<Now>) =>
    recent(now)
      .select(['product_id', 'at', 'kind'])
      .where('kind', 'in', eventKinds)
      .$narrowType<{ kind: Event['kind'] }>()
      .orderBy('seq'),
  );

  bookable(now: Instant): BookableDays {
    const currency = this.#currency();
    const asked = { now, currency: currency ?? '' };
    return {
      currency,
      days: (this.#available(asked) ?? 0) - (this.#shut(asked) ?? 0),
      earlier: this.#earlier({ now }),
    };
  }

  lastHour(now: Instant): LastHour {
    const kinds = this.#kinds({ now });
    const filled_at = this.#filled();
    const events = this.#events({ now });
    const { added, returned, withdrawn, closed, reopened } = turnoverOf(events, filled_at);
    return {
      turnover: {
        added: added.length,
        returned: returned.length,
        withdrawn: withdrawn.length,
        closed: closed.length,
        reopened: reopened.length,
        first_filled: events.filter(({ kind, at }) => kind === 'product_added' && at <= (filled_at ?? now)).length,
      },
      changes: kinds.reduce((sum, { changes }) => sum + changes, 0),
      products: this.#products({ now }) ?? 0,
      kinds,
      prices_by_rate: this.#byRate({ now }) ?? 0,
    };
  }
}

const ofDates = ['date_added', 'date_sold_out', 'date_back'] as const satisfies ChangeKind[];

function recent({ now }: Bound<Now>) {
  return query
    .selectFrom('changes')
    .where('at', '>', sql<Instant>`${now} - ${sql.lit(hourMs)}`)
    .where('at', '<=', now)
    .where('product_id', '<>', noProduct)
    .where((of) =>
      of.or([
        of('kind', 'not in', ofDates),
        of(
          sql<string | null>`json_extract(${of.ref('detail')}, '$.currency')`,
          '=',
          of.selectFrom('_mirror').select('currency'),
        ),
      ]),
    );
}
