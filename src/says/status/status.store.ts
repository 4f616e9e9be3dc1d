import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { imageLimitMs, imageUnconfirmedMs } from '../../catalogue/image.rules.ts';
import { ImageLedgerReads, type Unconfirmed } from '../../catalogue/images.store.ts';
import type { Tier } from '../../dates/availability.rules.ts';
import { errorRate, type ReportCounts } from '../../desk/error-rate.rules.ts';
import { type Instant, instant } from '../../kernel/clock.ts';
import { type Database, walSizeOf } from '../../kernel/sqlite/database-file.ts';
import { type Bound, type Reads, readsOf, Store } from '../../kernel/sqlite/statements.ts';
import { query } from '../../mirror/sql/sql.ts';
import { ownProgram } from '../../package.ts';
import { isMisuse } from '../../push/closure.rules.ts';
import { type ClosureCounts, ClosureReads } from '../../push/closures.store.ts';
import { notUnderstood } from '../../push/notification.rules.ts';
import { isBroken } from '../../push/subscription.rules.ts';
import { isWorthTelling } from '../../push/subscription-step.rules.ts';
import { type ListSignal, listSignalOf } from '../../schedule/budget.store.ts';
import { keyOf } from '../../schedule/offer.rules.ts';
import { type NotOffered, OfferReads } from '../../schedule/offers.store.ts';
import { ShortListReads, type ShortListStatus } from '../../schedule/walks.store.ts';
import { quarantineAfter } from '../../service/backoff.rules.ts';
import { auditPeriodMs, type OutdatedShare, outdatedShare } from '../../trust/error-estimate.rules.ts';
import { EvidenceReads } from '../../trust/evidence.store.ts';
import type { DeclaredFacts, FreshnessFacts, RecordFigures, StoredFacts } from '../conditions/facts.rules.ts';
import { isUnusable, mostUnusable, type UnusableAnswers } from '../conditions/unusable-answers.rules.ts';
import { type BookableDays, type LastHour, OnSaleReads } from './on-sale.store.ts';
import { OutcomeReads } from './outcomes.store.ts';

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
  return new StatusReads(db).read(now);
}

/** In quarantine a record is tried, and fails, once a day; one that was never read gets there later. */
const longDays = 2;
const laterFailures = 4;

/** A single unusable answer is an accident; one page that comes twice is two. */
const timesUnusable = 2;

/** Reads the status through a read-only connection, as often as it is asked: its statements are kept. */
export class StatusReads extends Store<Reads> {
  readonly #itself = this.db.row(() =>
    query.selectFrom('mirror_info').select(['contract_version', 'schema_version', 'written_by', 'filled_at']),
  );
  readonly #products = this.db.row(() =>
    query
      .selectFrom('_product')
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('withdrawn_at', 'is', null).as('visible'),
        fn.countAll<number>().filterWhere('sellable', '=', 1).as('sellable'),
        fn.countAll<number>().filterWhere('withdrawn_at', 'is not', null).as('withdrawn'),
      ]),
  );
  readonly #onSale = new OnSaleReads(this.db);
  readonly #images = this.db.row(() =>
    query
      .selectFrom('images')
      .select(({ fn }) => [
        fn.countAll<number>().as('images'),
        fn.min<Instant | null>('verified_at').as('oldest_image_at'),
      ]),
  );
  readonly #ledger = new ImageLedgerReads(this.db);
  readonly #records = this.db.row(() =>
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
  readonly #failures = this.db.rows(() =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', 'failure', fn.countAll<number>().as('records')])
      .where('failures', '>', 0)
      .$narrowType<{ failure: string }>()
      .groupBy(['resource', 'failure'])
      .orderBy('records', 'desc')
      .limit(5),
  );
  readonly #unusable = this.db.rows((bound: Bound<{ times: number }>) =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', 'failure', fn.countAll<number>().as('records')])
      .where(({ eb, or }) => or([eb('failures', '>=', bound.times), eb('failure', 'like', 'same-page:%')]))
      .where('failure', 'is not', null)
      .$narrowType<{ failure: string }>()
      .groupBy(['resource', 'failure'])
      .orderBy('records', 'desc'),
  );
  readonly #byResource = this.db.rows(() =>
    query
      .selectFrom('_record')
      .select(({ fn }) => ['resource', fn.countAll<number>().as('records')])
      .groupBy('resource'),
  );
  readonly #freshness = this.db.rows(() => query.selectFrom('freshness').selectAll());
  readonly #evidence = new EvidenceReads(this.db);
  readonly #contradicted = this.db.row(() =>
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
  readonly #closures = new ClosureReads(this.db);
  readonly #subscriptions = this.db.rows(() =>
    query
      .selectFrom('subscriptions as v')
      .innerJoin('_subscription as s', 's.subscription_id', 'v.subscription_id')
      .selectAll('v')
      .select(['s.trusted', 's.put_at', 's.failures', 's.failure_kind', 's.not_understood', 's.not_understood_at'])
      .orderBy('v.subscription_id'),
  );
  readonly #gaps = this.db.rows(() =>
    query
      .selectFrom('_gap')
      .select(['subscription_id', 'from_at', 'to_at', 'products'])
      .where('closed_at', 'is', null)
      .orderBy('gap_id', 'desc')
      .limit(10),
  );
  readonly #truth = new TruthReads(this.db);
  readonly #signal = listSignalOf(this.db);
  readonly #offers = new OfferReads(this.db);
  readonly #shortLists = new ShortListReads(this.db);
  readonly #outcomes = new OutcomeReads(this.db);
  readonly #path: string;

  constructor(db: Database) {
    super(readsOf(db));
    this.#path = db.name;
  }

  read(now: Instant): MirrorStatus {
    const itself = this.#itself();
    if (itself === null) throw new Error('the mirror has no row about itself');
    const late = this.#ledger.unconfirmed({ before: instant(now - imageUnconfirmedMs) });
    const [oldest] = late;
    const contradicted = this.#contradicted();
    return {
      path: this.#path,
      file_bytes: statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0,
      wal_bytes: walSizeOf(this.#path),
      ...itself,
      products: this.#products() ?? { visible: 0, sellable: 0, withdrawn: 0 },
      bookable: this.#onSale.bookable(now),
      last_hour: this.#onSale.lastHour(now),
      ...(this.#images() ?? { images: 0, oldest_image_at: null }),
      images_unconfirmed:
        oldest === undefined
          ? null
          : { products: late.length, since: instant(oldest.verified_at + imageUnconfirmedMs) },
      unconfirmed_images: late
        .slice(0, 10)
        .map((each) => ({ ...each, hidden_from: instant(each.verified_at + imageLimitMs) })),
      records: this.#records() ?? noRecords,
      failures: this.#failures(),
      unusable: this.#mostUnusable(),
      unreadable: this.#evidence.unread.members(),
      freshness: this.#freshness(),
      held: this.#evidence.held(),
      contradicted:
        contradicted === null || contradicted.since === null
          ? null
          : { products: contradicted.products, since: contradicted.since },
      closures: { ...this.#closures.counts(), mostly_false: isMisuse(this.#closures.decided({ limit: 100 })) ? 1 : 0 },
      subscriptions: this.#subscriptions().map(
        ({ put_at, failures, failure_kind, not_understood, not_understood_at, ...shown }) => ({
          ...shown,
          broken: isBroken(shown.status, put_at) ? 1 : 0,
          failing: isWorthTelling(failure_kind, failures) ? 1 : 0,
          not_understood_since: not_understood >= notUnderstood.deliveries ? not_understood_at : null,
        }),
      ),
      gaps: this.#gaps(),
      error_rate: this.#truth.errorRate(),
      truth: this.#truth.outdated(),
      list_signal: this.#signal(),
      not_offered: this.#offers
        .missing()
        .map(({ path, since, asked_at, refusal }) => ({ path, since, asked_at, refusal, set: keyOf[path] })),
      short_lists: this.#shortLists.all(),
      outcomes: this.#outcomes.all(),
    };
  }

  #mostUnusable(): UnusableAnswers | null {
    const found = this.#unusable({ times: timesUnusable });
    if (!found.some(({ failure }) => isUnusable(failure))) return null;
    return mostUnusable(found, new Map(this.#byResource().map(({ resource, records }) => [resource, records])));
  }
}

const noRecords: MirrorStatus['records'] = {
  all: 0,
  never_fetched: 0,
  failing: 0,
  quarantined: 0,
  failing_long: 0,
  last_read_at: null,
  unanswered: 0,
  unanswered_products: 0,
};

/** The view `availability_error_rate`, summed up. */
export interface ErrorRate extends ReportCounts {
  /** The share of checks and orders in which the mirror was wrong; null: there was none yet. */
  readonly rate: number | null;
  /** Checks and orders of dates that the mirror did not have, and checks that the service did not answer: in no share. */
  readonly unknown: number;
  readonly unanswered: number;
  readonly by_tier: readonly (ReportCounts & { readonly tier: Tier; readonly rate: number | null })[];
  /** The ten products with the most wrong ones. */
  readonly worst: readonly (ReportCounts & { readonly product_id: number; readonly rate: number | null })[];
}

/** Share of outdated data among what shoppers see, estimated from random reads of the last seven days. */
export interface Truth extends OutdatedShare {
  /** Start and end of the period that the reads cover; null if there were no reads. */
  readonly from_at: number | null;
  readonly to_at: number | null;
  /** The same of the dates of each tier. */
  readonly by_tier: readonly (OutdatedShare & { readonly tier: Tier })[];
}

const tiers: readonly Tier[] = ['near', 'middle', 'far'];

/** Queries about how often the mirror is wrong. */
export class TruthReads extends Store<Reads> {
  readonly #ofTiers = this.db.rows(() =>
    reports
      .select('tier')
      .select(({ fn }) => [fn.sum<number>('unknown').as('unknown'), fn.sum<number>('unanswered').as('unanswered')])
      .groupBy('tier'),
  );
  readonly #worst = this.db.rows(() =>
    reports
      .select('product_id')
      .groupBy('product_id')
      .having(({ eb, fn }) => eb(eb(fn.sum<number>('wrong'), '+', fn.sum<number>('orders_wrong')), '>', 0))
      .orderBy(({ eb, fn }) => eb(fn.sum<number>('wrong'), '+', fn.sum<number>('orders_wrong')), 'desc')
      .orderBy('product_id')
      .limit(10),
  );
  readonly #audits = this.db.rows(() =>
    query.selectFrom('_audit').select(['from_at', 'tier', 'audited', 'outdated']).orderBy('from_at'),
  );

  errorRate(): ErrorRate {
    const by_tier = this.#ofTiers().toSorted((a, b) => tiers.indexOf(a.tier) - tiers.indexOf(b.tier));
    const rated = <Row extends ReportCounts>(row: Row) => ({ ...row, rate: errorRate(row) });
    const total = (name: keyof ReportCounts | 'unknown' | 'unanswered') =>
      by_tier.reduce((sum, row) => sum + row[name], 0);
    const all = {
      checks: total('checks'),
      wrong: total('wrong'),
      orders: total('orders'),
      orders_wrong: total('orders_wrong'),
    };
    return {
      ...rated(all),
      unknown: total('unknown'),
      unanswered: total('unanswered'),
      by_tier: by_tier.map(({ unknown: _, unanswered: __, ...row }) => rated(row)),
      worst: this.#worst().map(rated),
    };
  }

  outdated(): Truth {
    const audits = this.#audits();
    const of = (tier: Tier | 'all') => audits.filter((each) => each.tier === tier);
    const last = audits.at(-1);
    return {
      ...outdatedShare(of('all')),
      from_at: audits[0]?.from_at ?? null,
      to_at: last === undefined ? null : instant(last.from_at + auditPeriodMs),
      by_tier: tiers.filter((tier) => of(tier).length > 0).map((tier) => ({ tier, ...outdatedShare(of(tier)) })),
    };
  }
}

/** Checks and orders that were counted. */
const reports = query
  .selectFrom('_check_count')
  .select(({ fn }) => [
    fn.sum<number>('checks').as('checks'),
    fn.sum<number>('wrong').as('wrong'),
    fn.sum<number>('orders').as('orders'),
    fn.sum<number>('orders_wrong').as('orders_wrong'),
  ]);

const worker = ownProgram('says/status/worker');

/** Answer of the thread to a question. */
export type StatusAnswer = { readonly status: MirrorStatus } | { readonly error: Error };

/** A status is small: what its thread leaves behind is collected early. */
const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 };

/** Up to this number of records a count takes some milliseconds, and each question has its own. */
const countedForEachQuestion = 20_000;

/** Milliseconds after which a question about a larger mirror begins the next count. */
const countAgainAfterMs = 15_000;

/**
 * The mirror's status, counted in a thread of its own: it goes through every record, and nothing else may wait for
 * that. The first question starts the thread. Disposing ends it, and rejects open questions.
 */
export class StatusReader implements AsyncDisposable {
  readonly #path: string;
  /** Null: none runs. The next count starts one. */
  #thread: StatusThread | null = null;
  /** The last count that succeeded; null: none did. */
  #last: CountedStatus | null = null;
  /** Start of the last count; null: there was none. */
  #began_at: Instant | null = null;
  /** The count under way, which everybody shares who asks meanwhile; null: there is none. */
  #counting: Promise<CountedStatus> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns a small mirror's status as it is now, and a large one's as it was counted last, so that nobody waits for
   * the count. If that is some time ago, the next count begins.
   */
  async read(now: Instant): Promise<CountedStatus> {
    const last = this.#last;
    if (last === null || last.records.all <= countedForEachQuestion) return await this.count(now);
    // A clock that was set, in either direction, is reason enough for a new count.
    if (Math.abs(now - (this.#began_at ?? 0)) >= countAgainAfterMs) {
      // If it fails, the job that counts every minute reports it.
      this.count(now).catch(() => undefined);
    }
    return last;
  }

  /** Returns the result of the count under way, or of a new one. */
  async count(now: Instant): Promise<CountedStatus> {
    this.#counting ??= this.#count(now).finally(() => {
      this.#counting = null;
    });
    return await this.#counting;
  }

  async #count(now: Instant): Promise<CountedStatus> {
    this.#began_at = now;
    this.#thread ??= new StatusThread(this.#path, (ended) => {
      if (this.#thread === ended) this.#thread = null;
    });
    const status = { ...(await this.#thread.ask(now)), as_of: now };
    this.#last = status;
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.end();
  }
}

/** The thread, and the questions that it has not answered. */
class StatusThread {
  readonly #worker: Worker;
  /** It answers in the order of the questions. */
  readonly #open: PromiseWithResolvers<MirrorStatus>[] = [];

  /** Calls `ended`, perhaps twice, when it has ended. */
  constructor(path: string, ended: (thread: StatusThread) => void) {
    this.#worker = new Worker(worker, { workerData: path, name: 'status', resourceLimits });
    // It keeps no process alive.
    this.#worker.unref();
    this.#worker.on('message', (answer: StatusAnswer) => {
      const question = this.#open.shift();
      if ('status' in answer) question?.resolve(answer.status);
      else question?.reject(answer.error);
    });
    const end = (error: Error) => {
      ended(this);
      for (const question of this.#open.splice(0)) question.reject(error);
    };
    this.#worker.once('error', end);
    this.#worker.once('exit', () => end(new Error('the thread that reads the status has ended')));
  }

  ask(now: Instant): Promise<MirrorStatus> {
    const question = Promise.withResolvers<MirrorStatus>();
    this.#open.push(question);
    this.#worker.postMessage(now);
    return question.promise;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
