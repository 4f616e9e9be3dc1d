import { expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { explainProduct } from '../../src/says/explain/explain.ts';
import { explainedFacts } from '../../src/says/explain/explain-text.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const fast = { budget: { requests_per_second: 50, concurrency: 4 }, scheduling: 'fixed' };

/** Answers with 429 and asks for a pause of an hour. */
const throttles = (path: string): FaultRule => ({
  kind: 'status',
  status: 429,
  path,
  headers: { 'retry-after': '3600' },
});

async function conditions({ daemon }: VirtualHarness) {
  return (await daemon.status.shown()).conditions.map(({ code, says }) => [code, says]);
}

function facts({ daemon, clock }: VirtualHarness, id: number) {
  const explained = explainProduct(daemon.sync, id);
  if (explained === null) throw new Error(`no product ${id}`);
  return Object.fromEntries(explainedFacts(explained, clock.now()));
}

it('one product’s 429 with an hour of Retry-After holds up a first fill for about a minute, and is not asked again within the hour', async () => {
  await using harness = await virtualHarness({ products: 30, lean: true }, fast, { conditions: true });
  const [id = 0] = harness.sandbox.world.visible().map((product) => product.id);
  harness.sandbox.faults.add(throttles(`^/v2/products/${id}\\b`));
  const { calls } = harness.sandbox;
  const { note } = calls;
  const times: number[] = [];
  calls.note = (call) => {
    if (call.status === 429) times.push(harness.clock.now() - began);
    note(call);
  };
  const began = harness.clock.now();
  const took = () => harness.clock.now() - began;
  await harness.fill();
  expect(took()).toBeGreaterThan(minute);
  expect(took()).toBeLessThan(2 * minute);
  // Those that were under way with the first one.
  expect(times.every((at) => at - (times[0] ?? 0) < second)).toBe(true);
  expect(facts(harness, id).Throttled).toMatch(
    /^the service throttles this product while it answers for others: it alone is not asked for (59|1 h|5\d)/,
  );
  const rate = harness.daemon.limiter.state();
  expect(rate.rate).toBeGreaterThan(40);
  expect(harness.explain(id).records.every(({ due_at }) => due_at >= took() + 50 * minute)).toBe(true);
});

it('for half a minute after the first one only the same question about another product tests a long pause', async () => {
  await using harness = await filledHarness({ products: 12, lean: true }, { scheduling: 'fixed' });
  const { daemon, sandbox } = harness;
  const [id = 0] = sandbox.world.visible().map((product) => product.id);
  sandbox.faults.add(throttles(`^/v2/products/${id}/checkout_information`));
  const read = (resource: 'checkout' | 'availability', product_ids: number[]) =>
    requestResync(daemon.sync, { resources: [resource], product_ids, from: null, to: null });
  read('checkout', [id]);
  await harness.live(10 * second, second);
  const { calls } = daemon.limiter.state();
  read('availability', []);
  await harness.live(75 * second, second);
  expect(daemon.limiter.state().calls).toBe(calls);
  await harness.live(15 * second, second);
  expect(daemon.limiter.state().calls).toBeGreaterThan(calls);
});

it('a product that was asked to wait is not asked by a check either, which answers throttled at once, nor after a restart', async () => {
  await using harness = await filledHarness(
    { products: 12, lean: true },
    { scheduling: 'fixed' },
    { conditions: true },
  );
  const { clock, sandbox } = harness;
  const [id = 0] = sandbox.world.visible().map((product) => product.id);
  sandbox.faults.add(throttles(`^/v2/products/${id}/availability`));
  const resync = (product_ids: number[]) =>
    requestResync(harness.daemon.sync, { resources: ['availability'], product_ids, from: null, to: null });
  resync([id]);
  await harness.live(10 * second, second);
  resync([]);
  await harness.live(10 * second, second);
  expect(await conditions(harness)).toEqual([
    [
      'service-pause',
      expect.stringMatching(
        /^the service asks us to wait another 1 h.*: all calls wait, and one call is tried in \d+ s; /,
      ),
    ],
  ]);
  await harness.restart();
  await harness.live(2 * minute, second);
  expect(await conditions(harness)).toEqual([]);
  expect(facts(harness, id).Throttled).toMatch(/it alone is not asked for/);
  const asked = () => sandbox.calls.counts().by_status['429'];
  const before = asked();
  await harness.restart();
  const check = async () => {
    await using desk = new CheckDesk(harness.daemon);
    const question = { product_id: id, date: new Date(clock.now() + 7 * 24 * hour).toISOString().slice(0, 10) };
    return await harness.drive(desk.check(question, new AbortController().signal));
  };
  const began = clock.now();
  expect(await check()).toMatchObject({ verdict: 'unknown', reasons: ['throttled'] });
  expect(clock.now() - began).toBeLessThan(second);
  await harness.live(30 * minute, minute);
  expect(asked()).toBe(before);
  sandbox.faults.clear();
  await harness.live(40 * minute, minute);
  expect(facts(harness, id).Throttled).toBeUndefined();
  expect(await check()).not.toMatchObject({ reasons: ['throttled'] });
});
