import { expect, it } from 'vitest';
import { refreshAvailability } from '../../src/dates/availability.ask.ts';
import type { AvailabilityAnswer } from '../../src/dates/availability.rules.ts';
import { venueToday } from '../../src/kernel/time/venue.ts';
import { ReadLane } from '../../src/schedule/sync.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;

it('what availability adds to a variant goes with the first read after its last date', async () => {
  await using harness = await filledHarness({ lean: true, products: 1 }, { held: { less: 'off' } });
  const { sync, mirror } = harness.daemon;
  const [product] = harness.sandbox.world.visible();
  const product_id = product?.id ?? 0;
  const timezone = mirror.catalogue.products.find(product_id)?.timezone ?? null;
  const documents = () => {
    const db = openMirrorAt(mirror.path, harness.clock.now());
    const rows = db.prepare<[], string>('SELECT document FROM variants').pluck().all();
    db.close();
    return rows;
  };
  const [variant_id] = documents().map((document) => (JSON.parse(document) as { id: number }).id);
  const read = async (selling: 'today' | 'never', part: number) => {
    const now = harness.clock.now();
    const { earliest: today } = venueToday(timezone, now);
    const sells = selling === 'today';
    const value: AvailabilityAnswer = {
      sales_enabled: true,
      covered_to: '2027-12-31',
      named: sells ? { from: today, to: today } : null,
      max_tickets_per_order: null,
      days: new Map(sells ? [[today, [5, null, [[-1, 5, [[variant_id ?? 0, 4, 900]]]]]]] : []),
      variants: sells ? [{ variant_id: variant_id ?? 0, document: `{"id":${variant_id},"gate":"B"}` }] : [],
      groups: [],
      rest: {},
    };
    const answer = async () => ({ kind: 'read' as const, value, hash: selling, sent_at: now, bytes: 1 });
    const upstream = { in: () => ({ availability: answer }) } as never;
    const lane = new ReadLane({ ...sync, upstream }, 'near', async (work) => mirror.transaction(work));
    for (const record of mirror.schedule.records
      .ofProduct(product_id)
      .filter(({ resource }) => resource === 'availability'))
      if (record.part === part) await refreshAvailability(lane, record, never);
  };
  for (const part of [1, 2]) await read('never', part);
  await read('today', 0);
  expect(documents().filter((document) => document.includes('"gate":"B"'))).toHaveLength(1);
  await harness.clock.advance(24 * 3_600_000);
  // A wall clock that is set is not believed: then no date would pass.
  expect(Math.abs(sync.clock.now() - harness.clock.now())).toBeLessThan(1000);
  await read('never', 0);
  expect(documents().filter((document) => document.includes('"gate":"B"'))).toHaveLength(0);
});
