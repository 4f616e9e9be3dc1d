import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

it(
  'a search for dates finds what has tickets on one of them, at what an adult pays least on those and its first date',
  needs('time'),
  async () => {
    await using harness = await virtualHarness({ products: 30 }, {}, { start: systemClock.now() });
    await harness.fill();
    // The reader's views have the machine's own clock.
    const { path } = harness.daemon.config.mirror;
    const db = openMirrorAt(path, harness.clock.now());
    const days = db
      .prepare<[], { product_id: number; date: string; lowest_adult_price: number; price_variant_type: string }>(
        "SELECT product_id, date, lowest_adult_price, price_variant_type FROM bookable_days WHERE currency = 'EUR'",
      )
      .all();
    db.close();
    const dates = [...new Set(days.map(({ date }) => date))].sort();
    const [from = '', to = ''] = [dates[10], dates[12]];
    using reader = openReader(path);
    const within = days.filter(({ date }) => date >= from && date <= to);
    const wanted = [...new Set(within.map(({ product_id }) => product_id))].sort((a, b) => a - b);
    const { hits, total } = reader.search({ from, to, limit: 1000 });
    expect(wanted.length).toBeGreaterThan(3);
    expect(hits.map(({ product_id }) => product_id).sort((a, b) => a - b)).toEqual(wanted);
    expect(total).toBe(wanted.length);
    for (const { product_id, price, price_variant_type, date } of hits) {
      const own = within.filter((day) => day.product_id === product_id);
      expect(date).toBe(own.map((day) => day.date).sort()[0]);
      const adults = own.filter((day) => day.price_variant_type === 'adult');
      const printed = adults.length > 0 ? adults : own;
      expect(price).toBe(Math.min(...printed.map(({ lowest_adult_price }) => lowest_adult_price)));
      expect(printed.map((day) => day.price_variant_type)).toContain(price_variant_type);
    }
    expect(reader.search({ from, to, max_price: hits[0]?.price ?? 0 }).total).toBeLessThanOrEqual(total);
  },
);
