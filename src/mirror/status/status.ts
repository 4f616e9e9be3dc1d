import { statSync } from 'node:fs';
import type { Tier } from '../../domain/catalogue/availability.ts';
import { imageAlarmAfterMs, imageLimitMs } from '../../domain/catalogue/image.ts';
import { errorRate, type ReportCounts } from '../../domain/checks/error-rate.ts';
import { type AbsenceFacts, isMissing } from '../../domain/sale/absence.ts';
import { keyOf } from '../../domain/schedule/offer.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { walSizeOf } from '../../sqlite/database-file.ts';
import { readsOf } from '../../sqlite/statements.ts';
import { imageLedgerReads, type Unconfirmed } from '../catalogue/image-ledger.ts';
import { type NotOffered, offerReads } from '../schedule/offers.ts';

/** One line of the view `freshness`: how far a promise is kept, counted per record. */
export interface Freshness {
  readonly resource: string;
  readonly tier: string | null;
  readonly records: number;
  readonly fresh: number;
  readonly stale: number;
  readonly expired: number;
  /** 0 where a record was never read; null where there is none. */
  readonly oldest_checked_at: number | null;
  readonly promise_ms: number;
  readonly kept: 0 | 1;
}

/** What the mirror says of itself, read as any storefront could read it. */
export interface MirrorStatus {
  readonly path: string;
  readonly file_bytes: number;
  readonly wal_bytes: number;
  readonly contract_version: number;
  readonly schema_version: number;
  readonly written_by: string;
  readonly filled_at: number | null;
  readonly products: { readonly visible: number; readonly sellable: number; readonly withdrawn: number };
  /** How many are shown now. */
  readonly images: number;
  /** When the one of them that was not confirmed for longest was; null: none is shown. */
  readonly oldest_image_at: number | null;
  /** Products whose images were not confirmed for twelve days, the oldest first: ten at most. */
  readonly unconfirmed_images: readonly (Unconfirmed & { readonly hidden_from: number })[];
  readonly records: {
    readonly all: number;
    readonly never_fetched: number;
    readonly failing: number;
    readonly quarantined: number;
  };
  readonly failures: readonly { readonly resource: string; readonly failure: string; readonly records: number }[];
  readonly freshness: readonly Freshness[];
  /** Products whose removal is held, and since when; null: nothing is held. */
  readonly removals: { readonly held: number; readonly since: number } | null;
  /** Products that are on sale by their own reads, with dates that are answered as not on sale, and since when; null: none is. */
  readonly contradicted: { readonly products: number; readonly since: number } | null;
  /** Products that notifications closed and no read has decided: in effect, and held back. */
  readonly closures: { readonly unconfirmed: number; readonly held: number };
  readonly subscriptions: readonly SubscriptionStatus[];
  /** Times without notifications that are not healed yet, the newest first. */
  readonly gaps: readonly {
    readonly subscription_id: string | null;
    readonly from_at: number;
    readonly to_at: number | null;
    readonly products: number;
  }[];
  /** How often the mirror was wrong when somebody was about to order, over the days that are kept. */
  readonly error_rate: ErrorRate;
  /** Paths that the service does not have: asked again once a week, and nothing waits for them. */
  readonly not_offered: readonly (NotOffered & { readonly set: string })[];
  /** Conditions that a person should know of. */
  readonly alarms: readonly { readonly kind: string; readonly raised_at: number; readonly products: number }[];
}

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

/** One line of the view `subscriptions`, and whether what it covers is read less often. */
export interface SubscriptionStatus {
  readonly subscription_id: string;
  readonly type: string;
  /** Null: the service was never asked. */
  readonly status: string | null;
  /** Null for products_i_sell: only the service knows. */
  readonly covered_products: number | null;
  readonly last_delivery_at: number | null;
  /** From 0 to 1; null: nothing was announceable yet. */
  readonly trust: number | null;
  readonly trusted: 0 | 1;
}

/** Reads the status through a read-only connection. `quarantineAfter`: failures in a row. */
export function readStatus(db: Database, quarantineAfter: number): MirrorStatus {
  const info = db
    .prepare<[], Pick<MirrorStatus, 'contract_version' | 'schema_version' | 'written_by' | 'filled_at'>>(
      'SELECT contract_version, schema_version, written_by, filled_at FROM mirror_info',
    )
    .get();
  const products = db
    .prepare<[], MirrorStatus['products']>(
      `SELECT COALESCE(sum(withdrawn_at IS NULL), 0) AS visible, COALESCE(sum(sellable), 0) AS sellable,
         COALESCE(sum(withdrawn_at IS NOT NULL), 0) AS withdrawn FROM product`,
    )
    .get();
  const records = db
    .prepare<[number], MirrorStatus['records']>(
      `SELECT count(*) AS "all", COALESCE(sum(fetched_at IS NULL), 0) AS never_fetched, COALESCE(sum(failures > 0), 0) AS failing,
         COALESCE(sum(failures >= ?), 0) AS quarantined FROM record`,
    )
    .get(quarantineAfter);
  const failures = db
    .prepare<[], MirrorStatus['failures'][number]>(
      'SELECT resource, failure, count(*) AS records FROM record WHERE failures > 0 GROUP BY resource, failure ORDER BY records DESC LIMIT 5',
    )
    .all();
  const images = db
    .prepare<[], Pick<MirrorStatus, 'images' | 'oldest_image_at'>>(
      'SELECT count(*) AS images, min(verified_at) AS oldest_image_at FROM images',
    )
    .get();
  if (info === undefined || products === undefined || records === undefined)
    throw new Error('the mirror has no row about itself');
  return {
    path: db.name,
    file_bytes: statSync(db.name, { throwIfNoEntry: false })?.size ?? 0,
    wal_bytes: walSizeOf(db.name),
    ...info,
    products,
    ...(images ?? { images: 0, oldest_image_at: null }),
    unconfirmed_images: unconfirmedImages(db),
    records,
    failures,
    freshness: db.prepare<[], Freshness>('SELECT * FROM freshness').all(),
    removals: removalsHeld(db),
    contradicted: contradictedSales(db),
    closures: closuresOpen(db),
    subscriptions: db
      .prepare<[], SubscriptionStatus>(
        'SELECT v.*, s.trusted FROM subscriptions v JOIN subscription s USING (subscription_id) ORDER BY 1',
      )
      .all(),
    gaps: db
      .prepare<[], MirrorStatus['gaps'][number]>(
        'SELECT subscription_id, from_at, to_at, products FROM gap WHERE closed_at IS NULL ORDER BY gap_id DESC LIMIT 10',
      )
      .all(),
    error_rate: errorRateOf(db),
    not_offered: offerReads(readsOf(db))
      .missing()
      .map((each) => ({ ...each, set: keyOf[each.path] })),
    alarms: db
      .prepare<[], MirrorStatus['alarms'][number]>('SELECT kind, raised_at, products FROM alarm ORDER BY kind')
      .all(),
  };
}

function errorRateOf(db: Database): ErrorRate {
  const sums = 'sum(checks) AS checks, sum(wrong) AS wrong, sum(orders) AS orders, sum(orders_wrong) AS orders_wrong';
  const rated = <Row extends ReportCounts>(row: Row) => ({ ...row, rate: errorRate(row) });
  const by_tier = db
    .prepare<[], ReportCounts & { tier: Tier; unknown: number; unanswered: number }>(
      `SELECT tier, ${sums}, sum(unknown) AS unknown, sum(unanswered) AS unanswered FROM check_count
       GROUP BY tier ORDER BY CASE tier WHEN 'near' THEN 0 WHEN 'middle' THEN 1 ELSE 2 END`,
    )
    .all();
  const worst = db
    .prepare<[], ReportCounts & { product_id: number }>(
      `SELECT product_id, ${sums} FROM check_count GROUP BY product_id HAVING sum(wrong) + sum(orders_wrong) > 0
       ORDER BY sum(wrong) + sum(orders_wrong) DESC, product_id LIMIT 10`,
    )
    .all();
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
    worst: worst.map(rated),
  };
}

/** While the alarm about them lasts, as of when it was last seen. */
function unconfirmedImages(db: Database): MirrorStatus['unconfirmed_images'] {
  const seen_at = db.prepare<[], number>("SELECT seen_at FROM alarm WHERE kind = 'images-unverified'").pluck().get();
  if (seen_at === undefined) return [];
  const late = imageLedgerReads(readsOf(db)).unconfirmed(seen_at - imageAlarmAfterMs);
  return late.slice(0, 10).map((each) => ({ ...each, hidden_from: each.verified_at + imageLimitMs }));
}

function contradictedSales(db: Database): MirrorStatus['contradicted'] {
  const found = db
    .prepare<[], { products: number; since: number | null }>(
      'SELECT count(*) AS products, min(dates_off_at) AS since FROM product WHERE dates_off_at IS NOT NULL AND sellable = 1',
    )
    .get();
  return found === undefined || found.since === null ? null : { products: found.products, since: found.since };
}

function closuresOpen(db: Database): MirrorStatus['closures'] {
  const counts = db
    .prepare<[], MirrorStatus['closures']>(
      `SELECT COALESCE(sum(applied_at IS NOT NULL), 0) AS unconfirmed, COALESCE(sum(applied_at IS NULL), 0) AS held
       FROM closure WHERE ended_at IS NULL AND confirmed_at IS NULL`,
    )
    .get();
  return counts ?? { unconfirmed: 0, held: 0 };
}

function removalsHeld(db: Database): MirrorStatus['removals'] {
  const since = db.prepare<[], number>('SELECT opened_at FROM hold WHERE ended_at IS NULL').pluck().get();
  if (since === undefined) return null;
  const absent = db.prepare<[], AbsenceFacts>('SELECT * FROM absence WHERE missing_walks > 0').all();
  return { held: absent.filter(isMissing).length, since };
}
