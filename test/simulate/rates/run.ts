import { instant } from '../../../src/clock.ts';
import { type LaneShares, lanes } from '../../../src/domain/schedule/lanes.ts';
import { roll } from '../../../src/sandbox/random.ts';
import { createLimiter } from '../../../src/upstream/limiter.ts';
import { failed, type Outcome } from '../../../src/upstream/outcome.ts';
import { fastClock } from './fast-clock.ts';
import { oldAfterAnswer, oldAfterThrottle, startOld } from './old-rule.ts';
import { limitOf, type Shape, type Told } from './services.ts';

/** One cell of the rate table: who asks, whom, and what goes wrong for no reason. */
export interface Cell {
  readonly ceiling: number;
  readonly concurrency: number;
  /** A call takes from three quarters to five quarters of it. */
  readonly latency_ms: number;
  /** Calls a second that the service allows: at first, and from which instant on. */
  readonly limits: readonly { readonly from_ms: number; readonly per_second: number }[];
  readonly shape: Shape;
  readonly told: Told;
  /** How the service says "less". */
  readonly status: 429 | 503;
  readonly strays: { readonly kind: 'none' | '503' | 'reset' | '429'; readonly share: number };
  /** How long it lasts, from a start at which nothing is known. */
  readonly minutes: number;
  /** So many of its first minutes are left out of what is counted as settled. */
  readonly settle: number;
  readonly seed: number;
}

/** What was counted over a stretch of a cell. */
export interface Counted {
  /** Calls let through, beside what was allowed outside the time that the service told us to wait. */
  readonly used: number;
  /** Of all calls, the share that the limit throttled: planted strays left out. */
  readonly throttled: number;
  readonly calls: number;
}

/** Of the whole cell, its start included. */
export interface Result extends Counted {
  readonly settled: Counted;
  /** Calls that started although the service had told us to wait. */
  readonly while_told: number;
  /** Milliseconds until the rate reached 95 % of the ceiling; null: it never did. */
  readonly reached_ms: number | null;
  /** At the end. */
  readonly rate: number;
}

export type Rule = 'ours' | 'old';

const shares = Object.fromEntries(lanes.map((lane) => [lane, 0])) as LaneShares as Record<string, number> as LaneShares;

/** Runs a cell with calls always waiting. `ours` drives the real limiter; `old` paces the calls by the rule of 1e8a28f. */
export async function runCell(cell: Cell, rule: Rule, make = createLimiter): Promise<Result> {
  const { ceiling, concurrency, seed } = cell;
  const clock = fastClock(Date.UTC(2026, 10, 21));
  const settled = cell.settle * 60_000;
  const end = cell.minutes * 60_000;
  const service = serviceOf(cell);
  const stretches = [0, settled].map((from) => ({ from, calls: 0, through: 0, throttled: 0 }));
  const counts = { while_told: 0, reached_ms: null as number | null };
  let step = 0;
  let step_of_calls = 0;
  const chance = () => roll(seed, step++, 'chance');
  const told = toldTime();

  function call(): Promise<Outcome> {
    const n = step_of_calls++;
    const at = clock.monotonic();
    const counting = stretches.filter(({ from }) => at >= from);
    for (const each of counting) each.calls += 1;
    if (at < told.until()) counts.while_told += 1;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const latency = cell.latency_ms * (0.75 + roll(seed, n, 'latency') / 2);
    clock.at(latency / 2, () => {
      const came = service.answer(clock.monotonic(), n, roll(seed, n, 'stray'));
      if (came === 'through' || came === 'throttled') for (const each of counting) each[came] += 1;
      clock.at(latency / 2, () => {
        const now = clock.monotonic();
        const wait = cell.told === 'retry-after' && (came === 'throttled' || came === '429') ? 1000 : null;
        if (wait !== null) told.add(now, now + wait, end);
        resolve(outcomeOf(came, cell.status, wait === null ? null : clock.now() + wait));
      });
    });
    return promise;
  }

  if (rule === 'ours') {
    using limiter = make({
      budget: { requests_per_second: ceiling, concurrency, lanes: shares },
      learned: null,
      throttled: () => undefined,
      clock,
      chance,
      burst_statuses: [403],
    });
    const never = new AbortController().signal;
    const work = async () => {
      while (clock.monotonic() < end) {
        await limiter.run(call, never, 'near');
        if (counts.reached_ms === null && limiter.state().rate >= 0.95 * ceiling) counts.reached_ms = clock.monotonic();
      }
    };
    for (let worker = 0; worker < concurrency + 2; worker += 1) work().catch(() => undefined);
    await clock.run(end);
    return resultOf(limiter.state().rate);
  }
  let budget = startOld(ceiling);
  let due = 0;
  let before: Promise<void> = Promise.resolve();
  const turn = () => {
    // One at a time, first come first served: only the next one looks at the clock.
    before = before.then(async () => {
      for (;;) {
        const wait = Math.max(due, budget.not_before) - clock.monotonic();
        if (wait <= 0) break;
        await clock.sleep(wait);
      }
      due = Math.max(due, clock.monotonic()) + 1000 / budget.rate;
    });
    return before;
  };
  const work = async () => {
    while (clock.monotonic() < end) {
      await turn();
      const outcome = await call();
      const now = clock.monotonic();
      const until = outcome.kind === 'throttled' && outcome.until !== null ? now + outcome.until - clock.now() : null;
      if (outcome.kind === 'throttled') budget = oldAfterThrottle(budget, until, chance(), now);
      else if (outcome.kind === 'answer') budget = oldAfterAnswer(budget, now);
      if (counts.reached_ms === null && budget.rate >= 0.95 * ceiling) counts.reached_ms = now;
    }
  };
  for (let worker = 0; worker < concurrency; worker += 1) work().catch(() => undefined);
  await clock.run(end);
  return resultOf(budget.rate);

  function resultOf(rate: number): Result {
    const planted = 1 - (cell.strays.kind === 'none' ? 0 : cell.strays.share);
    const mostInFlight = (concurrency * 1000) / cell.latency_ms;
    const [whole, later] = stretches.map(({ from, calls, through, throttled }) => {
      const allowed = told.free(from, end, (from, to) => allowedIn(cell, from, to, mostInFlight)) * planted;
      return { used: through / allowed, throttled: throttled / calls, calls };
    }) as [Counted, Counted];
    return { ...whole, settled: later, ...counts, rate };
  }
}

function serviceOf({ limits, shape, strays }: Cell) {
  const [first, ...changes] = limits;
  const limit = limitOf(shape, first?.per_second ?? Number.POSITIVE_INFINITY);
  const left = [...changes];
  return {
    answer: (at: number, _: number, dice: number): 'through' | 'throttled' | '503' | 'reset' | '429' => {
      while (left[0] !== undefined && left[0].from_ms <= at) limit.set(left.shift()?.per_second ?? 0);
      if (strays.kind !== 'none' && dice < strays.share) return strays.kind;
      return limit.admits(at) ? 'through' : 'throttled';
    },
  };
}

function outcomeOf(came: string, status: number, until: number | null): Outcome {
  switch (came) {
    case 'through':
      return { kind: 'answer', text: '', hash: '', bytes: 0, sent_at: instant(0) };
    case 'throttled':
      return { kind: 'throttled', status, until: until === null ? null : instant(until) };
    case '429':
      return { kind: 'throttled', status: 429, until: until === null ? null : instant(until) };
    case '503':
      return { kind: 'throttled', status: 503, until: null };
    default:
      return failed('reset', 'the connection broke');
  }
}

/** The stretches in which the service had told us to wait, in order. */
function toldTime() {
  const stretches: [from: number, to: number][] = [];
  return {
    until: () => stretches.at(-1)?.[1] ?? Number.NEGATIVE_INFINITY,
    add: (from: number, to: number, end: number) => {
      const last = stretches.at(-1);
      const until = Math.min(to, end);
      if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], until);
      else stretches.push([from, until]);
    },
    /** The sum of `of` over the stretches of [begin, end] that are not these. */
    free: (begin: number, end: number, of: (from: number, to: number) => number) => {
      let sum = 0;
      let at = begin;
      for (const [from, to] of stretches) {
        if (from > at) sum += of(at, from);
        at = Math.max(at, to);
      }
      return sum + of(at, end);
    },
  };
}

/** Calls that could have gone through from one instant to another. */
function allowedIn({ limits, ceiling }: Cell, from: number, to: number, mostInFlight: number): number {
  return limits.reduce((sum, { from_ms, per_second }, index) => {
    const begins = Math.max(from, from_ms);
    const ends = Math.min(to, limits[index + 1]?.from_ms ?? Number.POSITIVE_INFINITY);
    return sum + (Math.max(0, ends - begins) / 1000) * Math.min(per_second, ceiling, mostInFlight);
  }, 0);
}
