import { expect, it } from 'vitest';
import type { KnownProduct } from '../../src/catalogue/product-reads.store.ts';
import { instant } from '../../src/kernel/clock.ts';
import type { ProductPolicy } from '../../src/schedule/sync.ts';
import { datesOf } from '../../src/schedule/window-dates.ts';

const hour = 3_600_000;
const start = Date.parse('2026-11-21T00:30:00Z');
const policy = {
  extent: { windows: [{ part: 0, first_day: 0, last_day: 30, every: hour }] },
} as unknown as ProductPolicy;

it.each([null, 'Europe/Amsterdam', 'Pacific/Kiritimati', 'Pacific/Pago_Pago'])(
  'a window in the zone %s has moved before now, and moves on at the midnight that comes, at any hour',
  (timezone) => {
    const dates = (now: number) => {
      const found = datesOf(policy, { timezone } as KnownProduct, 0, instant(now));
      if (found === null) throw new Error('no window');
      return found;
    };
    for (let now = start; now < start + 72 * hour; now += hour) {
      const { from, last_midnight, next_midnight } = dates(now);
      expect(last_midnight).toBeLessThanOrEqual(now);
      expect(next_midnight).toBeGreaterThan(now);
      expect([dates(last_midnight).from, dates(next_midnight - 1).from]).toEqual([from, from]);
      expect([dates(last_midnight - 1).from, dates(next_midnight).from]).not.toContain(from);
    }
  },
);
