import type { OutdatedShare } from '../domain/truth/estimate.ts';
import { gauge, type MeasuredFamily, one, some } from './measured.ts';

/** The metrics about outdated data that shoppers see, and about the mirror's errors found by checks and orders. */
export const truthFamilies: readonly MeasuredFamily[] = [
  gauge(
    'catalogued_outdated_ratio',
    'Share of what shoppers see that is outdated, by random reads of seven days; absent until there are enough.',
    byReads(({ share }) => share),
  ),
  gauge(
    'catalogued_outdated_margin_ratio',
    'How far the true share may lie from it, 19 times in 20.',
    byReads(({ margin }) => margin),
  ),
  gauge(
    'catalogued_audited_reads',
    'Random reads of seven days that showed whether the mirror was right.',
    byReads(({ audited }) => audited),
  ),
  gauge(
    'catalogued_availability_error_ratio',
    'Share of checks and orders in which the mirror was wrong; absent before the first.',
    ({ status }) => one(status.error_rate.rate),
  ),
  gauge(
    'catalogued_availability_checks',
    'Checks that showed whether the mirror was right, by tier.',
    byTier('checks'),
  ),
  gauge('catalogued_availability_checks_wrong', 'Those in which the mirror was wrong.', byTier('wrong')),
  gauge(
    'catalogued_availability_orders',
    'Orders that showed whether the mirror was right, by tier.',
    byTier('orders'),
  ),
  gauge('catalogued_availability_orders_wrong', 'Those in which the mirror was wrong.', byTier('orders_wrong')),
  gauge('catalogued_availability_checks_unanswered', 'Checks that the service did not answer.', ({ status }) =>
    one(status.error_rate.unanswered),
  ),
];

/** Returns a figure for all dates, and for those of each tier. */
function byReads(figure: (of: OutdatedShare) => number | null): MeasuredFamily['of'] {
  return ({ status: { truth } }) =>
    [{ ...truth, tier: 'all' }, ...truth.by_tier].flatMap((each) => some({ tier: each.tier }, figure(each)));
}

/** Returns counts by tier. Rows are deleted after `retention.changes`, so these are gauges, not counters. */
function byTier(count: 'checks' | 'wrong' | 'orders' | 'orders_wrong'): MeasuredFamily['of'] {
  return ({ status }) => status.error_rate.by_tier.map((row) => ({ labels: { tier: row.tier }, value: row[count] }));
}
