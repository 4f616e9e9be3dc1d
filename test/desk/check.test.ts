import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import type { CheckAnswer } from '../../src/desk/check-answer.ts';
import type { CheckQuestion } from '../../src/desk/check-question.rules.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { makeDue, withdraw } from '../fakes/planted.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;
const date = '2026-12-05';

/** A filled mirror, checks over it, and a product whose date has tickets. */
async function filled(products = 6): Promise<
  AsyncDisposable & {
    harness: VirtualHarness;
    desk: CheckDesk;
    product: SandboxProduct;
    check(question?: Partial<CheckQuestion>, signal?: AbortSignal): Promise<CheckAnswer>;
    calls(): number;
  }
> {
  const harness = await filledHarness({ products });
  const desk = new CheckDesk(harness.daemon);
  const product = harness.sandbox.world
    .visible()
    .find((each) => each.slots > 2 && each.variants.length > 1 && soldOn(harness, each, date).length > 2);
  if (product === undefined) throw new Error('no product with slots on that date');
  const before = harness.sandbox.calls.counts().calls;
  return {
    harness,
    desk,
    product,
    check: async (question = {}, signal = never) => {
      const answer = await harness.drive(desk.check({ product_id: product.id, date, ...question }, signal));
      if (answer.verdict !== 'unknown') await desk.stored();
      return answer;
    },
    calls: () => harness.sandbox.calls.counts().calls - before,
    [Symbol.asyncDispose]: async () => {
      await desk[Symbol.asyncDispose]();
      await harness[Symbol.asyncDispose]();
    },
  };
}

/** Resolves when the call for the window of that date was sent. */
async function isSent({ desk, product }: { desk: CheckDesk; product: SandboxProduct }): Promise<void> {
  const key = { resource: 'availability', product_id: product.id, edition: 'EUR', part: 0 } as const;
  while (desk.waits(key)) await new Promise(setImmediate);
}

function localDate(timeZone: string, at: number): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(at);
}

function soldOn({ sandbox }: VirtualHarness, product: SandboxProduct, on: string) {
  return sandbox.world.days(product, on, on, 'EUR')[0]?.slots ?? [];
}

const errorRates = ({ harness, product }: Awaited<ReturnType<typeof filled>>) =>
  harness.rows('SELECT * FROM availability_error_rate WHERE product_id = ?', product.id);

describe('a check', () => {
  it('of what the service still sells holds, and the mirror has its answer', async () => {
    await using test = await filled();
    const [slot] = soldOn(test.harness, test.product, date);
    const [adult, child] = slot?.offers ?? [];
    if (slot === undefined || adult === undefined || child === undefined) throw new Error('no slot');
    await test.harness.drive(test.harness.clock.sleep(3_600_000));
    const asked_at = test.harness.clock.now();
    const variants = [
      { variant_id: adult.variant_id, count: 1 },
      { variant_id: child.variant_id, count: 1 },
    ];
    const amount = adult.retail_price + child.retail_price;
    const answer = await test.check({ time: slot.time, variants, expect_price: { amount, currency: 'EUR' } });
    expect(answer).toMatchObject({
      verdict: 'holds',
      reasons: [],
      now: {
        sellable: true,
        state: 'available',
        time: slot.time,
        price: { amount, currency: 'EUR' },
        read_at: asked_at,
      },
      mirror: { sellable: true, price: { amount, currency: 'EUR' }, stale: false },
      alternatives: [],
    });
    expect(answer.now?.slots).toMatchObject([{ time: slot.time, availability: slot.availability }]);
    expect(answer.mirror?.checked_at).toBeLessThan(asked_at - 3_000_000);
    expect(test.calls()).toBe(1);
    const record = test.harness.daemon.mirror.schedule.records
      .ofProduct(test.product.id)
      .find(({ resource, part }) => resource === 'availability' && part === 0);
    expect(record).toMatchObject({ fetched_at: asked_at, fetched_reason: 'live-check', failures: 0 });
    expect(test.harness.daemon.limiter.state().lanes.checkout.calls).toBe(1);
  });

  it('of a date that sold out since names it, what could be had instead, and tells the change feed', async () => {
    await using test = await filled();
    test.product.sold_out.add(date);
    const answer = await test.check();
    expect(answer).toMatchObject({
      verdict: 'gone',
      reasons: ['date-sold-out'],
      now: { sellable: false, state: 'sold_out', price: null, slots: [] },
      mirror: { sellable: true, state: 'available' },
    });
    const days = answer.alternatives.filter(({ kind }) => kind === 'date');
    expect(days.length).toBe(5);
    const far = days.map((other) => Math.abs(Date.parse(other.date) - Date.parse(date)));
    expect(far).toEqual(far.toSorted((a, b) => a - b));
    expect(days.every(({ price }) => price !== null)).toBe(true);
    const changes = 'SELECT kind FROM changes WHERE product_id = ? AND date = ?';
    expect(test.harness.rows(changes, test.product.id, date)).toEqual([{ kind: 'date_sold_out' }]);
    expect((await test.check()).mirror).toMatchObject({ state: 'sold_out' });
  });

  it('of a product that was taken off sale unannounced is gone, counts as wrong, and makes its own read due', async () => {
    await using test = await filled();
    await test.harness.drive(test.harness.clock.sleep(3_600_000));
    test.product.status = 'unavailable';
    const closed = { verdict: 'gone', reasons: ['not-on-sale'], now: { state: 'not_on_sale', slots: [] } };
    expect(await test.check()).toMatchObject({ ...closed, mirror: { state: 'available' } });
    expect(await test.check()).toMatchObject(closed);
    const detail = test.harness.record(test.product.id, 'product_detail');
    expect(detail).toMatchObject({ due_reason: 'sale-status-doubted' });
    await test.harness.drive(runSyncCycle(test.harness.daemon.sync, 4, { job_id: null, signal: never }));
    expect(await test.check()).toMatchObject({ verdict: 'gone', reasons: ['not-on-sale'] });
  });

  it(
    'of a time that has begun at the venue is gone without a call, and offers the times to come',
    needs('time'),
    async () => {
      await using test = await filled();
      const { harness, product } = test;
      const timezone = harness.explain(product.id).timezone ?? 'UTC';
      const [, first, second, ...rest] = soldOn(harness, product, date);
      if (first === undefined || second === undefined) throw new Error('too few times');
      const begins = (time: string) =>
        Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(timezone).epochMilliseconds;
      await harness.liveUntil(begins(first.time) - 60_000);
      expect(await test.check({ time: first.time })).not.toMatchObject({ reasons: ['time-past'] });
      await harness.drive(harness.clock.sleep(begins(first.time) - harness.clock.now()));
      const before = test.calls();
      const answer = await test.check({ time: first.time });
      expect(answer).toMatchObject({ verdict: 'gone', reasons: ['time-past'], now: null });
      expect(test.calls()).toBe(before);
      const times = answer.alternatives.filter(({ kind }) => kind === 'time').map(({ time }) => time ?? '');
      expect(times).toContain(second.time);
      expect(times.every((time) => time > first.time)).toBe(true);
      const any = await test.check();
      expect(any.now?.slots.every(({ time }) => time > first.time)).toBe(true);
      expect(any).toMatchObject({ now: { state: 'available', sellable: true } });
      await harness.drive(harness.clock.sleep(begins((rest.at(-1) ?? second).time) - harness.clock.now()));
      expect(await test.check()).toMatchObject({
        verdict: 'gone',
        reasons: ['time-past'],
        now: { state: 'not_on_sale', sellable: false, slots: [] },
      });
    },
  );

  it('of what was withdrawn, or is past, since another began to wait for the same, costs no call either', async () => {
    await using test = await filled();
    const { harness, desk, product } = test;
    const timezone = harness.explain(product.id).timezone ?? 'UTC';
    const today = localDate(timezone, harness.clock.now());
    let midnight = Math.ceil(harness.clock.now() / 900_000) * 900_000;
    while (localDate(timezone, midnight) === today) midnight += 900_000;
    await harness.drive(harness.clock.sleep(midnight - 500 - harness.clock.now()));
    harness.sandbox.faults.add({ kind: 'delay', ms: 8000, path: `/${product.id}/availability` });
    const wait = { product_id: product.id, deadline_ms: 30_000 };
    const others = [date, today].map((each) => desk.check({ ...wait, date: each }, never));
    await harness.drive(harness.clock.sleep(1000));
    expect(await test.check({ date: today })).toMatchObject({ verdict: 'gone', reasons: ['date-past'], now: null });
    withdraw(harness, product.id, harness.clock.now());
    expect(await test.check()).toMatchObject({ verdict: 'gone', reasons: ['withdrawn'], now: null });
    await harness.drive(Promise.all(others));
    expect(desk.shared.size).toBe(0);
  });
});

describe('single flight', () => {
  it(
    'makes one call for 10,000 shoppers of one window, whatever they ask of it, and a call for each without (control)',
    needs('time'),
    async () => {
      await using test = await filled();
      const { desk, product, harness } = test;
      const dates = [date, '2026-12-06', '2026-12-07'];
      const all = Array.from({ length: 10_000 }, (_, index) =>
        desk.check({ product_id: product.id, date: dates[index % 3] ?? date }, never),
      );
      const answers = await harness.drive(Promise.all(all));
      expect(answers.every(({ verdict, now }) => verdict !== 'unknown' && now !== null)).toBe(true);
      expect(test.calls()).toBe(1);
      // Each on its own: what a shopper would cost without the others.
      for (let index = 0; index < 5; index += 1) await test.check();
      expect(test.calls()).toBe(6);
      // Another window is another flight.
      await harness.drive(Promise.all([test.check(), test.check({ date: '2027-01-03' }), test.check()]));
      expect(test.calls()).toBe(8);
    },
  );

  it('sends the next call for a window after the one on its way was answered, or a second after it was sent', async () => {
    await using test = await filled();
    const { harness, desk, product } = test;
    const ask = () => desk.check({ product_id: product.id, date }, never);
    const path = `/${product.id}/availability`;
    await harness.drive(harness.clock.sleep(5000));
    for (const [delay_ms, sentBy_ms] of [
      [600, 600],
      [5000, 1000],
    ] as const) {
      harness.sandbox.faults.add({ kind: 'delay', ms: delay_ms, path, times: 1 });
      const before = test.calls();
      const all = [ask()];
      await isSent(test);
      all.push(ask());
      await harness.drive(harness.clock.sleep(sentBy_ms - 100));
      expect(test.calls() - before).toBe(1);
      await harness.drive(harness.clock.sleep(200));
      expect(test.calls() - before).toBe(2);
      await harness.drive(Promise.all(all));
      await harness.drive(harness.clock.sleep(5000));
    }
  });

  it('goes on for the others when one leaves, and is given up unsent when the last one does', async () => {
    await using test = await filled();
    const { harness, desk, product } = test;
    harness.sandbox.faults.add({ kind: 'delay', ms: 2000, path: `/${product.id}/availability` });
    const leaves = new AbortController();
    const left = desk.check({ product_id: product.id, date }, leaves.signal);
    const stays = desk.check({ product_id: product.id, date }, never);
    leaves.abort(new Error('closed the page'));
    await expect(left).rejects.toThrow('closed the page');
    expect((await harness.drive(stays)).verdict).toBe('holds');
    expect(test.calls()).toBe(1);

    // One is sent, and stored although nobody waits for it.
    const sent = new AbortController();
    const alone = desk.check({ product_id: product.id, date }, sent.signal);
    await isSent(test);
    sent.abort(new Error('closed the page'));
    await expect(alone).rejects.toThrow();
    const at = harness.clock.now();
    await harness.drive(harness.clock.sleep(5000));
    expect(test.calls()).toBe(2);
    expect(harness.record(product.id, 'availability')?.fetched_at).toBe(at);
  });
});

it('a shopper does not wait for slow calls of a sweep, though they hold all connections', async () => {
  await using test = await filled();
  const { harness } = test;
  const { sync } = harness.daemon;
  harness.sandbox.faults.add({ kind: 'delay', ms: 20_000, path: 'variants' });
  requestResync(sync, { resources: ['variants'], product_ids: [], from: null, to: null });
  const sweep = runSyncCycle(sync, 4, { job_id: null, signal: never });
  await harness.drive(harness.clock.sleep(100));
  expect(harness.daemon.limiter.state().in_flight).toBe(4);
  const began = harness.clock.now();
  expect(await test.check()).toMatchObject({ verdict: 'holds' });
  expect(harness.clock.now() - began).toBeLessThan(100);
  expect(harness.status().records.failing).toBe(0);
  await harness.drive(sweep);
});

describe('where the service does not answer', () => {
  const cases: [string, (test: Awaited<ReturnType<typeof filled>>) => unknown, string][] = [
    ['is away', ({ harness }) => harness.sandbox.setReachable('no'), 'service-unreachable'],
    [
      'asks for a long pause',
      ({ harness }) =>
        harness.sandbox.faults.add({
          kind: 'status',
          status: 429,
          headers: { 'retry-after': '600' },
          path: 'availability',
        }),
      'throttled',
    ],
    ['fails', ({ harness }) => harness.sandbox.faults.add({ kind: 'html', path: 'availability' }), 'service-failed'],
    [
      'refuses',
      ({ harness }) => harness.sandbox.faults.add({ kind: 'status', status: 404, path: 'availability' }),
      'service-refused',
    ],
    [
      'is too slow',
      ({ harness }) => harness.sandbox.faults.add({ kind: 'delay', ms: 9000, path: 'availability' }),
      'deadline',
    ],
  ];
  it.each(cases)(
    '(it %s) a check is unknown with what the mirror showed, and the record is not to blame',
    async (_, breaks, reason) => {
      await using test = await filled();
      await breaks(test);
      const record = () => test.harness.record(test.product.id, 'availability');
      const before = record();
      const began = test.harness.clock.now();
      // Of a slow answer the second shopper would get what the first has waited for.
      const times = reason === 'deadline' ? 1 : 6;
      for (let index = 0; index < times; index += 1) {
        const answer = await test.check();
        expect(answer).toMatchObject({
          verdict: 'unknown',
          reasons: [reason],
          now: null,
          mirror: { state: 'available', checked_at: before?.fetched_at },
          alternatives: [],
        });
      }
      expect(test.harness.clock.now() - began).toBeLessThanOrEqual(6 * 5000);
      expect(record()).toEqual(before);
      test.desk.counter.flush();
      expect(errorRates(test)).toMatchObject([{ checks: 0, wrong: 0, unanswered: times, rate: null }]);
    },
  );

  it('a date whose answer is held is answered as stale', async () => {
    await using test = await filled();
    test.harness.sandbox.faults.add({ kind: 'html', path: 'availability' });
    const stale = async () => (await test.check()).mirror?.stale;
    expect(await stale()).toBe(false);
    const db = otherWriter(test.harness.daemon.mirror.path);
    db.prepare('UPDATE date_window SET held_at = checked_at').run();
    db.close();
    expect(await stale()).toBe(true);
  });

  it('closing ends all who wait', async () => {
    await using test = await filled();
    test.harness.sandbox.faults.add({ kind: 'delay', ms: 2000, path: 'availability' });
    const waiting = test.desk.check({ product_id: test.product.id, date }, never);
    const closed = test.desk[Symbol.asyncDispose]();
    expect(await waiting).toMatchObject({ verdict: 'unknown', reasons: ['stopping'] });
    await closed;
    expect(await test.check()).toMatchObject({ reasons: ['stopping'] });
  });
});

describe('beside the engine’s own read of the same record', () => {
  it('the answer that was asked for later stays, whichever comes first', async () => {
    await using test = await filled();
    const { harness, product } = test;
    const { sync } = harness.daemon;
    const of = { resource: 'availability', product_id: product.id, edition: 'EUR', part: 0 } as const;
    // The engine asks first, and gets its (old) answer late.
    harness.sandbox.faults.add({ kind: 'delay', ms: 3000, path: `/${product.id}/availability`, times: 1 });
    makeDue(harness, [of], { at: harness.clock.now(), reason: 'requested' });
    const engine = runSyncCycle(sync, 4, { job_id: null, signal: never });
    await harness.drive(harness.clock.sleep(1000));
    test.product.sold_out.add(date);
    const live = await test.check();
    expect(live).toMatchObject({ verdict: 'gone', reasons: ['date-sold-out'] });
    await harness.drive(engine);
    expect(harness.record(product.id, 'availability')?.fetched_at).toBeGreaterThanOrEqual(
      live.now?.read_at ?? Number.POSITIVE_INFINITY,
    );
    expect((await test.check()).mirror).toMatchObject({ state: 'sold_out' });
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [] });
  });
});

it('the error rate counts what the mirror had, right and wrong, and apart what it did not have', async () => {
  await using test = await filled();
  await test.check();
  test.product.sold_out.add(date);
  await test.check();
  await test.check();
  test.product.sold_out.delete(date);
  await test.check();
  test.product.price *= 2;
  await test.check();
  test.desk.counter.flush();
  expect(errorRates(test)).toMatchObject([
    { tier: 'middle', checks: 5, wrong: 3, said_available: 1, said_sold_out: 1, said_price: 1, rate: 0.6, unknown: 0 },
  ]);
  expect(
    test.harness.rows('SELECT product_id, recent_sales, recent_checks FROM product_popularity WHERE recent_checks > 0'),
  ).toEqual([{ product_id: test.product.id, recent_sales: 0, recent_checks: 5 }]);
  expect(test.harness.status().error_rate).toMatchObject({
    checks: 5,
    wrong: 3,
    rate: 0.6,
    by_tier: [{ tier: 'middle', rate: 0.6 }],
    worst: [{ product_id: test.product.id, wrong: 3 }],
  });
});

describe('a service that hangs', () => {
  it('answers who asks once it answers again: nobody joins what was sent long ago', async () => {
    await using test = await filled();
    const { harness, check, calls } = test;
    harness.sandbox.faults.add({ kind: 'hang', path: '/availability', times: 1 });
    const before = calls();
    expect(await check({ deadline_ms: 3000 })).toMatchObject({ verdict: 'unknown', reasons: ['deadline'] });
    expect(await check({ deadline_ms: 3000 })).toMatchObject({ verdict: 'holds' });
    expect(calls() - before).toBe(2);
  });
});
