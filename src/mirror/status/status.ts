import { statSync } from 'node:fs';
import { type Instant, instant } from '../../clock.ts';
import { quarantineAfter } from '../../domain/budget/backoff.ts';
import { imageLimitMs, imageUnconfirmedMs } from '../../domain/catalogue/image.ts';
import type { DeclaredFacts, FreshnessFacts, RecordFigures, StoredFacts } from '../../domain/conditions/facts.ts';
import { isUnusable, mostUnusable, type UnusableAnswers } from '../../domain/conditions/unusable-answers.ts';
import { notUnderstood } from '../../domain/push/notification.ts';
import { isBroken } from '../../domain/push/subscription.ts';
import { isWorthTelling } from '../../domain/push/subscription-step.ts';
import { isMisuse } from '../../domain/sale/closure.ts';
import { keyOf } from '../../domain/schedule/offer.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { walSizeOf } from '../../sqlite/database-file.ts';
import { type Bound, type Reads, readsOf } from '../../sqlite/statements.ts';
import { imageLedgerReads, type Unconfirmed } from '../catalogue/image-ledger.ts';
import { evidenceReads } from '../evidence.ts';
import { type ClosureCounts, ClosureReads } from '../push/closures.ts';
import { type NotOffered, offerReads } from '../schedule/offers.ts';
import { type ShortListStatus, shortListReads } from '../schedule/short-lists.ts';
import { type ListSignal, listSignalOf } from '../schedule/signals.ts';
import { query } from '../sql/sql.ts';
import { type ErrorRate, errorRateOf } from './error-rate.ts';
import { type BookableDays, bookableDays, type LastHour, lastHour } from './on-sale.ts';
import { outcomeReads } from './outcomes.ts';
import { type Truth, truthOf } from './truth.ts';

/** One line of the view `freshness`: how far a freshness target is met, counted per record. */
export interface Freshness extends FreshnessFacts {
  readonly fresh: number;
}

/** Status of the mirror, read as any storefront could read it. */
export interface MirrorStatus extends StoredFacts {
  readonly path: string;
  readonly file_bytes: number;
  readonly contract_version: number;
  readonly schema_version: number;
  readonly written_by: string;
  readonly products: { readonly visible: number; readonly sellable: number; readonly withdrawn: number };
  readonly bookable: BookableDays;
  readonly last_hour: LastHour;
  /** Number of images shown now. */
  readonly images: number;
  /** Instant at which the image that has waited longest for confirmation was last confirmed; null if none is shown. */
  readonly oldest_image_at: number | null;
  /** Products whose images were not confirmed for twelve days, the oldest first: ten at most. */
  readonly unconfirmed_images: readonly (Unconfirmed & { readonly hidden_from: number })[];
  readonly records: RecordFigures & { readonly quarantined: number };
  readonly failures: readonly { readonly resource: string; readonly failure: string; readonly records: number }[];
  readonly freshness: readonly Freshness[];
  /** Products that notifications closed and no read has decided: in effect, and held back. */
  readonly closures: ClosureCounts & StoredFacts['closures'];
  readonly subscriptions: readonly SubscriptionStatus[];
  /** Periods without notifications that are not repaired yet, the newest first. */
  readonly gaps: readonly {
    readonly subscription_id: string | null;
    readonly from_at: number;
    readonly to_at: number | null;
    readonly products: number;
  }[];
  readonly error_rate: ErrorRate;
  readonly truth: Truth;
  /** Value of the product list as a signal for changes of dates. */
  readonly list_signal: ListSignal;
  /** Paths that the service does not have, or that the key may not read: they are requested rarely, and nothing waits for them. */
  readonly not_offered: readonly (NotOffered & { readonly set: string })[];
  readonly short_lists: readonly ShortListStatus[];
}

/** The mirror's status, and the instant at which it was counted. */
export type CountedStatus = MirrorStatus & { readonly as_of: number };

/** One line of the view `subscriptions`, and what is wrong with it. */
export interface SubscriptionStatus extends DeclaredFacts {
  readonly subscription_id: string;
  readonly type: string;
  readonly last_delivery_at: number | null;
  /** From 0 to 1; null: nothing was announceable yet. */
  readonly trust: number | null;
}

/** Reads the status once through a read-only connection. */
export function readStatus(db: Database, now: Instant): MirrorStatus {
  return statusOf(db)(now);
}

/** Returns what reads the status through a read-only connection, as often as it is called: its statements are kept. */
export function statusOf(db: Database): (now: Instant) => MirrorStatus {
  const reads = readsOf(db);
  const itself = aboutItself(reads);
  const products = productCounts(reads);
  const bookable = bookableDays(reads);
  const changed = lastHour(reads);
  const images = imagesShown(reads);
  const unconfirmed = unconfirmedImages(reads);
  const records = recordCounts(reads);
  const unusable = unusableAnswers(reads);
  const freshness = reads.rows(() => query.selectFrom('freshness').selectAll());
  const evidence = evidenceReads(reads);
  const contradicted = contradictedSales(reads);
  const closures = new ClosureReads(reads);
  const push = pushStatus(reads);
  const errorRate = errorRateOf(reads);
  const truth = truthOf(reads);
  const signal = listSignalOf(reads);
  const offers = offerReads(reads);
  const shortLists = shortListReads(reads);
  const outcomes = outcomeReads(reads);
  return (now) => ({
    path: db.name,
    file_bytes: statSync(db.name, { throwIfNoEntry: false })?.size ?? 0,
    wal_bytes: walSizeOf(db.name),
    ...itself(),
    products: products(),
    bookable: bookable(now),
    last_hour: changed(now),
    ...images(),
    ...unconfirmed(instant(now)),
    ...records(),
    unusable: unusable(),
    unreadable: evidence.unread.members(),
    freshness: freshness.all(),
    held: evidence.held(),
    contradicted: contradicted(),
    closures: { ...closures.counts(), mostly_false: isMisuse(closures.decided(100)) ? 1 : 0 },
    ...push(),
    error_rate: errorRate(),
    truth: truth(),
    list_signal: signal(),
    not_offered: offers
      .missing()
      .map(({ path, since, asked_at, refusal }) => ({ path, since, asked_at, refusal, set: keyOf[path] })),
    short_lists: shortLists.all(),
    outcomes: outcomes.all(),
  });
}

function aboutItself(
  db: Reads,
): () => Pick<MirrorStatus, 'contract_version' | 'schema_version' | 'written_by' | 'filled_at'> {
  const row = db.rows(() =>
    query.selectFrom('mirror_info').select(['contract_version', 'schema_version', 'written_by', 'filled_at']),
  );
  return () => {
    const info = row.get();
    if (info === undefined) throw new Error('the mirror has no row about itself');
    return info;
  };
}

function productCounts(db: Reads): () => MirrorStatus['products'] {
  const counts = db.rows(() =>
    query
      .selectFrom('_product')
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('withdrawn_at', 'is', null).as('visible'),
        fn.countAll<number>().filterWhere('sellable', '=', 1).as('sellable'),
        fn.countAll<number>().filterWhere('withdrawn_at', 'is not', null).as('withdrawn'),
      ]),
  );
  return () => counts.get() ?? { visible: 0, sellable: 0, withdrawn: 0 };
}

function imagesShown(db: Reads): () => Pick<MirrorStatus, 'images' | 'oldest_image_at'> {
  const shown = db.rows(() =>
    query
      .selectFrom('images')
      .select(({ fn }) => [
        fn.countAll<number>().as('images'),
        fn.min<Instant | null>('verified_at').as('oldest_image_at'),
      ]),
  );
  return () => shown.get() ?? { images: 0, oldest_image_at: null };
}

/** In quarantine a record is tried, and fails, once a day; one that was never read gets there later. */
const longDays = 2;
const laterFailures = 4;

function recordCounts(db: Reads): () => Pick<MirrorStatus, 'records' | 'failures'> {
  const counts = db.rows(() =>
    query.selectFrom('_record').select(({ fn }) => [
      fn.countAll<number>().as('all'),
      fn.countAll<number>().filterWhere('fetched_at', 'is', null).as('never_fetched'),
      fn.countAll<number>().filterWhere('failures', '>', 0).as('failing'),
      fn.countAll<number>().filterWhere('failures', '>=', quarantineAfter).as('quarantined'),
      fn
        .countAll<number>()
        .filterWhere(({ and, eb, or }) =>
          and([
            or([
              eb('failures', '>', quarantineAfter + longDays + laterFailures),
              eb('failures', '>', quarantineAfter + longDays).and('fetched_at', 'is not', null),
            ]),
            // An incomplete list has a condition of its own.
            eb('failure', 'not like', 'list-incomplete:%'),
          ]),
        )
        .as('failing_long'),
      fn.max<Instant | null>('fetched_at').as('last_read_at'),
      fn
        .countAll<number>()
        .filterWhere(({ eb, and }) => and([eb('unanswered_at', 'is not', null), eb('resource', '=', 'availability')]))
        .as('unanswered'),
      fn
        .count<number>('product_id')
        .distinct()
        .filterWhere(({ eb, and }) => and([eb('unanswered_at', 'is not', null), eb('resource', '=', 'availability')]))
        .as('unanswered_products'),
    ]),
  );
  const failures = db.rows(() =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', 'failure', fn.countAll<number>().as('records')])
      .where('failures', '>', 0)
      .$narrowType<{ failure: string }>()
      .groupBy(['resource', 'failure'])
      .orderBy('records', 'desc')
      .limit(5),
  );
  return () => ({
    records: counts.get() ?? {
      all: 0,
      never_fetched: 0,
      failing: 0,
      quarantined: 0,
      failing_long: 0,
      last_read_at: null,
      unanswered: 0,
      unanswered_products: 0,
    },
    failures: failures.all(),
  });
}

/** A single unusable answer is an accident; one page that comes twice is two. */
const timesUnusable = 2;

function unusableAnswers(db: Reads): () => UnusableAnswers | null {
  const failing = db.rows((bound: Bound<{ times: number }>) =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', 'failure', fn.countAll<number>().as('records')])
      .where(({ eb, or }) => or([eb('failures', '>=', bound.times), eb('failure', 'like', 'same-page:%')]))
      .where('failure', 'is not', null)
      .$narrowType<{ failure: string }>()
      .groupBy(['resource', 'failure'])
      .orderBy('records', 'desc'),
  );
  const all = db.rows(() =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', fn.countAll<number>().as('records')])
      .groupBy('resource'),
  );
  return () => {
    const found = failing.all({ times: timesUnusable });
    if (!found.some(({ failure }) => isUnusable(failure))) return null;
    return mostUnusable(found, new Map(all.all().map(({ resource, records }) => [resource, records])));
  };
}

function pushStatus(db: Reads): () => Pick<MirrorStatus, 'subscriptions' | 'gaps'> {
  const subscriptions = db.rows(() =>
    query
      .selectFrom('subscriptions as v')
      .innerJoin('_subscription as s', 's.subscription_id', 'v.subscription_id')
      .selectAll('v')
      .select(['s.trusted', 's.put_at', 's.failures', 's.failure_kind', 's.not_understood', 's.not_understood_at'])
      .orderBy('v.subscription_id'),
  );
  const gaps = db.rows(() =>
    query
      .selectFrom('_gap')
      .select(['subscription_id', 'from_at', 'to_at', 'products'])
      .where('closed_at', 'is', null)
      .orderBy('gap_id', 'desc')
      .limit(10),
  );
  type Stored = ReturnType<typeof subscriptions.all>[number];
  const judged = ({ put_at, failures, failure_kind, not_understood, not_understood_at, ...shown }: Stored) =>
    ({
      ...shown,
      broken: isBroken(shown.status, put_at) ? 1 : 0,
      failing: isWorthTelling(failure_kind, failures) ? 1 : 0,
      not_understood_since: not_understood >= notUnderstood.deliveries ? not_understood_at : null,
    }) as const;
  return () => ({ subscriptions: subscriptions.all().map(judged), gaps: gaps.all() });
}

function unconfirmedImages(
  db: Reads,
): (now: Instant) => Pick<MirrorStatus, 'images_unconfirmed' | 'unconfirmed_images'> {
  const ledger = imageLedgerReads(db);
  return (now) => {
    const late = ledger.unconfirmed(instant(now - imageUnconfirmedMs));
    const [oldest] = late;
    return {
      images_unconfirmed:
        oldest === undefined
          ? null
          : { products: late.length, since: instant(oldest.verified_at + imageUnconfirmedMs) },
      unconfirmed_images: late
        .slice(0, 10)
        .map((each) => ({ ...each, hidden_from: instant(each.verified_at + imageLimitMs) })),
    };
  };
}

function contradictedSales(db: Reads): () => MirrorStatus['contradicted'] {
  const sales = db.rows(() =>
    query
      .selectFrom('_product as p')
      .select(({ fn }) => [fn.countAll<number>().as('products'), fn.min<Instant | null>('dates_off_at').as('since')])
      .where('dates_off_at', 'is not', null)
      .where('sellable', '=', 1)
      // Its own read says off sale too, or that the product is gone.
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('_claim as c')
              .select('c.product_id')
              .whereRef('c.product_id', '=', 'p.product_id')
              .where('c.subject', '=', 'sale-status'),
          ),
        ),
      ),
  );
  return () => {
    const found = sales.get();
    return found === undefined || found.since === null ? null : { products: found.products, since: found.since };
  };
}
