import type { Chance, Clock } from '../clock.ts';
import { type Budget, pauseLeft, resumeBudget, startBudget } from '../domain/budget/budget.ts';
import { afterAnswer, afterMiss, afterThrottle } from '../domain/budget/outcomes.ts';
import { firstCallInMs } from '../domain/leadership/lease.ts';
import { burst } from '../domain/schedule/call-spacing.ts';
import type { Lane, LaneEntry, LaneShares } from '../domain/schedule/lanes.ts';
import type { CallDemand } from './lane-waiters.ts';
import type { WithoutAnswer } from './outcome.ts';
import { type Away, OutcomeHistory, type Subject } from './outcome-history.ts';
import { createTurns } from './turns.ts';

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
  /** Absent: this process is the only one that calls. */
  readonly leadership?: CallLeadership | undefined;
}

/** Whether this process is the one that calls the service, among those that share an account. */
export interface CallLeadership {
  trusted(): boolean;
}

export interface Pause {
  /** No call starts before this instant; 0 where there is no pause. */
  readonly not_before: number;
  /** The service itself asked for a pause until then; 0 where it did not: any other pause is our own. */
  readonly told_until: number;
  /** Since when the service has been away: not to be connected to, silent, or without any usable answer; null: it is there. */
  readonly unreachable_since: number | null;
  /** Why it is away, by the last call; null: it is not. */
  readonly away: Away | null;
}

/** An answer, decoded or not. */
export interface Answered {
  readonly kind: 'answer' | 'read' | 'unchanged';
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
   * outcome, of which it matters what it is about: of several subjects that fail in a row none is at fault. Rejects with
   * the reason of an aborted signal, and with what `call` rejects with.
   */
  run<Got extends Answered>(
    call: (signal: AbortSignal) => Promise<Got | WithoutAnswer>,
    signal: AbortSignal,
    entry: LaneEntry,
    about?: Subject,
  ): Promise<Got | WithoutAnswer>;
  /** A call was sent so many milliseconds after its turn: another one waits for so long, or for a whole turn at most. */
  late(ms: number): void;
  state(): LimiterState;
  pause(): Pause;
  /** Tells whether the last calls failed, and another one would show whether that is the service's trouble or their own. */
  isInDoubt(): boolean;
  /** Returns what has been learned, to be given to the next process. Instants of the wall clock. */
  learned(): Budget;
}

export function createLimiter(options: LimiterOptions): Limiter {
  const { clock, chance, budget: configured, leadership } = options;
  const { requests_per_second, concurrency } = configured;
  const started = { at: clock.now(), monotonic: clock.monotonic() };
  let budget: Budget =
    options.learned === null
      ? startBudget(requests_per_second, started.at)
      : resumeBudget(options.learned, requests_per_second);
  let calls = 0;
  let throttled_count = 0;
  let closed: Error | null = null;
  const history = new OutcomeHistory(options.burst_statuses);
  let away: Away | null = null;
  /** The wall clock's time when the limiter began, and what passed since: a clock that jumps moves no pause. */
  const steady = () => started.at + clock.monotonic() - started.monotonic;
  const mayCall = () => leadership?.trusted() ?? true;
  const turns = createTurns({ clock, concurrency, lanes: configured.lanes, budget: () => budget, steady, mayCall });
  // An earlier process, or an earlier configuration of this one, may have made a call just now.
  if (options.learned !== null) turns.notBefore(1000 / budget.rate);
  if (leadership !== undefined) turns.notBefore(firstCallInMs);
  const learned = () => shifted(budget, clock.now() - steady());
  const pause = () => ({ ...pauseOf(budget, steady(), clock.now()), away });

  function throttled(until: number | null, now: number, sent_at: number): void {
    throttled_count += 1;
    const before = budget;
    budget = afterThrottle(budget, until === null ? null : now + until - clock.now(), chance(), now, sent_at);
    // What was missed during the pause is not made up for at its end.
    turns.notBefore(pauseLeft(budget, now) + ((burst(budget, concurrency) - 1) * 1000) / budget.rate);
    if (until !== null || budget.cut_at !== before.cut_at) options.throttled(learned());
  }

  function learn<Got extends Answered>(
    came: Got | WithoutAnswer,
    about: Subject,
    demand: CallDemand,
    sent_at: number,
  ): Got | WithoutAnswer {
    const now = steady();
    const { teaches, outcome } = history.judge(came, about, now);
    if (teaches === 'nothing') return outcome;
    away = teaches === 'there' ? null : teaches;
    if (away !== null) budget = afterMiss(budget, chance(), now);
    else if (outcome.kind === 'throttled') throttled(outcome.until, now, sent_at);
    else budget = afterAnswer(budget, demand, now, sent_at);
    return outcome;
  }

  return {
    run: async (call, signal, entry, about = null) => {
      signal.throwIfAborted();
      if (closed !== null) throw closed;
      const demand = await turns.take(entry, signal);
      calls += 1;
      const sent_at = steady();
      try {
        return learn(await call(signal), about, demand, sent_at);
      } finally {
        turns.ended();
      }
    },
    late: turns.late,
    state: () => ({
      ...pause(),
      rate: budget.rate,
      ceiling: budget.ceiling,
      in_flight: turns.inFlight(),
      waiting: turns.allWaiting(),
      calls,
      throttled_count,
      refused_in_a_row: history.refusedInARow(),
      lanes: turns.byLane(),
    }),
    pause,
    isInDoubt: () => history.isInDoubt(),
    learned,
    [Symbol.dispose]: () => {
      closed ??= new Error('the limiter is closed');
      turns.close(closed);
    },
  };
}

/**
 * Returns the pause that is left, in whole milliseconds: the limiter's own clock, which `now` and the budget's instants
 * go by, counts fractions. `wall` is the wall clock's time.
 */
function pauseOf(budget: Budget, now: number, wall: number): Omit<Pause, 'away'> {
  const toWall = wall - now;
  const left = pauseLeft(budget, now);
  const { unreachable_since, told_until } = budget;
  const told = Math.min(left, Math.max(0, told_until - now));
  return {
    not_before: left === 0 ? 0 : Math.round(now + left + toWall),
    told_until: told === 0 ? 0 : Math.round(now + told + toWall),
    unreachable_since: unreachable_since === null ? null : Math.round(unreachable_since + toWall),
  };
}

/** Returns the same budget on a clock that shows `ms` more, its instants in whole milliseconds. */
function shifted(budget: Budget, ms: number): Budget {
  const { not_before, told_until, pressed_at, cut_at, heard_at, unreachable_since } = budget;
  const moved = (instant: number) => (instant === 0 ? 0 : Math.round(instant + ms));
  return {
    ...budget,
    not_before: moved(not_before),
    told_until: moved(told_until),
    pressed_at: moved(pressed_at),
    cut_at: moved(cut_at),
    heard_at: Math.round(heard_at + ms),
    unreachable_since: unreachable_since === null ? null : Math.round(unreachable_since + ms),
  };
}
