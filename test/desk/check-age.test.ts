import { describe, expect, it } from 'vitest';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import { roll } from '../../src/sandbox/random.ts';
import { needs } from '../fakes/needs.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;
const date = '2026-12-05';

async function filled(products: number, budget = {}): Promise<VirtualHarness> {
  const harness = await filledHarness(
    { products },
    { budget: { requests_per_second: 100_000, concurrency: 4, ...budget } },
  );
  return harness;
}

function productOn({ sandbox }: VirtualHarness) {
  const product = sandbox.world
    .visible()
    .find(
      (each) => each.status === 'available' && (sandbox.world.days(each, date, date, 'EUR')[0]?.slots.length ?? 0) > 0,
    );
  if (product === undefined) throw new Error('no product with slots on that date');
  return product;
}

describe('with a service that takes 0.9 to 1.8 s to answer, and dates that sell out and come back', () => {
  it('none of 500 checks holds by a read that is older than the question, as joining it would (control)', async () => {
    await using harness = await filled(6);
    await using desk = new CheckDesk(harness.daemon);
    const { clock, sandbox } = harness;
    const product = productOn(harness);
    for (let call = 0; call < 2000; call += 1)
      sandbox.faults.add({ kind: 'delay', ms: 900 + 900 * roll(3, call, 'slow'), path: '/availability', times: 1 });
    const sold: { at: number; out: boolean }[] = [{ at: 0, out: false }];
    const outAt = (at: number) => sold.findLast((each) => each.at <= at)?.out === true;
    /** Sold out at every instant from one to the other. */
    const outAllThrough = (from: number, to: number) =>
      outAt(from) && sold.every(({ at, out }) => out || at <= from || at > to);
    const reads = new Map<number, number>();
    const checks: { asked_at: number; verdict: string; until: number }[] = [];
    const asking: Promise<void>[] = [];
    const ask = async () => {
      const asked_at = clock.now();
      const { verdict, now } = await desk.check({ product_id: product.id, date, deadline_ms: 20_000 }, never);
      if (now !== null && !reads.has(now.read_at)) reads.set(now.read_at, clock.now());
      checks.push({ asked_at, verdict, until: clock.now() });
    };
    const mutations = async () => {
      for (let turn = 0; asking.length < 500; turn += 1) {
        await clock.sleep(700 + 1600 * roll(4, turn, 'sold'));
        const out = !product.sold_out.has(date);
        if (out) product.sold_out.add(date);
        else product.sold_out.delete(date);
        sold.push({ at: clock.now(), out });
      }
    };
    const shoppers = async () => {
      while (asking.length < 500) {
        asking.push(ask());
        await clock.sleep(20 + 300 * roll(5, asking.length, 'shopper'));
      }
    };
    await harness.drive(Promise.all([mutations(), shoppers()]));
    await harness.drive(Promise.all(asking));
    const held = checks.filter(({ verdict }) => verdict === 'holds');
    expect(held.length).toBeGreaterThan(50);
    expect(checks.filter(({ verdict }) => verdict === 'unknown')).toEqual([]);
    expect(held.filter(({ asked_at, until }) => outAllThrough(asked_at, until))).toEqual([]);
    // What a check would have got that joins the call under way.
    const joined = checks.filter(({ asked_at }) =>
      [...reads].some(
        ([sent, landed]) =>
          sent < asked_at &&
          asked_at < landed &&
          asked_at - sent < 2000 &&
          !outAt(sent) &&
          outAllThrough(asked_at, landed),
      ),
    );
    expect(joined.length).toBeGreaterThan(0);
    // Who asks while a call is under way shares the next one.
    expect(sandbox.calls.counts().calls).toBeLessThan(1000);
    expect(reads.size).toBeLessThan(checks.length / 3);
  });
});

describe('a flood of checks', () => {
  it(
    'of a hundred shoppers on different windows lets a notified product be read within five seconds',
    needs('time'),
    async () => {
      await using harness = await filled(40, { requests_per_second: 10 });
      await using desk = new CheckDesk(harness.daemon);
      const { clock } = harness;
      const { mirror, limiter } = harness.daemon;
      const ids = harness.sandbox.world.visible().map(({ id }) => id);
      const dates = [date, '2027-01-03', '2027-02-05'];
      const end = clock.now() + 25_000;
      const shopper = async (index: number) => {
        while (clock.now() < end) {
          const product_id = ids[index % ids.length] ?? 0;
          await desk.check({ product_id, date: dates[index % 3] ?? date, deadline_ms: 5000 }, never);
          await clock.sleep(100);
        }
      };
      const before = limiter.state().lanes.checkout.calls;
      const shoppers = Promise.all(Array.from({ length: 100 }, (_, index) => shopper(index)));
      await harness.drive(clock.sleep(10_000));
      const [closed = 0] = ids;
      const detail = { resource: 'product_detail', product_id: closed, edition: 'en', part: 0 } as const;
      const told_at = clock.now();
      mirror.transaction(() => {
        mirror.schedule.records.notify([closed], told_at, told_at);
        mirror.schedule.records.setDue(detail, { at: told_at, reason: 'closure-unconfirmed' });
      });
      const reading = runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: never });
      while ((mirror.schedule.records.find(detail)?.fetched_at ?? 0) < told_at && clock.now() < end)
        await harness.drive(clock.sleep(100));
      expect(clock.now() - told_at).toBeLessThan(5000);
      await harness.drive(shoppers);
      await harness.drive(reading);
      // The shoppers had nearly all of the calls meanwhile.
      expect(limiter.state().lanes.checkout.calls - before).toBeGreaterThan(100);
    },
  );

  it('by one caller ends at its bound, and others are answered', async () => {
    await using harness = await filled(6);
    await using desk = new CheckDesk(harness.daemon);
    const product = productOn(harness);
    const check = (caller: string | null) => harness.drive(desk.check({ product_id: product.id, date, caller }, never));
    for (let times = 0; times < 30; times += 1) expect((await check('one')).verdict).toBe('holds');
    const calls = harness.sandbox.calls.counts().calls;
    expect(await check('one')).toMatchObject({
      verdict: 'unknown',
      reasons: ['caller-limit'],
      now: null,
      mirror: { sellable: true },
    });
    expect(harness.sandbox.calls.counts().calls).toBe(calls);
    expect((await check('another')).verdict).toBe('holds');
    expect((await check(null)).verdict).toBe('holds');
    await harness.drive(harness.clock.sleep(60_000));
    expect((await check('one')).verdict).toBe('holds');
  });
});
