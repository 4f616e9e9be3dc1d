import { expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import type { AvailabilityAnswer } from '../../src/dates/availability.rules.ts';
import type { AnswerMeta } from '../../src/dates/availability.store.ts';
import { instant } from '../../src/kernel/clock.ts';
import { changesText } from '../../src/says/status/sections.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** Returns the figures of the status, and the number of bookable days in the primary currency by the view. */
function figures({ rows, status }: VirtualHarness) {
  const [shown] = rows<{ days: number }>(
    'SELECT count(*) AS days FROM bookable_days WHERE currency = (SELECT c.currency FROM currencies c WHERE c.is_primary = 1)',
  );
  const { products, bookable, last_hour } = status();
  return { bookable, last_hour, sellable: products.sellable, days: shown?.days };
}

/** Returns a bookable date of each product, that is not today. */
const bookable = ({ rows }: VirtualHarness) =>
  rows<{ product_id: number; date: string }>(
    "SELECT product_id, max(date) AS date FROM bookable_days WHERE currency = 'EUR' GROUP BY product_id",
  );

function readOf({ clock }: VirtualHarness, product_id: number, currency: string, from: string): AnswerMeta {
  const every = { every: hour };
  const tiers = { horizon: 92, near: { days: 14, ...every }, middle: { days: 31, ...every }, far: every };
  const at = { sent_at: clock.now(), now: clock.now(), today: new Date(clock.now()).toISOString().slice(0, 10) };
  return { product_id, currency, from, ...at, hash: 'h', tiers, reason: 'cadence-elapsed', readBefore: true };
}

function noDates(date: string): AvailabilityAnswer {
  const nothing = { named: null, max_tickets_per_order: null, days: new Map(), variants: [], groups: [], rest: {} };
  return { sales_enabled: true, covered_to: date, ...nothing };
}

it('bookable days are those of the view, in one currency of two, and change with a closed product', async () => {
  const currencies = { service: { currencies: ['EUR', 'USD'], profile: { authorization: { header: null } } } };
  await using harness = await filledHarness({ products: 12 }, currencies);
  const { sandbox, daemon } = harness;
  const before = figures(harness);
  expect(before.days).toBeGreaterThan(100);
  expect(before.bookable).toMatchObject({ currency: 'EUR', days: before.days });
  const [open] = sandbox.products().filter(({ status }) => status === 'available');
  sandbox.world.disable(open?.id ?? 0);
  requestResync(daemon.sync, { resources: ['products'], product_ids: [open?.id ?? 0], from: null, to: null });
  await harness.live(10 * 60_000);
  const after = figures(harness);
  expect(after.sellable).toBe(before.sellable - 1);
  expect(after.days).toBeLessThan(before.days ?? 0);
  expect(after.bookable.days).toBe(after.days);
  expect(after.last_hour.kinds).toContainEqual({ kind: 'sale_disabled', changes: 1 });
  expect(after.last_hour.turnover).toMatchObject({ closed: 1, reopened: 0, added: 0, first_filled: 12 });
  expect(changesText(after.last_hour)).toMatch(/^12 products by the first fill, 1 product closed/);
  // Opened again within the hour, it is one product that was opened, as in the report on a week.
  sandbox.world.enable(open?.id ?? 0);
  requestResync(daemon.sync, { resources: ['products'], product_ids: [open?.id ?? 0], from: null, to: null });
  await harness.live(10 * 60_000);
  const { last_hour } = figures(harness);
  expect(last_hour.kinds).toContainEqual({ kind: 'sale_disabled', changes: 1 });
  expect(last_hour.turnover).toMatchObject({ closed: 0, reopened: 1 });
  expect(changesText(last_hour)).toMatch(/^12 products by the first fill, 1 product opened, .*\d others?$/);
  await harness.live(hour);
  expect(figures(harness).last_hour.kinds).not.toContainEqual({ kind: 'sale_disabled', changes: 1 });
});

it('dates sold out in the last hour are those by which bookable days fell, once for all currencies', async () => {
  const currencies = { service: { currencies: ['EUR', 'USD'], profile: { authorization: { header: null } } } };
  await using harness = await filledHarness({ products: 12 }, currencies);
  const { daemon, clock } = harness;
  const { mirror } = daemon;
  const [closed, open] = bookable(harness);
  if (closed === undefined || open === undefined) throw new Error('too few bookable dates');
  const facts = { reason: null, expected_reopening: null, alternative_product_id: null, available_at: null };
  const at = { notified_at: clock.now(), applied_at: clock.now() };
  mirror.transaction(() => {
    mirror.push.closures.put({ product_id: closed.product_id, delivery_id: 1, ...at, ...facts });
    mirror.catalogue.products.close(closed.product_id, { sent_at: clock.now(), reason: 'notified' });
  });
  const before = figures(harness);
  for (const { product_id, date } of [closed, open])
    for (const currency of ['EUR', 'USD'])
      mirror.transaction(() =>
        mirror.catalogue.availability.store(readOf(harness, product_id, currency, date), noDates(date)),
      );
  const { days, last_hour } = figures(harness);
  expect(days).toBe((before.days ?? 0) - 1);
  expect(last_hour.kinds).toContainEqual({ kind: 'date_sold_out', changes: 1 });
});

it('the daemon records what is on sale once an hour, and compares with a week ago', async () => {
  await using harness = await filledHarness({ products: 3, lean: true });
  const { daemon, clock } = harness;
  const recorded = () => figures(harness).bookable.earlier;
  expect(recorded()).toBeNull();
  const start = clock.now();
  await harness.liveUntil(start + 3 * hour);
  const { sellable, days } = figures(harness);
  expect(recorded()).toEqual({ counted_at: expect.any(Number), sellable, days: expect.any(Number) });
  expect(days).toBeGreaterThan(0);
  const first = recorded()?.counted_at ?? 0;
  expect(first % hour).toBe(0);
  expect(first).toBeLessThanOrEqual(start + hour);

  const record = (at: number, figure: number) =>
    daemon.mirror.transaction(() =>
      daemon.mirror.status.onSale.record({ counted_at: instant(at), sellable: figure, days: figure }),
    );
  // The first of an hour stays.
  record(first + 59 * 60_000, 99);
  expect(recorded()?.sellable).toBe(sellable);
  const now = clock.now();
  record(now - 7 * day - 3 * hour, 1);
  expect(recorded()?.sellable).toBe(1);
  record(now - 7 * day - hour, 2);
  record(now - 7 * day + 2 * hour, 3);
  expect(recorded()?.sellable).toBe(2);
  // After nine days nothing is left of them.
  record(now + 9 * day, 4);
  expect(recorded()?.sellable).toBe(4);
});
