import { type Instant, instant } from '../clock.ts';
import type { Database } from '../sqlite/database-file.ts';
import { type Bound, readsOf } from '../sqlite/statements.ts';
import { type CategoryReads, categoryReads } from './catalogue/categories.ts';
import { type ExperienceReads, experienceReads } from './catalogue/experiences.ts';
import { type ProductReads, productReads } from './catalogue/product/reads.ts';
import { TagReads } from './catalogue/tags.ts';
import { type ChangeReads, changeReads } from './changes/changes.ts';
import { EvidenceReads } from './evidence.ts';
import { type ClosureReads, closureReads } from './push/closures.ts';
import { type GapReads, gapReads } from './push/gaps.ts';
import { type NoticeReads, noticeReads } from './push/notices.ts';
import { type SubscriptionReads, subscriptionReads } from './push/subscriptions.ts';
import { BudgetReads, InterestReads, SignalReads } from './schedule/budget.ts';
import { OfferReads } from './schedule/offers.ts';
import { RecordReads } from './schedule/record-reads.ts';
import { openMirrorForReading } from './sql/files.ts';
import { query } from './sql/sql.ts';

/** The facts that questions are answered from, whether or not a daemon runs: what a mirror has, without what writes. */
export interface MirrorFacts {
  readonly catalogue: {
    readonly products: ProductReads;
    readonly categories: CategoryReads;
    readonly experiences: ExperienceReads;
    readonly tags: TagReads;
  };
  readonly push: {
    readonly closures: ClosureReads;
    readonly gaps: GapReads;
    readonly notices: NoticeReads;
    readonly subscriptions: SubscriptionReads;
  };
  readonly schedule: {
    readonly records: RecordReads;
    readonly budget: BudgetReads;
    readonly signals: SignalReads;
    readonly interest: InterestReads;
    readonly offers: OfferReads;
  };
  readonly changes: ChangeReads;
  readonly evidence: EvidenceReads;
}

/** The same, and what a storefront is shown. */
export interface ShownFacts extends MirrorFacts {
  /** Returns what the view `availability_days` shows of a date, by currency. */
  dateNow(product_id: number, date: string): DateNow[];
}

/** A date as storefronts see it now; `available` is of the last read, `state` minds the sale status too. */
export interface DateNow {
  readonly currency: string;
  readonly state: string;
  readonly available: 0 | 1;
  readonly lowest_price: number | null;
  readonly checked_at: Instant;
  readonly stale: 0 | 1;
}

/** Over a connection that cannot write. */
export function mirrorFacts(db: Database): ShownFacts {
  const reads = readsOf(db);
  const dateNow = reads.rows(({ product_id, date }: Bound<{ product_id: number; date: string }>) =>
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
  return {
    dateNow: (product_id, date) =>
      dateNow
        .all({ product_id, date })
        .map(({ last, ...row }) => ({ ...row, available: last === 'available' ? 1 : 0 })),
    catalogue: {
      products: productReads(reads),
      categories: categoryReads(reads),
      experiences: experienceReads(reads),
      tags: new TagReads(reads),
    },
    push: {
      closures: closureReads(reads),
      gaps: gapReads(reads),
      notices: noticeReads(reads),
      subscriptions: subscriptionReads(reads),
    },
    schedule: {
      records: new RecordReads(reads),
      budget: new BudgetReads(reads),
      signals: new SignalReads(reads),
      interest: new InterestReads(reads),
      offers: new OfferReads(reads),
    },
    changes: changeReads(reads),
    evidence: new EvidenceReads(reads),
  };
}

/** Opens the file as a storefront would; see `openMirrorForReading` for what is refused. */
export function openMirrorFacts(path: string): ShownFacts & Disposable {
  const db = openMirrorForReading(path);
  return { ...mirrorFacts(db), [Symbol.dispose]: () => db.close() };
}
