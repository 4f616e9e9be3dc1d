import type { Tier } from '../../domain/catalogue/availability.ts';
import { errorRate, type ReportCounts } from '../../domain/checks/error-rate.ts';
import type { Reads } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

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

const tiers: readonly Tier[] = ['near', 'middle', 'far'];

export function errorRateOf(db: Reads): () => ErrorRate {
  const sums = query
    .selectFrom('_check_count')
    .select(({ fn }) => [
      fn.sum<number>('checks').as('checks'),
      fn.sum<number>('wrong').as('wrong'),
      fn.sum<number>('orders').as('orders'),
      fn.sum<number>('orders_wrong').as('orders_wrong'),
    ]);
  const ofTiers = db.rows(() =>
    sums
      .select('tier')
      .select(({ fn }) => [fn.sum<number>('unknown').as('unknown'), fn.sum<number>('unanswered').as('unanswered')])
      .groupBy('tier'),
  );
  const worst = db.rows(() =>
    sums
      .select('product_id')
      .groupBy('product_id')
      .having(({ eb, fn }) => eb(eb(fn.sum<number>('wrong'), '+', fn.sum<number>('orders_wrong')), '>', 0))
      .orderBy(({ eb, fn }) => eb(fn.sum<number>('wrong'), '+', fn.sum<number>('orders_wrong')), 'desc')
      .orderBy('product_id')
      .limit(10),
  );
  return () => {
    const by_tier = ofTiers.all().toSorted((a, b) => tiers.indexOf(a.tier) - tiers.indexOf(b.tier));
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
      worst: worst.all().map(rated),
    };
  };
}
