import { CategoryReads } from '../catalogue/categories.store.ts';
import { ExperienceReads } from '../catalogue/experiences.store.ts';
import { ProductReads } from '../catalogue/product-reads.store.ts';
import { TagReads } from '../catalogue/tags.store.ts';
import { ChangeReads } from '../feed/changes.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, type Reads, readsOf, Store } from '../kernel/sqlite/statements.ts';
import { ClosureReads } from '../push/closures.store.ts';
import { CoverageReads } from '../push/coverage.store.ts';
import { GapReads, NoticeReads } from '../push/notices.store.ts';
import { SubscriptionReads } from '../push/subscriptions.store.ts';
import { BudgetReads, InterestReads, SignalReads } from '../schedule/budget.store.ts';
import { OfferReads } from '../schedule/offers.store.ts';
import { RecordReads } from '../schedule/record-reads.store.ts';
import { EvidenceReads } from '../trust/evidence.store.ts';
import { openMirrorForReading } from './sql/files.ts';
import { query } from './sql/sql.ts';

/** A date as storefronts see it now; `available` is of the last read, `state` minds the sale status too. */
export interface DateNow {
  readonly currency: string;
  readonly state: string;
  readonly available: 0 | 1;
  readonly lowest_price: number | null;
  readonly checked_at: Instant;
  readonly stale: 0 | 1;
}

/** The facts that questions are answered from, whether or not a daemon runs: what a mirror has, without what writes. */
export type MirrorFacts = Omit<ShownFacts, 'dateNow'>;

/** The same over a connection that cannot write, and what a storefront is shown. */
export class ShownFacts extends Store<Reads> {
  readonly catalogue = {
    products: new ProductReads(this.db),
    categories: new CategoryReads(this.db),
    experiences: new ExperienceReads(this.db),
    tags: new TagReads(this.db),
  };
  readonly push = {
    closures: new ClosureReads(this.db),
    coverage: new CoverageReads(this.db),
    gaps: new GapReads(this.db),
    notices: new NoticeReads(this.db),
    subscriptions: new SubscriptionReads(this.db),
  };
  readonly schedule = {
    records: new RecordReads(this.db),
    budget: new BudgetReads(this.db),
    signals: new SignalReads(this.db),
    interest: new InterestReads(this.db),
    offers: new OfferReads(this.db),
  };
  readonly changes = new ChangeReads(this.db);
  readonly evidence = new EvidenceReads(this.db);
  readonly #dateNow = this.db.rows(({ product_id, date }: Bound<{ product_id: number; date: string }>) =>
    query
      .selectFrom('availability_days as v')
      .innerJoin('day as d', (join) =>
        join
          .onRef('d.product_id', '=', 'v.product_id')
          .onRef('d.currency', '=', 'v.currency')
          .onRef('d.date', '=', 'v.date')
          .on('d.from_at', '=', instant(0)),
      )
      .select(['v.currency', 'v.state', 'd.state as last', 'v.lowest_price', 'v.checked_at', 'v.stale'])
      .where('v.product_id', '=', product_id)
      .where('v.date', '=', date),
  );

  /** Returns what the view `availability_days` shows of a date, by currency. */
  dateNow(product_id: number, date: string): DateNow[] {
    return this.#dateNow({ product_id, date }).map(({ last, ...row }) => ({
      ...row,
      available: last === 'available' ? 1 : 0,
    }));
  }
}

/** Opens the file as a storefront would; see `openMirrorForReading` for what is refused. */
export function openMirrorFacts(path: string): ShownFacts & Disposable {
  const db = openMirrorForReading(path);
  return Object.assign(new ShownFacts(readsOf(db)), { [Symbol.dispose]: () => void db.close() });
}
