import type { Chance, Clock } from '../clock.ts';
import {
  afterAnswer,
  afterMiss,
  afterThrottle,
  type Budget,
  burst as burstOf,
  dueAfter,
  pauseLeft,
  resumeBudget,
  startBudget,
  triggeredDueAfter,
  triggeredTurnIn,
  turnIn,
} from '../domain/schedule/budget.ts';
import {
  afterTurn,
  type Lane,
  type LaneEntry,
  type LaneShares,
  laneEntries,
  lanes,
  nextLane,
  noCredit,
  withFloors,
} from '../domain/schedule/lanes.ts';
import { type FailureCode, failedStatus, type Outcome } from './outcome.ts';

export interface LimiterOptions {
  readonly budget: { readonly requests_per_second: number; readonly concurrency: number; readonly lanes: LaneShares };
  /** What an earlier process had learned; null: nothing. */
  readonly learned: Budget | null;
  /** Called with the learned budget when the rate was cut or the service asked for a pause, to persist it. */
  readonly throttled: (learned: Budget) => void;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Statuses that mean throttling when they come in bursts, and a record's own failure when single (service-facts.md §9). */
  readonly burst_statuses: readonly number[];
}

export interface Pause {
  /** No call starts before this instant; 0 where there is no pause. */
  readonly not_before: number;
  /** The service itself asked for a pause until then; 0 where it did not: any other pause is our own. */
  readonly told_until: number;
  /** Since when no connection was made; null while there is one. */
  readonly unreachable_since: number | null;
}

export interface LimiterState extends Pause {
  /** Calls a second: as learned, and as configured. */
  readonly rate: number;
  readonly ceiling: number;
  readonly in_flight: number;
  readonly waiting: number;
  /** Calls started, throttled ones, and how many in a row ended in a burst status. */
  readonly calls: number;
  readonly throttled_count: number;
  readonly refused_in_a_row: number;
  /** Calls started and calls waiting, by lane. */
  readonly lanes: Readonly<Record<Lane, { readonly calls: number; readonly waiting: number }>>;
}

/** The one limiter for every call: rate, concurrency, and what the service asked for. Disposing rejects all who wait. */
export interface Limiter extends Disposable {
  /**
   * Waits for its turn (by the lanes' order and shares, within a lane first come first served) and learns from the
   * outcome. Rejects with the reason of an aborted signal, and with what `call` rejects with.
   */
  run(call: (signal: AbortSignal) => Promise<Outcome>, signal: AbortSignal, entry: LaneEntry): Promise<Outcome>;
  state(): LimiterState;
  pause(): Pause;
  /** What has been learned, to be given to the next process. Instants of the wall clock. */
  learned(): Budget;
}

/** Whether a call had to wait for its turn. */
type Demand = Parameters<typeof afterAnswer>[1];

interface Waiter {
  start(): void;
  reject(reason: unknown): void;
}

/** Of the last five answers, so many of a burst status are back-pressure; so many in a row are the key after all. */
const burst = { of: 5, calls: 3, key: 20 };
/** Failures that do not show that the service is there; so many in a row are as good as no connection. */
const silence = { codes: new Set<FailureCode>(['deadline', 'reset', 'closed']), calls: 5 };

/** So many 5xx among the last answers are the service's trouble. */
const trouble = { of: 20, calls: 10 };
/** A 5xx that may mean "less" (503) but does not say so: half of the last ten, or a tenth of the last hundred, mean it. */
const unsaid = [
  { of: 10, calls: 5 },
  { of: 100, calls: 10 },
] as const;

export function createLimiter(options: LimiterOptions): Limiter {
  const { clock, chance, burst_statuses } = options;
  const { requests_per_second, concurrency } = options.budget;
  const shares = withFloors(options.budget.lanes);
  const started = { at: clock.now(), monotonic: clock.monotonic() };
  let budget: Budget =
    options.learned === null
      ? startBudget(requests_per_second, started.at)
      : resumeBudget(options.learned, requests_per_second);
  let credit = noCredit();
  let due = Number.NEGATIVE_INFINITY;
  let triggeredDue = Number.NEGATIVE_INFINITY;
  let in_flight = 0;
  let calls = 0;
  let throttled_count = 0;
  let refused_in_a_row = 0;
  let silent_in_a_row = 0;
  let answered = false;
  let timer: AbortController | null = null;
  let triggeredTimer: AbortController | null = null;
  let closed: Error | null = null;
  const recent: boolean[] = [];
  const failing: boolean[] = [];
  const overloaded: boolean[] = [];
  const waiters = Object.fromEntries(laneEntries.map((entry) => [entry, []])) as unknown as Record<LaneEntry, Waiter[]>;
  const started_in = byLane(() => 0);

  function waiting(): number {
    return laneEntries.reduce((sum, entry) => sum + waiters[entry].length, 0);
  }

  /** The wall clock's time when the limiter began, and what passed since: a clock that jumps moves no pause. */
  function steady(): number {
    return started.at + clock.monotonic() - started.monotonic;
  }

  /** Starts whoever may start now; where the first may not, one timer wakes it. */
  function pump(): void {
    while (timer === null && in_flight < allowed()) {
      const now = clock.monotonic();
      const quota = waiters.triggered.length === 0 ? 0 : triggeredTurnIn(budget, triggeredDue, now);
      const mayTrigger = waiters.triggered.length > 0 && quota === 0;
      const lane =
        in_flight >= allowedOthers()
          ? 'checkout'
          : nextLane(credit, (each) => waiters[each].length > 0 || (each === 'notification' && mayTrigger));
      if (lane === null) {
        if (quota > 0) triggeredTimer ??= wakeIn(quota, () => (triggeredTimer = null));
        return;
      }
      const wait = Math.max(turnIn(budget, concurrency, due, now), pauseLeft(budget, steady()));
      if (wait > 0) {
        timer = wakeIn(wait, () => (timer = null));
        return;
      }
      const entry = waiters[lane].length > 0 ? lane : 'triggered';
      due = dueAfter(budget, due, now);
      if (entry === 'triggered') triggeredDue = triggeredDueAfter(budget, triggeredDue, now);
      in_flight += 1;
      credit = afterTurn(credit, shares, lane, budget.rate);
      started_in[lane] += 1;
      waiters[entry].shift()?.start();
    }
  }

  /** While nothing gets through, one call at a time probes. */
  function allowedOthers(): number {
    return budget.unreachable_since === null ? concurrency : 1;
  }

  /** A check does not wait for the end of a slow call in another lane, as long as checks are no flood. */
  function allowed(): number {
    const more = budget.unreachable_since === null && waiters.checkout.length > 0 && credit.checkout >= 1;
    return more ? connectionsFor(concurrency) : allowedOthers();
  }

  function wakeIn(ms: number, woken: () => void): AbortController {
    const own = new AbortController();
    const wake = () => {
      if (own.signal.aborted) return;
      woken();
      pump();
    };
    clock.sleep(Math.ceil(ms), own.signal).then(wake, () => undefined);
    return own;
  }

  function stopTimers(): void {
    const own = [timer, triggeredTimer];
    timer = null;
    triggeredTimer = null;
    for (const each of own) each?.abort();
  }

  /** Whether the call had to wait is not for a clock to say: a fine one sees every call wait. */
  function turn(signal: AbortSignal, name: LaneEntry): Promise<Demand> {
    const { promise, resolve, reject } = Promise.withResolvers<Demand>();
    const others = waiters[name];
    let stays = true;
    let demand: Demand = 'none';
    const abort = () => {
      others.splice(others.indexOf(waiter), 1);
      if (waiting() === 0) stopTimers();
      reject(signal.reason);
    };
    const leave = () => {
      stays = false;
      signal.removeEventListener('abort', abort);
    };
    const waiter: Waiter = {
      start: () => {
        leave();
        resolve(demand);
      },
      reject: (reason) => {
        leave();
        reject(reason);
      },
    };
    others.push(waiter);
    pump();
    // Most calls start at once when the rate is high: no listener for them.
    if (stays) {
      demand = 'waiting';
      signal.addEventListener('abort', abort, { once: true });
    }
    return promise;
  }

  function learn(came: Outcome, demand: Demand, sent_at: number): Outcome {
    const now = steady();
    const outcome = judgeUnsaid(came);
    const silent = outcome.kind === 'failed' && silence.codes.has(outcome.code);
    silent_in_a_row = silent ? silent_in_a_row + 1 : 0;
    if (outcome.kind === 'unreachable' || silent_in_a_row >= silence.calls || isTrouble(outcome)) {
      budget = afterMiss(budget, chance(), now);
      // Where nothing goes well, no record is at fault.
      return outcome.kind === 'failed' ? { ...outcome, kind: 'unreachable' } : outcome;
    }
    if (silent) return outcome;
    const judged = judgeBurst(outcome);
    if (judged.kind === 'throttled') {
      throttled_count += 1;
      const until = judged.until === null ? null : now + judged.until - clock.now();
      const before = budget;
      budget = afterThrottle(budget, until, chance(), now, sent_at);
      // What was missed during the pause is not made up for at its end.
      due = Math.max(due, clock.monotonic() + pauseLeft(budget, now) + creditMs());
      if (until !== null || budget.cut_at !== before.cut_at) options.throttled(learned());
    } else {
      budget = afterAnswer(budget, demand, now, sent_at);
    }
    return judged;
  }

  function creditMs(): number {
    return ((burstOf(budget, concurrency) - 1) * 1000) / budget.rate;
  }

  /** A single 503 without Retry-After is the failure of what was asked for; only many of them are back-pressure. */
  function judgeUnsaid(outcome: Outcome): Outcome {
    const hit = outcome.kind === 'throttled' && outcome.status >= 500 && outcome.until === null;
    overloaded.push(hit);
    if (overloaded.length > 100) overloaded.shift();
    if (!hit || unsaid.some(({ of, calls }) => overloaded.slice(-of).filter(Boolean).length >= calls)) return outcome;
    return failedStatus(outcome.status);
  }

  /** Half of the last calls broke the service, this one too: nothing is wrong with what was asked for (reliability.md section 3). */
  function isTrouble(outcome: Outcome): boolean {
    const broken = outcome.kind === 'failed' && (outcome.status ?? 0) >= 500;
    failing.push(broken);
    if (failing.length > trouble.of) failing.shift();
    return broken && failing.filter(Boolean).length >= trouble.calls;
  }

  /** A single 403 is the record's; several among the last answers are back-pressure; nothing but 403 is the key (service-facts.md §13.7). */
  function judgeBurst(outcome: Outcome): Outcome {
    const hit = outcome.kind === 'refused' && burst_statuses.includes(outcome.status);
    refused_in_a_row = hit ? refused_in_a_row + 1 : 0;
    answered ||= !hit;
    recent.push(hit);
    if (recent.length > burst.of) recent.shift();
    if (!hit || recent.filter(Boolean).length < burst.calls) return outcome;
    // A key that is taken away later looks like a burst at first, but outlasts every pause.
    if (answered && refused_in_a_row < burst.key) return { kind: 'throttled', status: outcome.status, until: null };
    return { ...outcome, status: 401, message: `every call is refused with ${outcome.status}: ${outcome.message}` };
  }

  function learned(): Budget {
    return shifted(budget, clock.now() - steady());
  }

  function pause(): Pause {
    const now = steady();
    const toWall = clock.now() - now;
    const left = pauseLeft(budget, now);
    const { unreachable_since, told_until } = budget;
    const told = Math.min(left, Math.max(0, told_until - now));
    return {
      not_before: left === 0 ? 0 : now + left + toWall,
      told_until: told === 0 ? 0 : now + told + toWall,
      unreachable_since: unreachable_since === null ? null : unreachable_since + toWall,
    };
  }

  return {
    run: async (call, signal, entry) => {
      signal.throwIfAborted();
      if (closed !== null) throw closed;
      const demand = await turn(signal, entry);
      calls += 1;
      const sent_at = steady();
      try {
        return learn(await call(signal), demand, sent_at);
      } finally {
        in_flight -= 1;
        pump();
      }
    },
    state: () => ({
      ...pause(),
      rate: budget.rate,
      ceiling: budget.ceiling,
      in_flight,
      waiting: waiting(),
      calls,
      throttled_count,
      refused_in_a_row,
      lanes: byLane((lane) => ({
        calls: started_in[lane],
        waiting: waiters[lane].length + (lane === 'notification' ? waiters.triggered.length : 0),
      })),
    }),
    pause,
    learned,
    [Symbol.dispose]: () => {
      closed ??= new Error('the limiter is closed');
      stopTimers();
      for (const entry of laneEntries) for (const waiter of waiters[entry].splice(0)) waiter.reject(closed);
    },
  };
}

/** Connections that so many calls at a time need: one more, which checks alone may take when all others are busy. */
export function connectionsFor(concurrency: number): number {
  return concurrency + 1;
}

function byLane<Value>(of: (lane: Lane) => Value): Record<Lane, Value> {
  return Object.fromEntries(lanes.map((lane) => [lane, of(lane)])) as Record<Lane, Value>;
}

/** The same budget on a clock that shows `ms` more. */
function shifted(budget: Budget, ms: number): Budget {
  const { not_before, told_until, cut_at, heard_at, unreachable_since } = budget;
  const moved = (instant: number) => (instant === 0 ? 0 : instant + ms);
  return {
    ...budget,
    not_before: moved(not_before),
    told_until: moved(told_until),
    cut_at: moved(cut_at),
    heard_at: heard_at + ms,
    unreachable_since: unreachable_since === null ? null : unreachable_since + ms,
  };
}
