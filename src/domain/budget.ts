/*
 * How many calls a second: learned, between a floor and the configured ceiling. Pure functions of the state, an
 * outcome and `now` (reliability.md section 3, "Rate"). Instants are epoch milliseconds, so that they could be stored.
 */

import { triggeredShare } from './lanes.ts';

export interface Budget {
  /** Calls a second. */
  readonly rate: number;
  readonly ceiling: number;
  /** No call before this instant. */
  readonly not_before: number;
  /** Throttled pauses in a row, and failed connections in a row: each makes the next pause longer. */
  readonly throttles: number;
  readonly misses: number;
  /** When the rate was last halved, and since when every call went well. */
  readonly halved_at: number;
  readonly clean_since: number;
  readonly unreachable_since: number | null;
}

/** One call in twenty seconds, however often the service says "less". */
const floor = 1 / 20;
/** Answers of one burst count once. */
const halveEveryMs = 5_000;
const cleanMs = 10_000;
const pause = { throttled: { first: 1_000, longest: 60_000 }, unreachable: { first: 1_000, longest: 120_000 } };
/** The longest that a Retry-After is obeyed. */
const longestWaitMs = 60 * 60 * 1000;
/** Longer than any pause we set ourselves (an hour and a tenth): such an instant comes from a clock that was wrong. */
const longestPauseMs = 1.1 * longestWaitMs;

/** A new budget starts at half the ceiling: the service's limit is not known, and finding it must not hurt. */
export function startBudget(ceiling: number, now: number): Budget {
  return {
    rate: Math.max(ceiling / 2, Math.min(floor, ceiling)),
    ceiling,
    not_before: 0,
    throttles: 0,
    misses: 0,
    halved_at: 0,
    clean_since: now,
    unreachable_since: null,
  };
}

/** What an earlier process had learned, under the ceiling of today: the rate and a pause; whether it is reachable shows anew. */
export function resumeBudget(learned: Budget, ceiling: number): Budget {
  const rate = Math.max(Math.min(learned.rate, ceiling), Math.min(floor, ceiling));
  return { ...learned, rate, ceiling, misses: 0, unreachable_since: null };
}

/** An answer came that was neither a throttle nor a lost connection: after ten clean seconds the rate goes up. */
export function afterAnswer(budget: Budget, now: number): Budget {
  const reached = { ...budget, misses: 0, unreachable_since: null };
  // Asked before the throttle came: it says nothing about now.
  if (pauseLeft(budget, now) > 0) return reached;
  // A pause that counts as absent must not come back when the clock has caught up with it.
  const clean = { ...reached, throttles: 0, not_before: 0 };
  // A clock that was set back would otherwise freeze the rate until it has caught up.
  if (now < budget.clean_since) return { ...clean, clean_since: now };
  if (now - budget.clean_since < cleanMs || budget.rate >= budget.ceiling) return clean;
  // A tenth of a call is right for tens a second; a sandbox of thousands must not take a day to get there.
  const step = Math.max(0.1, budget.ceiling / 100);
  return { ...clean, rate: Math.min(budget.rate + step, budget.ceiling), clean_since: now };
}

/**
 * The service asked for less: half the rate, at most once in five seconds, and a pause until `until`, or where it did
 * not say, of a second, two, four … up to a minute. `chance` in [0, 1) makes the pause up to a tenth longer.
 */
export function afterThrottle(budget: Budget, until: number | null, chance: number, now: number): Budget {
  const left = pauseLeft(budget, now);
  const halved = now < budget.halved_at || now - budget.halved_at >= halveEveryMs;
  const rate = halved ? Math.max(budget.rate / 2, Math.min(floor, budget.ceiling)) : budget.rate;
  // Calls in flight when the pause began are throttled with it: they are no sign that it was too short.
  const again = left > 0 && budget.throttles > 0;
  const own = Math.min(pause.throttled.first * 2 ** budget.throttles, pause.throttled.longest);
  // A Retry-After of zero still means "less": at least the gap that the halved rate asks for.
  const asked = until === null ? null : Math.max(Math.min(until - now, longestWaitMs), 1000 / rate);
  const wait = (asked ?? (again ? 0 : own)) * (1 + 0.1 * chance);
  return {
    ...budget,
    rate,
    halved_at: halved ? now : budget.halved_at,
    clean_since: now,
    throttles: again ? budget.throttles : budget.throttles + 1,
    misses: 0,
    not_before: now + Math.max(left, wait),
    unreachable_since: null,
  };
}

/**
 * No connection: nobody calls for a second, then for longer and longer, up to two minutes (and up to a tenth more by
 * `chance`), until any answer comes.
 */
export function afterMiss(budget: Budget, chance: number, now: number): Budget {
  const since = budget.unreachable_since;
  const missed = { ...budget, clean_since: now, unreachable_since: since === null || since > now ? now : since };
  // Sent before the pause began: one outage is one miss.
  if (pauseLeft(budget, now) > 0) return missed;
  const wait = Math.min(pause.unreachable.first * 2 ** budget.misses, pause.unreachable.longest);
  return { ...missed, misses: budget.misses + 1, not_before: now + wait * (1 + 0.1 * chance) };
}

/** How long the pause still lasts, in milliseconds. An instant further ahead than any pause can be counts as absent. */
export function pauseLeft({ not_before }: Pick<Budget, 'not_before'>, now: number): number {
  return not_before > now + longestPauseMs ? 0 : Math.max(0, not_before - now);
}

/**
 * How many calls may start at once after a rest: a tenth of a second's worth, which makes up for late timers, but never
 * more than can be in flight. With ten calls a second or fewer that is one: a limit counted by the second is not met
 * by a burst at its edge.
 */
export function burst({ rate }: Pick<Budget, 'rate'>, concurrency: number): number {
  return Math.max(1, Math.min(rate / 10, concurrency));
}

/** How long until a call may start that is due at `due`, in milliseconds on the clock of `due` and `now`; 0: at once. */
export function turnIn(budget: Pick<Budget, 'rate'>, concurrency: number, due: number, now: number): number {
  return Math.max(0, due - credit(budget, concurrency) - now);
}

/** A call starts at `now`: when the next one is due. In any second at most the rate and one burst of them start. */
export function dueAfter(budget: Pick<Budget, 'rate'>, due: number, now: number): number {
  return Math.max(due, now) + 1000 / budget.rate;
}

/** So many triggered calls may start at once after a rest: all of one product's. */
const triggeredBurst = 8;

/** How long until a triggered call may start, as `turnIn`: they have a share of the rate and no more. */
export function triggeredTurnIn(budget: Pick<Budget, 'rate'>, due: number, now: number): number {
  return Math.max(0, due - ((triggeredBurst - 1) * 1000) / (budget.rate * triggeredShare) - now);
}

/** A triggered call starts at `now`: when the next one is due, as `dueAfter`. */
export function triggeredDueAfter(budget: Pick<Budget, 'rate'>, due: number, now: number): number {
  return Math.max(due, now) + 1000 / (budget.rate * triggeredShare);
}

function credit(budget: Pick<Budget, 'rate'>, concurrency: number): number {
  return ((burst(budget, concurrency) - 1) * 1000) / budget.rate;
}
