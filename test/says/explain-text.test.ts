import { expect, it } from 'vitest';
import type { Explanation } from '../../src/says/explain/explain.ts';
import { explainedFacts, leftOutMembers } from '../../src/says/explain/explain-text.ts';
import { now, view } from '../admin/known-status.ts';

const hour = 3_600_000;

/** What is said under a heading of the known product, of which something is different. */
function said(heading: string, given: Partial<Explanation>): string[] {
  return explainedFacts({ ...view.explanation, ...given }, now).flatMap(([each, says]) =>
    each === heading ? [says] : [],
  );
}

const { images, records, weighed, list_signal } = view.explanation;
const offSale = records.map((record) => ({ ...record, off_sale_at: now - hour, due_at: now + 2 * hour }));
const gone = {
  subject: 'sale-status', edition: 'en/EUR', from: null, to: null, state: 'applied', shown: 1, said: 0,
  first_at: now, last_at: now, since: now, again_at: null, shown_as: null, said_as: null,
} as const; // biome-ignore format: one claim

it.each<[heading: string, given: Partial<Explanation>, says: string[]]>([
  ['Shown', {}, ['yes, on sale']],
  ['Shown', { withdrawn_at: now - 3 * hour }, ['no: withdrawn 3 h ago']],
  ['Shown', { sellable: false, sale_status: 'disabled' }, ['yes, not on sale (disabled)']],
  [
    'Shown',
    { sellable: false, sale_status: 'disabled', disabled_reason: 'strike', expected_reopening: 'within_week' },
    ['yes, not on sale (disabled: strike, expected back within_week)'],
  ],
  ['Dates', {}, []],
  ['Dates', { dates_off_at: now - 5 * hour, sellable: false }, []],
  [
    'Dates',
    { dates_off_at: now - 5 * hour, records: offSale },
    [
      "availability has not said on sale for 5 h, but the product's last own read said enabled: read again in 2 h, at 2026-11-21T13:20:03Z",
    ],
  ],
  [
    'Dates',
    { dates_off_at: now - 5 * hour, records: offSale, claims: [gone] },
    [
      'the service has not had this product for 5 h, and its dates are withheld: read again in 2 h, at 2026-11-21T13:20:03Z',
    ],
  ],
  ['Images', {}, ['1, confirmed 2 d ago, hidden in 12 d unless confirmed again']],
  ['Images', { images: { ...images, hidden_from: now } }, ['1, confirmed 2 d ago, hidden: not confirmed for 14 days']],
  ['Images', { images: { shown: 0, verified_at: null, hidden_from: null } }, ['none: never confirmed']],
  ['Venue', { timezone: null }, ['time zone unknown, so a day of margin at both ends, today is 2026-11-21']],
  [
    'Weight',
    { weighed: { ...weighed, list_place: null, limited: true } },
    [
      'a stale copy does 1.5 times the usual harm: category 1.0 × interest 1.5 (9 views lately), which is the most that counts of one product',
    ],
  ],
  ['Covered', { covered: false }, ['no: changes are found only by reading']],
  [
    'Announced',
    { announced_by: [{ subscription_id: 'all', trust: null, trusted: false }] },
    ['by all: reads have found no change yet that shows how reliably it announces; not trusted'],
  ],
  ['Notified', {}, ['3 h ago: price (all)']],
  ['Costs', { calls_per_day: 0.25 }, ['0.3 calls a day']],
])('%s: %o', (heading, given, says) => {
  expect(said(heading, given)).toEqual(says);
});

it('a member that is not kept current is named, and no other part', () => {
  const [record] = records;
  const text =
    '2026-11-21 to 2026-12-21 (EUR): not kept current, because it differs in every answer and feeds no column: ';
  expect(leftOutMembers(view.explanation, now)).toEqual([`${text}generated_at`]);
  const kept = records.map((each) => ({ ...each, left_out: [] }));
  expect(record?.left_out).toEqual(['generated_at']);
  expect(leftOutMembers({ ...view.explanation, records: kept }, now)).toEqual([]);
});

it('what the list says of changes is told with when its own entry changed, if it did', () => {
  const [at = '', never = ''] = [list_signal.entry_changed_at, null].flatMap((entry_changed_at) =>
    said('Signals', { list_signal: { ...list_signal, entry_changed_at } }),
  );
  expect(at).toContain('its own entry changed 3 h ago');
  expect(never).toContain('its price and sale status there have not changed');
});
