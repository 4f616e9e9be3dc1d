import { describe, expect, test } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { type Lane, type LaneEntry, type LaneShares, lanes } from '../../src/schedule/lanes.rules.ts';
import { Limiter, type LimiterOptions } from '../../src/service/limiter.ts';
import type { Outcome } from '../../src/service/outcome.ts';
import type { VirtualClock } from '../fakes/virtual-clock.ts';
import { manualClock } from './manual-clock.ts';

const answer: Outcome = { kind: 'answer', status: 200, text: '{}', hash: '', bytes: 2, sent_at: instant(0) };
const forbidden: Outcome = { kind: 'refused', status: 403, code: 'status-403', message: 'no' };
const missing: Outcome = { kind: 'refused', status: 404, code: 'not_found', message: 'no' };
const refusedConnection: Outcome = { kind: 'unreachable', code: 'connection-refused', message: 'no' };
const reset: Outcome = { kind: 'failed', code: 'reset', message: 'no' };
const html: Outcome = { kind: 'failed', code: 'not-json-type', message: 'the service answers with HTML' };
const throttled: Outcome = { kind: 'throttled', status: 429, until: null };
const never = new AbortController().signal;
const second = 1000;
const minute = 60 * second;

/**
 * A limiter on a clock that stands still, without jitter; a limit of 20 calls a second starts at ten, one at a time. With
 * calls whose ends are in the test's hand, and the instants at which they started.
 */
function setUp(
  budget: Partial<LimiterOptions['budget']> = {},
  { clock = manualClock(), ...more }: Partial<LimiterOptions> & { readonly clock?: VirtualClock } = {},
) {
  const limiter = new Limiter({
    budget: { requests_per_second: 20, concurrency: 4, lanes: shares({}), ...budget },
    clock,
    chance: () => 0,
    learned: null,
    throttled: () => undefined,
    ...more,
  });
  const origin = clock.monotonic();
  const started: { name: string; at: number; end: (outcome: Outcome) => void }[] = [];
  const call = (name: string, signal = never, entry: LaneEntry = 'near') => {
    const run = limiter.run(
      () => {
        const { promise, resolve } = Promise.withResolvers<Outcome>();
        started.push({ name, at: clock.monotonic() - origin, end: resolve });
        return promise;
      },
      signal,
      entry,
    );
    // Whoever still waits when a test ends is rejected, and nobody listens.
    run.catch(() => undefined);
    return run;
  };
  const names = () => started.map(({ name }) => name);
  return { clock, limiter, started, call, names, [Symbol.dispose]: () => limiter[Symbol.dispose]() };
}

function shares(some: Partial<LaneShares>): LaneShares {
  return { ...(Object.fromEntries(lanes.map((lane) => [lane, 0])) as Record<Lane, number>), ...some };
}

type SetUp = ReturnType<typeof setUp>;

/** A call was answered with 429, for half a minute. */
async function afterThrottle() {
  const t = setUp();
  void t.call('a');
  await t.clock.advance(0);
  t.started[0]?.end({ kind: 'throttled', status: 429, until: instant(t.clock.now() + 30_000) });
  await t.clock.advance(0);
  return t;
}

/** Runs a call that ends at once, however long its turn takes. */
async function once(
  { clock, limiter }: SetUp,
  outcome: Outcome,
  about?: number | string,
  path?: string,
): Promise<Outcome> {
  let done = false;
  const run = limiter
    .run(async () => outcome, never, 'near', about, path)
    .finally(() => {
      done = true;
    });
  while (!done) await clock.advance(100);
  return run;
}

describe('a rest', () => {
  test('says nothing of what the service delivers, also by a clock that is finer than a millisecond', async () => {
    const clock = manualClock();
    let read = 0;
    // As performance.now(): it never tells the same instant twice.
    const monotonic = () => {
      read += 1;
      return clock.monotonic() + read / 1000;
    };
    const fine = { ...clock, monotonic };
    using t = setUp({ requests_per_second: 60 }, { clock: fine });
    const { limiter } = t;
    for (let check = 0; check < 10; check += 1) {
      await clock.advance(20_000);
      await once(t, answer);
    }
    const { rate } = limiter.state();
    for (let check = 0; check < 3; check += 1) {
      await clock.advance(6_000);
      await once(t, throttled);
    }
    expect(limiter.state().rate).toBeGreaterThan(rate / 10);
  });
});

describe('turns', () => {
  test('come at the rate, first come first served', async () => {
    using t = setUp();
    const { started, call } = t;
    for (const name of ['a', 'b', 'c']) void call(name);
    await t.clock.advance(1000);
    expect(started.map(({ name, at }) => [name, at])).toEqual([
      ['a', 0],
      ['b', 100],
      ['c', 200],
    ]);
  });

  test('come to none of several instances but the one that leads, as long as that is certain', async () => {
    let leads = false;
    using t = setUp({}, { leadership: { trusted: () => leads } });
    const { call, names } = t;
    void call('a');
    await t.clock.advance(minute);
    expect(names()).toEqual([]);
    leads = true;
    await t.clock.advance(minute);
    expect(names()).toEqual(['a']);
    leads = false;
    void call('b');
    await t.clock.advance(minute);
    expect(names()).toEqual(['a']);
  });

  test('go to the most urgent lane first', async () => {
    using t = setUp();
    const { call, names } = t;
    void call('first');
    void call('fill 1', never, 'fill');
    void call('near', never, 'near');
    void call('fill 2', never, 'fill');
    void call('checkout', never, 'checkout');
    await t.clock.advance(300);
    expect(names()).toEqual(['first', 'checkout', 'near', 'fill 1']);
  });

  test('leave each lane its reserved share, however much is asked for in the lanes before it', async () => {
    using t = setUp({ requests_per_second: 2000, concurrency: 1, lanes: shares({ near: 0.3, weekly: 0.1 }) });
    const { started, call } = t;
    for (let index = 0; index < 100; index += 1)
      for (const lane of ['notification', 'near', 'weekly', 'fill'] as const) void call(lane, never, lane);
    for (let index = 0; index < 100; index += 1) {
      started.at(-1)?.end(answer);
      await t.clock.advance(10);
    }
    const share = (lane: string) => started.slice(0, 100).filter(({ name }) => name === lane).length;
    expect(share('near')).toBeGreaterThanOrEqual(29);
    expect(share('weekly')).toBeGreaterThanOrEqual(9);
    // The floors: nobody asked for in the most urgent lane alone, and nothing read for the first time, is left out.
    expect(share('fill')).toBeGreaterThanOrEqual(8);
    expect(share('notification') + share('near') + share('weekly') + share('fill')).toBe(100);
  });

  test('of a lane that is empty go to the most urgent that is not', async () => {
    using t = setUp({ requests_per_second: 2000, concurrency: 1, lanes: shares({ near: 0.5 }) });
    const { started, call, names } = t;
    for (const lane of ['fill', 'far', 'far'] as const) void call(lane, never, lane);
    for (let index = 0; index < 3; index += 1) {
      started.at(-1)?.end(answer);
      await t.clock.advance(10);
    }
    expect(names()).toEqual(['fill', 'far', 'far']);
  });

  test('of checks wait for no slow call of another lane: one connection more is theirs alone', async () => {
    using t = setUp({ requests_per_second: 2000, concurrency: 2 });
    const { started, call, names } = t;
    for (const name of ['slow 1', 'slow 2', 'slow 3']) void call(name);
    await t.clock.advance(5000);
    expect(names()).toEqual(['slow 1', 'slow 2']);
    for (const name of ['check 1', 'check 2']) void call(name, never, 'checkout');
    await t.clock.advance(10);
    expect(names()).toEqual(['slow 1', 'slow 2', 'check 1']);
    started[2]?.end(answer);
    await t.clock.advance(10);
    expect(names()).toEqual(['slow 1', 'slow 2', 'check 1', 'check 2']);
    started[3]?.end(answer);
    await t.clock.advance(10);
    expect(t.limiter.state()).toMatchObject({ in_flight: 2, waiting: 1 });
  });

  test('of checks come before what is reserved for other lanes, but for a flood of them', async () => {
    const reserved = shares({ near: 0.3, far: 0.1, weekly: 0.1 });
    using t = setUp({ requests_per_second: 2000, concurrency: 1, lanes: reserved });
    const { started, call } = t;
    const order = async (turns: number) => {
      const from = started.length;
      for (let turn = 0; turn < turns; turn += 1) {
        for (const each of started) each.end(answer);
        await t.clock.advance(10);
      }
      return started.slice(from).map(({ name }) => name);
    };
    for (let index = 0; index < 300; index += 1)
      for (const lane of ['near', 'far', 'weekly'] as const) void call(lane, never, lane);
    await order(50);
    for (let index = 0; index < 300; index += 1) void call('check', never, 'checkout');
    const turns = await order(200);
    expect(turns.slice(0, 30).filter((name) => name !== 'check')).toEqual([]);
    const share = (lane: string) => turns.slice(100).filter((name) => name === lane).length;
    expect(share('near')).toBeGreaterThanOrEqual(29);
    expect(share('far')).toBeGreaterThanOrEqual(9);
    expect(share('weekly')).toBeGreaterThanOrEqual(9);
    expect(share('check')).toBeGreaterThanOrEqual(45);
  });

  test('are limited to so many in flight, and a slot that frees is taken at once', async () => {
    using t = setUp({ concurrency: 2 });
    const { started, call, names } = t;
    for (const name of ['a', 'b', 'c', 'd']) void call(name);
    await t.clock.advance(5000);
    expect(names()).toEqual(['a', 'b']);
    expect(t.limiter.state()).toMatchObject({ in_flight: 2, waiting: 2, calls: 2 });
    expect(t.clock.pending()).toBe(0);
    started[0]?.end(answer);
    await t.clock.advance(0);
    expect(names()).toEqual(['a', 'b', 'c']);
  });

  test('count in the second in which their calls are sent: calls that were held up together are followed by as many pauses', async () => {
    using t = setUp({ concurrency: 8 });
    const { started, call } = t;
    for (let n = 0; n < 6; n += 1) call(`call ${n}`);
    await t.clock.advance(250);
    // Three have had their turns, and are sent at this moment.
    for (const ms of [250, 150, 50]) t.limiter.late(ms);
    await t.clock.advance(1000);
    expect(started.map(({ at }) => at)).toEqual([0, 100, 200, 550, 650, 750]);
    // However late one is, it is one.
    t.limiter.late(60_000);
    call('next');
    await t.clock.advance(1000);
    expect(started.at(-1)?.at).toBeLessThanOrEqual(1350);
  });

  test('of a call that throws go to the next', async () => {
    using t = setUp({ concurrency: 1 });
    const { call, names } = t;
    const thrown = t.limiter.run(() => Promise.reject(new Error('bug')), never, 'near');
    void call('next');
    await expect(thrown).rejects.toThrow('bug');
    await t.clock.advance(100);
    expect(names()).toEqual(['next']);
  });
});

describe('calls that notifications ask for', () => {
  test('take three tenths of the rate and no more, while nobody else calls', async () => {
    const t = setUp({ requests_per_second: 20, concurrency: 64 });
    const { started, call } = t;
    for (let each = 0; each < 200; each += 1) void call('triggered', never, 'triggered');
    for (let second = 0; second < 300; second += 1) {
      await t.clock.advance(100);
      for (const { end } of started) end(answer);
    }
    // Thirty seconds at ten to twenty calls a second, as the rate grows; and what may come at once after a rest.
    expect(started.length).toBeGreaterThan(0.28 * 300);
    expect(started.length).toBeLessThanOrEqual(0.3 * 600 + 8);
    expect(t.limiter.state().lanes.notification).toEqual({ calls: started.length, waiting: 200 - started.length });
  });

  test('do not hold up others in the notification lane, nor those of other lanes', async () => {
    const t = setUp({ requests_per_second: 20, concurrency: 64 });
    const { started, call, names } = t;
    for (let each = 0; each < 50; each += 1) void call('triggered', never, 'triggered');
    await t.clock.advance(1000);
    started.length = 0;
    void call('requested', never, 'notification');
    void call('weekly', never, 'weekly');
    await t.clock.advance(200);
    expect(names().filter((name) => name !== 'triggered')).toEqual(['requested', 'weekly']);
  });

  test('leave when they are aborted, and are rejected when the limiter closes', async () => {
    const t = setUp({ requests_per_second: 20, concurrency: 64 });
    const { call } = t;
    const abort = new AbortController();
    for (let each = 0; each < 20; each += 1) void call('triggered', never, 'triggered');
    const aborted = call('aborted', abort.signal, 'triggered');
    const last = call('last', never, 'triggered');
    abort.abort(new Error('stop'));
    await expect(aborted).rejects.toThrow('stop');
    t.limiter[Symbol.dispose]();
    await expect(last).rejects.toThrow('the limiter is closed');
  });
});

describe('aborting', () => {
  test('while waiting rejects with the reason and leaves no hole', async () => {
    using t = setUp();
    const { started, call } = t;
    const aborting = new AbortController();
    void call('a');
    const b = call('b', aborting.signal);
    void call('c');
    const reason = new Error('shopper left');
    aborting.abort(reason);
    await expect(b).rejects.toBe(reason);
    expect(t.limiter.state().waiting).toBe(1);
    await t.clock.advance(100);
    expect(started.map(({ name, at }) => [name, at])).toEqual([
      ['a', 0],
      ['c', 100],
    ]);
  });

  test('before asking starts nothing', async () => {
    using t = setUp();
    const { call, started } = t;
    await expect(call('a', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    expect(started).toEqual([]);
    expect(t.limiter.state()).toMatchObject({ calls: 0, in_flight: 0, waiting: 0 });
  });

  test('is what closing does to all who wait, and nobody comes in after', async () => {
    const t = setUp();
    const { call } = t;
    void call('a');
    const waiting = [call('b'), call('c')];
    t.limiter[Symbol.dispose]();
    for (const each of waiting) await expect(each).rejects.toThrow('the limiter is closed');
    await expect(call('d')).rejects.toThrow('the limiter is closed');
    expect(t.clock.pending()).toBe(0);
  });
});

describe('a throttle', () => {
  test('pauses all, cuts the rate and is counted', async () => {
    using t = await afterThrottle();
    const { started, call } = t;
    expect(t.limiter.state()).toMatchObject({
      rate: 8.245,
      throttled_count: 1,
      not_before: t.clock.now() + 30_000,
      told_until: t.clock.now() + 30_000,
    });
    void call('b');
    await t.clock.advance(29_999);
    expect(started).toHaveLength(1);
    await t.clock.advance(1);
    expect(started[1]?.at).toBeCloseTo(30_000, 0);
    expect(t.limiter.state().not_before).toBe(0);
  });

  test.for([
    ['three days ahead', 3 * 86_400_000],
    ['half an hour back', -1_800_000],
    ['a day back', -86_400_000],
  ] as const)('lasts as long as it should when the wall clock jumps %s', async ([, ms]) => {
    using t = await afterThrottle();
    const { started, call } = t;
    void call('b');
    t.clock.jump(ms);
    expect(t.limiter.state().not_before).toBe(t.clock.now() + 30_000);
    await t.clock.advance(29_999);
    expect(started).toHaveLength(1);
    await t.clock.advance(1);
    expect(started).toHaveLength(2);
  });
});

describe('a 429 about one product with an hour of Retry-After', () => {
  const dates = '/v2/products/{product_id}/availability';
  const list = '/v2/products';
  const hour = 60 * minute;

  /** Calls of a product and a path whose ends are in the test's hand. */
  function about(t: SetUp) {
    const from = t.clock.monotonic();
    const sent: { product: number | null; at: number; end: (outcome: Outcome) => void }[] = [];
    const call = (product: number | null, path = dates, entry: LaneEntry = 'near') => {
      const run = t.limiter.run(
        () => {
          const { promise, resolve } = Promise.withResolvers<Outcome>();
          sent.push({ product, at: t.clock.monotonic() - from, end: resolve });
          return promise;
        },
        never,
        entry,
        product ?? path,
        path,
      );
      run.catch(() => undefined);
      return run;
    };
    return { sent, call, minutes: () => sent.map(({ product, at }) => [product, Math.round(at / minute)]) };
  }

  const asks = (t: SetUp, ms = hour, status = 429): Outcome => ({
    kind: 'throttled',
    status,
    until: instant(t.clock.now() + ms),
  });

  async function told(more: Parameters<typeof setUp>[1] = {}) {
    const t = setUp({}, more);
    const calls = about(t);
    const first = calls.call(1);
    await t.clock.advance(0);
    calls.sent[0]?.end(asks(t));
    return { t, ...calls, first: await first };
  }

  test('binds everybody for a minute; then one other product of its path is asked, and with its answer all others are', async () => {
    const { t, sent, call, minutes, first } = await told();
    using _ = t.limiter;
    expect(first).toMatchObject({ kind: 'throttled', rests: { alone: false } });
    void call(null, list);
    for (const product of [2, 3]) void call(product);
    await t.clock.advance(minute - 1);
    expect(minutes()).toEqual([[1, 0]]);
    expect(t.limiter.pause()).toMatchObject({ asked: { until: expect.closeTo(t.clock.now() + hour - minute, -1) } });
    await t.clock.advance(10 * second);
    expect(minutes()).toEqual([[1, 0], [2, 1]]); // biome-ignore format: a table
    sent[1]?.end(answer);
    await t.clock.advance(second);
    expect(minutes()).toEqual([[1, 0], [2, 1], [null, 1], [3, 1]]); // biome-ignore format: a table
    expect(t.limiter.pause()).toMatchObject({ not_before: 0, asked: null });
    // The rest of the pause is the product's.
    expect(await call(1, list)).toMatchObject({ kind: 'throttled', rests: { alone: true } });
    await t.clock.advance(hour);
    void call(1);
    await t.clock.advance(second);
    expect(minutes().at(-1)).toEqual([1, 61]);
  });

  test('is not asked for by those who waited for a turn already', async () => {
    using t = setUp({ concurrency: 1 });
    const { sent, call, minutes } = about(t);
    void call(1);
    const other = call(1);
    await t.clock.advance(0);
    sent[0]?.end(asks(t));
    expect(await other).toMatchObject({ kind: 'throttled', status: 429, rests: { alone: false } });
    expect(minutes()).toEqual([[1, 0]]);
    expect(t.limiter.state()).toMatchObject({ in_flight: 0, waiting: 0, calls: 1 });
  });

  test('with retry_after: account is obeyed to its end', async () => {
    const { t, call, sent } = await told({ retry_after: 'account' });
    using _ = t.limiter;
    void call(2);
    await t.clock.advance(hour - second);
    expect(sent).toHaveLength(1);
    expect([t.limiter.pause().asked?.next_try_at, t.limiter.mayCheckTry()]).toEqual([null, false]);
    await t.clock.advance(2 * second);
    expect(sent).toHaveLength(2);
  });

  test('goes on after a kill in the middle of a try: the next one comes in its time', async () => {
    const kept: Parameters<LimiterOptions['throttled']>[0][] = [];
    const { t, call } = await told({ throttled: (learned) => kept.push(learned) });
    void call(2);
    await t.clock.advance(minute + second);
    t.limiter[Symbol.dispose]();
    const { clock } = t;
    using next = setUp({}, { clock, learned: JSON.parse(JSON.stringify(kept.at(-1))) });
    const again = about(next);
    expect(await again.call(1)).toMatchObject({ kind: 'throttled', rests: { alone: false } });
    void again.call(3);
    await clock.advance(2 * minute - 2 * second);
    expect(again.sent).toHaveLength(0);
    await clock.advance(2 * second);
    expect(again.sent).toHaveLength(1);
    // A key that was set meanwhile is obeyed, too.
    using obeying = setUp({}, { clock, retry_after: 'account', learned: JSON.parse(JSON.stringify(kept.at(-1))) });
    expect(obeying.limiter.pause().asked).toMatchObject({ next_try_at: null });
    expect(obeying.limiter.pause().not_before).toBeGreaterThan(clock.now() + 50 * minute);
  });
});

/** An outcome, with what it is about where that matters; a number: milliseconds that pass. */
type Step = Outcome | readonly [Outcome, about: number | string] | number;
const times = (count: number, ...steps: readonly Step[]) => Array.from({ length: count }, () => steps).flat();
const about = (outcome: Outcome, ...subjects: (number | string)[]): Step[] => subjects.map((each) => [outcome, each]);

describe('the last of some answers', () => {
  const busy: Outcome = { kind: 'throttled', status: 503, until: null };
  const told: Outcome = { ...busy, until: instant(Date.UTC(2026, 10, 21) + minute) };
  const byProxy: Outcome = { ...told, proxied: true };
  const broken: Outcome = { kind: 'failed', code: 'status-500', message: 'no', status: 500 };
  const list = '/v2/products';
  const failed = { kind: 'failed' };
  const pressed = { kind: 'throttled' };
  const gone = { kind: 'unreachable' };
  const key = { kind: 'refused', status: 401, message: 'every call is refused with 403: no' };

  /** Throttles that are counted, the pause, how the service is away, and refusals in a row. */
  type After = readonly [throttled: number, pause: 'none' | 'own' | 'told', away: string | null, refused?: number];
  const nothing: After = [0, 'none', null];
  const throttle: After = [1, 'own', null];
  const unusable: After = [0, 'own', 'unusable'];
  const own: Step[] = [1, 2, 3].flatMap((each) => [...about(broken, each), answer]);
  const listAnswers = [...about(html, 1, 2, 3, 4, 5), [answer, list], ...about(html, 1, 2, 3, 4, 5, 6, 7)] as const;

  test.for<readonly [title: string, steps: readonly Step[], last: object, after: After]>([
    ['503: one of ten fails', times(3, ...times(9, answer), busy), failed, nothing],
    ['503: five of ten are back-pressure', [...times(2, busy, answer), ...times(3, busy)], busy, throttle],
    ['503: with Retry-After it is back-pressure at once', [told], pressed, [1, 'told', null]],
    ['503: a proxy refuses all for a dead service', [...times(9, answer), ...times(12, byProxy)], failed, nothing],
    [
      '503: a proxy that answers in between limits us',
      times(6, { ...byProxy, until: null }, answer),
      answer,
      [2, 'none', null],
    ],
    ['403: a single one is the record’s', times(2, answer, answer, forbidden), forbidden, [0, 'none', null, 1]],
    ['403: three of five', [answer, forbidden, missing, forbidden, forbidden], pressed, [1, 'own', null, 2]],
    ['403: nothing else since the start', [refusedConnection, ...times(3, forbidden)], key, [0, 'none', null, 3]],
    ['403: nineteen in a row', [answer, ...times(19, forbidden)], pressed, [17, 'own', null, 19]],
    ['403: twenty in a row are the key', [answer, ...times(20, forbidden)], key, [17, 'none', null, 20]],
    ['no connection', [refusedConnection], gone, [0, 'own', 'unreachable']],
    ['no connection: a throttle ends it', [refusedConnection, throttled], pressed, throttle],
    ['broken connections: four', times(4, reset), failed, nothing],
    ['broken connections: five are an outage', times(5, reset), gone, [0, 'own', 'silent']],
    ['broken connections: any answer ends it', [...times(5, reset), broken], failed, nothing],
    ['broken answers: of one product', times(30, [broken, 1]), failed, nothing],
    ['broken answers: of a second one too', [...times(30, [broken, 1]), [broken, 2]], gone, unusable],
    [
      'broken answers: of records while others were answered',
      [...own, ...times(13, [broken, 1], [broken, 2], [broken, 3])],
      failed,
      nothing,
    ],
    ['no usable answers: of a list', times(30, [html, list]), failed, nothing],
    ['no usable answers: of a list and a product', about(html, 3, list, 3), gone, unusable],
    ['no usable answers: within a minute of a list that was answered', listAnswers, failed, nothing],
    [
      'no usable answers: a minute after it',
      [...listAnswers, minute, ...about(html, 8, 9, 10, 11, 12)],
      gone,
      unusable,
    ],
  ])('%s', async ([, steps, last, [throttles, pause, away, refused = 0]]) => {
    using t = setUp();
    let outcome: Outcome | null = null;
    for (const step of steps)
      if (typeof step === 'number') await t.clock.advance(step);
      else outcome = await ('kind' in step ? once(t, step) : once(t, ...step));
    expect(outcome).toMatchObject(last);
    const { throttled_count, told_until, not_before, away: how, refused_in_a_row, rate } = t.limiter.state();
    const pauses = told_until > 0 ? 'told' : not_before > 0 ? 'own' : 'none';
    expect([throttled_count, pauses, how?.how ?? null, refused_in_a_row]).toEqual([throttles, pause, away, refused]);
    // The rate falls by throttles alone.
    expect(rate < 10).toBe(throttles > 0);
  });
});

describe('an outage', () => {
  test('costs at most 35 calls in ten minutes, and within 25 seconds of its end calls go on', async () => {
    using t = setUp();
    const { clock, limiter } = t;
    const from = clock.now();
    let [up, stopped] = [false, false];
    const work = async () => {
      while (!stopped) await limiter.run(async () => (up ? answer : refusedConnection), never, 'near');
    };
    const workers = Array.from({ length: 4 }, () => work().catch(() => undefined));
    await clock.advance(600_000);
    expect(limiter.state().calls).toBeLessThanOrEqual(35);
    // The two clocks have gone apart by half a millisecond.
    expect(limiter.state().unreachable_since).toBe(from - 1);
    up = true;
    await clock.advance(60_000);
    expect(limiter.state().unreachable_since).toBe(null);
    expect(limiter.state().calls).toBeGreaterThan(250);
    stopped = true;
    await clock.advance(1000);
    await Promise.all(workers);
  });

  test('is probed by one call at a time', async () => {
    using t = setUp();
    const { started, call } = t;
    for (let i = 0; i < 8; i++) void call(`${i}`);
    await t.clock.advance(300);
    expect(started).toHaveLength(4);
    for (const { end } of started) end(refusedConnection);
    await t.clock.advance(10_000);
    expect(started).toHaveLength(5);
    started[4]?.end(answer);
    await t.clock.advance(1000);
    expect(started).toHaveLength(8);
  });

  const isAway = (t: SetUp) => t.limiter.pause().away?.how ?? null;

  test('is also five answers in a row of which none can be used, about three products, until one can', async () => {
    using t = setUp();
    for (const product of [1, 1, 1, 2, 2]) expect(await once(t, html, product)).toMatchObject({ kind: 'failed' });
    expect(isAway(t)).toBe(null);
    expect(await once(t, html, 3)).toMatchObject({ kind: 'unreachable' });
    expect(t.limiter.pause()).toMatchObject({ away: { how: 'unusable', says: 'the service answers with HTML' } });
    // Nor is the next one to blame, and what is about no record is not decoded.
    expect(await once(t, html, 4)).toMatchObject({ kind: 'unreachable' });
    await once(t, answer);
    expect(isAway(t)).toBe('unusable');
    await once(t, answer, 4);
    expect(isAway(t)).toBe(null);
  });

  test('is seen again ten minutes after one answer in the middle of it, also where every product has failed by then', async () => {
    using t = setUp();
    const all = [1, 2, 3, 4, 5, '/v2/products'];
    for (const about of all) await once(t, html, about);
    await once(t, answer, 1);
    for (const about of all) await once(t, html, about);
    expect(isAway(t)).toBe(null);
    await t.clock.advance(10 * 60_000);
    for (const about of all.slice(0, -1)) await once(t, html, about);
    expect(isAway(t)).toBe('unusable');
  });
});

describe('what was learned', () => {
  test('is there after a restart: the rate, and a pause to its end', async () => {
    const kept: Parameters<LimiterOptions['throttled']>[0][] = [];
    const first = setUp({}, { throttled: (learned) => kept.push(learned) });
    await once(first, { kind: 'throttled', status: 429, until: instant(first.clock.now() + 60_000) });
    const stopped = first.limiter.learned();
    first.limiter[Symbol.dispose]();
    expect(kept).toEqual([stopped]);
    const { clock } = first;
    await clock.advance(20_000);
    using second = setUp({}, { clock, learned: JSON.parse(JSON.stringify(kept[0])) });
    const { started, call } = second;
    void call('a');
    await clock.advance(39_000);
    expect(started).toHaveLength(0);
    await clock.advance(2000);
    expect(started).toHaveLength(1);
    expect(second.limiter.state().rate).toBe(8.245);
  });

  test('waits as long as a call takes before the first one: the one before may have made one just now', async () => {
    const first = setUp({ requests_per_second: 4 });
    await once(first, answer);
    const { clock } = first;
    using second = setUp({ requests_per_second: 4 }, { clock, learned: first.limiter.learned() });
    first.limiter[Symbol.dispose]();
    const { started, call } = second;
    void call('a');
    expect(started).toHaveLength(0);
    await clock.advance(1000 / second.limiter.state().rate);
    expect(started).toHaveLength(1);
  });
});

describe('a product that is always throttled beside 50 calls a second', () => {
  /**
   * Calls about 300 products for ten minutes, of which one is throttled from the second minute on; `known`: the limiter
   * knows what they are about.
   */
  async function minutes(known: 'known' | 'unknown'): Promise<{ passed: number[]; rate: number; throttled: number }> {
    using t = setUp({ requests_per_second: 50 });
    const { clock, limiter } = t;
    const passed = Array.from({ length: 10 }, () => 0);
    const from = clock.monotonic();
    let [product, stopped, throttles] = [0, false, 0];
    const work = async (only: number | null) => {
      if (only !== null) await clock.sleep(minute);
      while (!stopped) {
        product = (product + 1) % 300;
        const about = only ?? product + 1;
        const came = await limiter.run(
          async () => {
            await clock.sleep(50);
            if (about === 0) throttles += 1;
            return about === 0 ? throttled : answer;
          },
          never,
          'near',
          known === 'known' ? about : undefined,
        );
        const minute_now = Math.floor((clock.monotonic() - from) / minute);
        if (came.kind === 'answer') passed[minute_now] = (passed[minute_now] ?? 0) + 1;
        if (came.kind === 'throttled' && came.rests !== undefined) await clock.sleep(came.rests.until - clock.now());
      }
    };
    const workers = [0, null, null, null, null].map((only) => work(only).catch(() => undefined));
    await clock.advance(10 * minute);
    stopped = true;
    const { rate } = limiter.state();
    limiter[Symbol.dispose]();
    await clock.advance(20 * minute);
    await Promise.all(workers);
    return { passed: passed.slice(1, 10), rate, throttled: throttles };
  }

  test('backs off alone, and nine tenths of the rate stay for the others', async () => {
    const { passed, rate, throttled } = await minutes('known');
    expect(rate).toBeGreaterThan(45);
    for (const calls of passed) expect(calls).toBeGreaterThan(0.9 * 50 * 60);
    expect(throttled).toBeLessThanOrEqual(4);
  });

  test('takes the rate of all others with it where nothing says what a call is about (control)', async () => {
    const { passed } = await minutes('unknown');
    expect(passed.at(-1)).toBeLessThan(0.5 * 50 * 60);
  });
});
