import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordKey } from '../../src/schedule/record.rules.ts';
import {
  dueAfterNewCadence,
  dueByCadence,
  dueByWorth,
  dueForIncomingDate,
  dueNeverFetched,
  reopeningReread,
} from '../../src/schedule/record.rules.ts';

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.parse('2026-11-21T12:00:00Z');
const key = (product_id: number): RecordKey => ({ resource: 'availability', product_id, edition: 'EUR', part: 0 });

describe('a record', () => {
  it('is never due later than its cadence, and never at once', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.integer({ min: hour, max: 90 * day }), fc.nat(day), (id, cadence, late) => {
        const { at } = dueByCadence(key(id), now + late, cadence);
        expect(at).toBeLessThan(now + late + cadence);
        expect(at).toBeGreaterThan(now + late + 0.89 * cadence);
      }),
    );
  });

  it('that is read on time keeps its phase: one read a period, no more', () => {
    let at = now;
    for (let read = 0; read < 30; read += 1) at = dueByCadence(key(1), at, 6 * hour).at;
    const before = at;
    for (let read = 0; read < 100; read += 1) at = dueByCadence(key(1), at + 1000, 6 * hour).at;
    expect((at - before) / 100 / (6 * hour)).toBeCloseTo(0.99, 3);
  });

  it('drifts apart from those that were read in the same minute, until all are spread over the cadence', () => {
    const due = Array.from({ length: 2000 }, (_, id) => {
      let at = now;
      for (let read = 0; read < 15; read += 1) at = dueByCadence(key(id), at, 6 * hour).at;
      return at;
    });
    const perTenth = new Array<number>(10).fill(0);
    const period = 6 * hour * 0.99;
    for (const at of due)
      perTenth[Math.floor(((at % period) / period) * 10)] =
        (perTenth[Math.floor(((at % period) / period) * 10)] ?? 0) + 1;
    expect(Math.max(...perTenth)).toBeLessThan(2 * 200);
    expect(Math.min(...perTenth)).toBeGreaterThan(100);
  });

  it('that may change before its cadence is due when a call is worth it, within floor and cadence', () => {
    const worth = { volatility: { shape: 5, exposure: 10 * hour }, weight: 100, floor: hour / 4 };
    const cheap = dueByWorth(key(1), now, 6 * hour, { ...worth, price: hour });
    expect(cheap.reason).toBe('likely-changed');
    expect(cheap.at - now).toBeGreaterThanOrEqual(0.97 * worth.floor);
    const dear = dueByWorth(key(1), now, 6 * hour, { ...worth, price: Number.MAX_VALUE });
    expect(dear).toEqual(dueByCadence(key(1), now, 6 * hour));
  });

  it('of a shortened cadence is spread over one cadence instead of being due at once', () => {
    const fetched = now - 20 * hour;
    const due = Array.from({ length: 1000 }, (_, id) => dueAfterNewCadence(key(id), fetched, 6 * hour, now).at);
    expect(Math.min(...due)).toBeGreaterThanOrEqual(now);
    expect(Math.max(...due)).toBeLessThan(now + 6 * hour);
    expect(due.filter((at) => at < now + hour).length).toBeLessThan(250);
  });

  it('that was never read comes in the order of a first fill: near dates of everything, far dates last', () => {
    const order = (['products', 'availability', 'checkout_information', 'variants', 'product_detail'] as const).map(
      (resource) => dueNeverFetched({ ...key(1), resource }).at,
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(dueNeverFetched({ ...key(1), part: 1 }).at).toBeGreaterThan(Math.max(...order));
  });
});

describe('a date that midnight hands to the window before', () => {
  const midnight = now + 12 * hour;
  it.each([
    [
      'is read before the last read of its old window is too old',
      { fetched_at: now - 10 * hour, due_at: now + 14 * hour },
      now + 13.76 * hour,
    ],
    ['not before midnight', { fetched_at: now - 20 * hour, due_at: now + 14 * hour }, midnight],
    [
      'later, where its old window is read once more before',
      { fetched_at: now - 20 * hour, due_at: now + 3 * hour },
      now + 26.76 * hour,
    ],
  ])('%s', (_, next, expected) => {
    expect(dueForIncomingDate({ ...next, cadence: day }, midnight)?.at).toBe(expected);
  });

  it('waits for nobody where there is no further window', () => {
    expect(dueForIncomingDate(null, midnight)).toBe(null);
  });
});

describe('a product off sale', () => {
  it.each([
    ['within_7_days', 1],
    ['within_month', 2],
    ['more_than_month', 7],
    ['nobody knows this word', 1],
    [null, 1],
    ['2026-12-01', 9.5],
  ])('(%s) is looked at after %s days', (expected, days) => {
    expect(reopeningReread(expected, now, 28 * day)).toEqual({ at: now + days * day, reason: 'reopening-look' });
  });

  it('is left to its cadence where that comes first', () => {
    expect(reopeningReread(null, now, hour)).toBe(null);
  });
});
