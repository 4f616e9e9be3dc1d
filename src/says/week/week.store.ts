import { imageLimitMs, imageUnconfirmedMs } from '../../catalogue/image.rules.ts';
import { creditChanges, takedowns, titleOf } from '../../catalogue/image-audit.store.ts';
import { ImageLedgerReads } from '../../catalogue/images.store.ts';
import { countNames } from '../../desk/checks.store.ts';
import { errorRate } from '../../desk/error-rate.rules.ts';
import { type Instant, instant } from '../../kernel/clock.ts';
import { type Bound, type Reads, Store, sql } from '../../kernel/sqlite/statements.ts';
import { query } from '../../mirror/sql/sql.ts';
import { uncovered, working } from '../../push/coverage.store.ts';
import { TruthReads } from '../status/status.store.ts';
import { eventKinds, type ProductEvent, turnoverOf } from '../status/turnover.rules.ts';
import { type PriceChange, type PriceMove, priceMovesOf } from './prices.rules.ts';
import type { BareSale, CheckoutCounts, WeekReport, WrongProduct } from './report.rules.ts';
import { daysOf, type Week } from './week.rules.ts';

type Span = { readonly from: Instant; readonly to: Instant };
type Days = { readonly first: number; readonly last: number };

const worstAtMost = 10;
/** Random reads are stored for seven days, so a week that ended longer ago than this has none of its own. */
const truthWithinMs = 86_400_000;

/** Parts of a report that the mirror does not have. */
interface ReportOf {
  readonly week: Week;
  readonly mirror: string;
  readonly fruitless_searches: WeekReport['fruitless_searches'];
  readonly week_before: WeekReport['week_before'];
}

/** The report on a week, from the file as a storefront has it. */
export class WeekReads extends Store<Reads> {
  readonly #itself = this.db.row(() =>
    query.selectFrom('_mirror').select((of) => [
      'written_by',
      'filled_at',
      'currency',
      // Forgotten changes lie before the first one that is left.
      of
        .case()
        .when('feed_floor_seq', '>', 0)
        .then(of.selectFrom('_change').select('at').orderBy('seq').limit(1).$asScalar())
        .end()
        .as('feed_since'),
    ]),
  );
  readonly #events = this.db.rows(({ from, to }: Bound<Span>) =>
    query
      .selectFrom('_change as c')
      .select(['c.product_id', 'c.at', 'c.kind'])
      .select((of) => [
        titleOf(of.ref('c.product_id')).as('title'),
        sql<string | null>`json_extract(${of.ref('c.detail')}, '$.reason')`.as('reason'),
        sql<string | null>`json_extract(${of.ref('c.detail')}, '$.expected_reopening')`.as('expected_reopening'),
      ])
      .where('c.at', '>=', from)
      .where('c.at', '<', to)
      .where('c.kind', 'in', eventKinds)
      .$narrowType<{ kind: ProductEvent['kind'] }>()
      .orderBy('c.seq'),
  );
  /** In the primary currency. */
  readonly #prices = this.db.each<Span, PriceChange>(({ from, to }: Bound<Span>) =>
    query
      .selectFrom(['_change as c', '_mirror as m'])
      .select(['c.product_id', 'c.date'])
      .select((of) => [
        sql<number | null>`json_extract(${of.ref('c.detail')}, '$.old')`.as('old'),
        sql<number | null>`json_extract(${of.ref('c.detail')}, '$.new')`.as('new'),
        sql<0 | 1>`json_extract(${of.ref('c.detail')}, '$.by_rate') is not null`.as('by_rate'),
      ])
      .where('c.kind', '=', 'price_changed')
      .where('c.at', '>=', from)
      .where('c.at', '<', to)
      .where((of) => sql<boolean>`json_extract(${of.ref('c.detail')}, '$.currency') = ${of.ref('m.currency')}`)
      .orderBy('c.product_id')
      .orderBy('c.date')
      .orderBy('c.seq'),
  );
  readonly #title = this.db.value(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_product as p')
      .select((of) => titleOf(of.ref('p.product_id')).as('title'))
      .where('p.product_id', '=', product_id),
  );
  readonly #ledger = new ImageLedgerReads(this.db);
  readonly #truth = new TruthReads(this.db);
  readonly #checkout = this.db.row<Days, CheckoutCounts>((days: Bound<Days>) =>
    countsIn(days).select(({ fn, lit }) =>
      countNames.map((name) => fn.coalesce(fn.sum<number>(`c.${name}`), lit(0)).as(name)),
    ),
  );
  readonly #worst = this.db.rows<Days, WrongProduct>((days: Bound<Days>) =>
    countsIn(days)
      .select((of) => ['c.product_id', titleOf(of.ref('c.product_id')).as('title')])
      .select(({ fn }) => [
        fn.sum<number>('c.checks').as('checks'),
        fn.sum<number>('c.wrong').as('wrong'),
        fn.sum<number>('c.orders').as('orders'),
        fn.sum<number>('c.orders_wrong').as('orders_wrong'),
      ])
      .groupBy('c.product_id')
      .having(({ fn }) => sql<number>`${fn.sum('c.wrong')} + ${fn.sum('c.orders_wrong')}`, '>', 0)
      .orderBy(({ fn }) => fn.sum('c.orders_wrong'), 'desc')
      .orderBy(({ fn }) => fn.sum('c.wrong'), 'desc')
      .orderBy('c.product_id')
      .limit(worstAtMost),
  );
  readonly #bare = this.db.rows<Days, BareSale>(({ first, last }: Bound<Days>) =>
    uncovered
      .innerJoin('_check_count as n', 'n.product_id', 'p.product_id')
      .select((of) => ['p.product_id', titleOf(of.ref('p.product_id')).as('title')])
      .select(({ fn }) => [fn.sum<number>('n.tickets').as('tickets'), fn.sum<number>('n.orders').as('orders')])
      .where('p.withdrawn_at', 'is', null)
      .where('n.day', '>=', first)
      .where('n.day', '<=', last)
      .groupBy('p.product_id')
      .having(({ fn }) => sql<number>`${fn.sum('n.tickets')} + ${fn.sum('n.orders')}`, '>', 0)
      .orderBy('tickets', 'desc')
      .orderBy('orders', 'desc')
      .orderBy('p.product_id'),
  );
  readonly #selling = this.db.row(() =>
    working.select('subscription_id').where('type', '=', 'products_i_sell').limit(1),
  );

  /** Reads the report on a week, all of one moment. The caller gives what the file does not have. */
  read(given: ReportOf, now: Instant): WeekReport {
    const { week } = given;
    const span = { from: instant(week.from), to: instant(week.to) };
    return this.db.snapshot(() => {
      const itself = this.#itself();
      if (itself === null) throw new Error('the mirror has no row about itself');
      const { filled_at, feed_since, ...mirror } = itself;
      const since = Math.max(filled_at ?? week.to, feed_since ?? 0);
      const { products, dates } = priceMovesOf(this.#prices(span));
      const titled = (move: PriceMove) => ({ ...move, title: this.#titleOf(move.product_id) });
      const gone = takedowns(this.db, span.from).filter(({ withdrawn_at }) => withdrawn_at < week.to);
      const days = daysOf(week.from, week.to);
      const checkout = this.#checkout(days);
      if (checkout === null) throw new Error('a sum of no rows is a row');
      return {
        at: now,
        ...given,
        ...mirror,
        filled_at,
        known_since: since > week.from ? Math.min(since, week.to) : null,
        products: turnoverOf(this.#events(span), filled_at),
        prices: {
          products: { ...products, biggest: products.biggest.map(titled) },
          dates: { ...dates, biggest: dates.biggest.map(titled) },
        },
        images: {
          must_go: this.#ledger
            .unconfirmed({ before: instant(now - imageUnconfirmedMs) })
            .map(({ product_id, images, verified_at }) => ({
              product_id,
              title: this.#titleOf(product_id),
              images,
              hidden_from: verified_at + imageLimitMs,
            })),
          went: gone.filter(({ returned_at }) => returned_at === null),
          back: gone.filter(({ returned_at }) => returned_at !== null),
          credit_changes: creditChanges(this.db, span.from).filter(({ at }) => at < week.to),
        },
        sold_without_subscription: {
          covers_sales: this.#selling() === null ? 0 : 1,
          products: this.#bare(days),
        },
        truth: week.to > now - truthWithinMs ? this.#truth.outdated() : null,
        checkout: { ...checkout, rate: errorRate(checkout), worst: this.#worst(days) },
      };
    });
  }

  #titleOf(product_id: number): string | null {
    return this.#title({ product_id });
  }
}

function countsIn({ first, last }: Bound<Days>) {
  return query.selectFrom('_check_count as c').where('c.day', '>=', first).where('c.day', '<=', last);
}
