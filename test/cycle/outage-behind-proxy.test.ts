import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;
const never = new AbortController().signal;

/** The answer of Varnish for a dead backend. */
const guru = (seconds: number | string) =>
  ({
    kind: 'status',
    status: 503,
    headers: { 'retry-after': String(seconds) },
    body: '<!DOCTYPE html><html><head><title>503 Backend fetch failed</title></head></html>',
  }) as const;
/** The answer of a service in maintenance. */
const maintenance = (seconds: number | string) =>
  ({ kind: 'status', status: 503, headers: { 'retry-after': String(seconds) }, body: '{"success":false}' }) as const;

const calls = ({ sandbox }: VirtualHarness) => sandbox.calls.counts().calls;

/** Asks for everything, so that calls wait all the time. */
function ask({ daemon }: VirtualHarness): void {
  const resources = ['products', 'checkout', 'variants', 'availability'] as const;
  requestResync(daemon.sync, { resources: [...resources], product_ids: [], from: null, to: null });
}

const liveFor = (harness: VirtualHarness, ms: number, step = second) => harness.live(ms, step);

/** Returns the calls that are made in so long. */
async function callsIn(harness: VirtualHarness, ms: number): Promise<number> {
  const before = calls(harness);
  await liveFor(harness, ms);
  return calls(harness) - before;
}

describe('an outage behind a proxy', () => {
  it('leaves the learned rate as it is, and calls go on at once when it ends', async () => {
    const later = { budget: { requests_per_second: 10 } };
    await using harness = await filledHarness({ products: 240, lean: true }, {}, { later });
    ask(harness);
    await liveFor(harness, 5 * second);
    const { rate } = harness.daemon.limiter.state();
    harness.sandbox.faults.add(guru(5));
    expect(await callsIn(harness, 5 * minute)).toBeLessThanOrEqual(60);
    harness.sandbox.faults.clear();
    expect(await callsIn(harness, 75 * second)).toBeGreaterThan(400);
    expect(harness.daemon.limiter.state()).toMatchObject({ throttled_count: 0 });
    expect(harness.daemon.limiter.state().rate).toBeGreaterThanOrEqual(rate);
  });

  it('keeps an hour of Retry-After after one call has tested it', async () => {
    await using harness = await filledHarness({ products: 40, lean: true });
    ask(harness);
    harness.sandbox.faults.add(guru(3600));
    await liveFor(harness, 50 * second);
    expect(await callsIn(harness, minute)).toBe(1);
    expect(await callsIn(harness, 50 * minute)).toBe(0);
  });
});

describe('a pause that one answer asks for', () => {
  it.each([
    ['a second of the next year', (now: number) => Math.floor(now / 1000) + 365 * 86_400],
    ['an hour', () => 3600],
  ])('%s, is tested by one call after a minute, and ends with its answer', async (_, value) => {
    await using harness = await filledHarness({ products: 40, lean: true });
    ask(harness);
    harness.sandbox.faults.add({ ...maintenance(value(harness.clock.now())), times: 1 });
    await liveFor(harness, 2 * second);
    expect(await callsIn(harness, 50 * second)).toBe(0);
    expect(await callsIn(harness, 75 * second)).toBeGreaterThan(50);
  });

  it('as a second since 1970 near now is an instant', async () => {
    await using harness = await filledHarness({ products: 40, lean: true });
    ask(harness);
    const until = Math.floor(harness.clock.now() / 1000) + 20;
    harness.sandbox.faults.add({ ...maintenance(until), times: 1 });
    await liveFor(harness, 2 * second);
    expect(await callsIn(harness, 15 * second)).toBe(0);
    expect(await callsIn(harness, 20 * second)).toBeGreaterThan(5);
  });

  it('is tested by live checks too, which share one call in 30 seconds; the first answer ends it', async () => {
    await using harness = await filledHarness({ products: 40, lean: true });
    const { daemon, sandbox } = harness;
    const checks = new CheckDesk(daemon);
    const check = (index: number) => {
      const product_id = sandbox.world.visible()[index]?.id ?? 0;
      return harness.drive(checks.check({ product_id, date: '2026-12-05' }, never));
    };
    sandbox.faults.add(maintenance(3600));
    expect((await check(0)).reasons).toEqual(['throttled']);
    const before = calls(harness);
    const products = [1, 2, 3, 4, 5, 6, 7, 8];
    for (const index of products) expect((await check(index)).reasons).toEqual(['throttled']);
    expect(calls(harness) - before).toBeLessThanOrEqual(1);
    await liveFor(harness, 31 * second);
    const later = calls(harness);
    for (const index of products) await check(index);
    expect(calls(harness) - later).toBe(1);
    sandbox.faults.clear();
    await liveFor(harness, 31 * second);
    for (const index of products) expect((await check(index)).reasons).not.toContain('throttled');
    expect(daemon.limiter.pause()).toMatchObject({ not_before: 0 });
    await checks[Symbol.asyncDispose]();
  });
});
