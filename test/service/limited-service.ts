import { instant } from '../../src/kernel/clock.ts';
import { roll } from '../../src/sandbox/random.ts';
import { type LaneShares, lanes } from '../../src/schedule/lanes.rules.ts';
import { Limiter, type LimiterOptions } from '../../src/service/limiter.ts';
import { failed, type Outcome } from '../../src/service/outcome.ts';
import { type VirtualClock, virtualClock } from '../fakes/virtual-clock.ts';

/*
 * The real limiter against services that limit calls in their own way, in virtual time: the shape of a limit is the
 * service's to choose, and so is what it says about it.
 */

/** How a service counts. */
type Shape =
  /** So many in each second of its clock. */
  | 'fixed window'
  /** So many in any second. */
  | 'sliding window'
  /** A bucket that holds a second's worth, or a single call and a half (nginx without `burst`, nearly). */
  | 'bucket'
  | 'tight bucket'
  /** So many in any second. The first call beyond that is throttled, and so is each call in the second after it. */
  | 'lockout';

/** What it says of the wait: a whole number of seconds, or nothing. */
type Told = 'retry-after' | 'nothing';

/** Whether a call that arrives at `at` is let through, and counts it. */
interface Limit {
  admits(at: number): boolean;
  set(per_second: number): void;
}

/** `Infinity` lets everything through. */
function limitOf(shape: Shape, per_second: number): Limit {
  let limit = per_second;
  const set = (to: number) => {
    limit = to;
  };
  switch (shape) {
    case 'fixed window': {
      let [second, calls] = [-1, 0];
      return {
        set,
        admits: (at) => {
          const now = Math.floor(at / 1000);
          if (now !== second) [second, calls] = [now, 0];
          calls += 1;
          return calls <= limit;
        },
      };
    }
    case 'sliding window': {
      let recent: number[] = [];
      return {
        set,
        admits: (at) => {
          recent = recent.filter((each) => each > at - 1000);
          if (recent.length >= limit) return false;
          recent.push(at);
          return true;
        },
      };
    }
    case 'lockout': {
      let recent: number[] = [];
      let locked_until = Number.NEGATIVE_INFINITY;
      return {
        set,
        admits: (at) => {
          if (at < locked_until) return false;
          recent = recent.filter((each) => each > at - 1000);
          if (recent.length >= limit) {
            locked_until = at + 1000;
            return false;
          }
          recent.push(at);
          return true;
        },
      };
    }
    case 'bucket':
    case 'tight bucket': {
      const holds = () => (shape === 'bucket' ? limit : Math.max(1.5, limit / 20));
      let [tokens, at_last] = [Number.POSITIVE_INFINITY, 0];
      return {
        set,
        admits: (at) => {
          if (limit === Number.POSITIVE_INFINITY) return true;
          tokens = Math.min(holds(), tokens + ((at - at_last) * limit) / 1000);
          at_last = at;
          if (tokens < 1) return false;
          tokens -= 1;
          return true;
        },
      };
    }
  }
}

/** Who asks, whom, and what goes wrong for no reason. */
export interface Cell {
  readonly ceiling: number;
  readonly concurrency: number;
  /** A call takes from three quarters to five quarters of it. */
  readonly latency_ms: number;
  /** Calls a second that the service allows: at first, and from which instant on. */
  readonly limits: readonly { readonly from_ms: number; readonly per_second: number }[];
  readonly shape: Shape;
  readonly told: Told;
  readonly strays: { readonly kind: 'none' | '503' | 'reset' | '429'; readonly share: number };
  /** How long it lasts, from a start at which nothing is known. */
  readonly minutes: number;
  readonly seed: number;
}

/** What was counted, the start included. */
export interface Result {
  /** Calls let through, beside what was allowed outside the time that the service told us to wait. */
  readonly used: number;
  /** Of all calls, the share that the limit throttled: planted strays left out. */
  readonly throttled: number;
  /** Calls that started although the service had told us to wait. */
  readonly while_told: number;
  /** Milliseconds until the rate reached 95 % of the ceiling; null: it never did. */
  readonly reached_ms: number | null;
  /** At the end. */
  readonly rate: number;
}

const shares = Object.fromEntries(lanes.map((lane) => [lane, 0])) as LaneShares as Record<string, number> as LaneShares;

/** Runs a cell with calls always waiting. */
export async function runCell(cell: Cell, make = (options: LimiterOptions) => new Limiter(options)): Promise<Result> {
  const { ceiling, concurrency, seed } = cell;
  const clock = virtualClock(Date.UTC(2026, 10, 21));
  const after = (ms: number, fire: () => void) => void clock.sleep(ms).then(fire);
  const end = cell.minutes * 60_000;
  const service = serviceOf(cell);
  const found = { calls: 0, through: 0, throttled: 0 };
  const counts = { while_told: 0, reached_ms: null as number | null };
  let step = 0;
  let step_of_calls = 0;
  const chance = () => roll(seed, step++, 'chance');
  const told = toldTime();

  function call(): Promise<Outcome> {
    const n = step_of_calls++;
    const at = clock.monotonic();
    found.calls += 1;
    if (at < told.until()) counts.while_told += 1;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const latency = cell.latency_ms * (0.75 + roll(seed, n, 'latency') / 2);
    after(latency / 2, () => {
      const came = service.answer(clock.monotonic(), n, roll(seed, n, 'stray'));
      if (came === 'through' || came === 'throttled') found[came] += 1;
      after(latency / 2, () => {
        const now = clock.monotonic();
        const wait = cell.told === 'retry-after' && (came === 'throttled' || came === '429') ? 1000 : null;
        if (wait !== null) told.add(now, now + wait, end);
        resolve(outcomeOf(came, wait === null ? null : clock.now() + wait));
      });
    });
    return promise;
  }

  using limiter = make({
    budget: { requests_per_second: ceiling, concurrency, lanes: shares },
    learned: null,
    throttled: () => undefined,
    clock,
    chance,
  });
  const never = new AbortController().signal;
  const work = async () => {
    while (clock.monotonic() < end) {
      await limiter.run(call, never, 'near');
      if (counts.reached_ms === null && limiter.state().rate >= 0.95 * ceiling) counts.reached_ms = clock.monotonic();
    }
  };
  for (let worker = 0; worker < concurrency + 2; worker += 1) work().catch(() => undefined);
  await run(clock, end);
  const planted = 1 - (cell.strays.kind === 'none' ? 0 : cell.strays.share);
  const mostInFlight = (concurrency * 1000) / cell.latency_ms;
  const allowed = told.free(0, end, (from, to) => allowedIn(cell, from, to, mostInFlight)) * planted;
  const { rate } = limiter.state();
  return { used: found.through / allowed, throttled: found.throttled / found.calls, ...counts, rate };
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

function outcomeOf(came: string, until: number | null): Outcome {
  switch (came) {
    case 'through':
      return { kind: 'answer', status: 200, text: '', hash: '', bytes: 0, sent_at: instant(0) };
    case 'throttled':
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

/** Calls in flight that the ceiling needs at the latency: more than its product. */
const concurrency: Readonly<Record<number, number>> = { 10: 4, 30: 8, 300: 64 };

export function cellOf({
  ceiling,
  per_second,
  ...rest
}: Pick<Cell, 'ceiling' | 'strays' | 'shape' | 'told' | 'minutes'> & { per_second: number }): Cell {
  const limits = [{ from_ms: 0, per_second }];
  return { ...rest, ceiling, concurrency: concurrency[ceiling] ?? 4, latency_ms: 120, limits, seed: 1 };
}

/** Promises that a timer may set off before the next one fires: an outcome passes through a handful of `await`s. */
const turns = 12;

/** Fires what falls due until `end`, and lets each take effect. */
async function run(clock: VirtualClock, end: number): Promise<void> {
  for (;;) {
    for (let turn = 0; turn < turns; turn += 1) await null;
    const left = end - clock.monotonic();
    if (left <= 0 || !clock.next(left)) return;
  }
}
