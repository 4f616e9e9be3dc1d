/*
 * How many calls a second: learned, between a floor and the configured ceiling. Pure functions of the state, an
 * outcome and `now` (reliability.md section 3, "Rate"). Instants are wall time, so that they could be stored.
 */

export interface Budget {
  /** Calls a second. */
  readonly rate: number;
  readonly ceiling: number;
  /** No call before this instant. */
  readonly not_before: number;
  /** Throttled answers in a row, and failed connections in a row: each makes the next pause longer. */
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
/** Longer than any pause we set ourselves (an hour and a tenth): such an instant comes from a clock that was wrong. */
const longestPauseMs = 66 * 60 * 1000;

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

/** An answer came that was neither a throttle nor a lost connection: after ten clean seconds the rate goes up. */
export function afterAnswer(budget: Budget, now: number): Budget {
  const clean = { ...budget, throttles: 0, misses: 0, unreachable_since: null };
  // A clock that was set back would otherwise freeze the rate until it has caught up.
  if (now < budget.clean_since) return { ...clean, clean_since: now };
  if (now - budget.clean_since < cleanMs || budget.rate >= budget.ceiling) return clean;
  // A tenth of a call is right for tens a second; a sandbox of thousands must not take a day to get there.
  const step = Math.max(0.1, budget.ceiling / 50);
  return { ...clean, rate: Math.min(budget.rate + step, budget.ceiling), clean_since: now };
}

/** The service asked for less: half the rate, once a burst, and a pause as long as it said, or longer each time. */
export function afterThrottle(budget: Budget, until: number | null, chance: number, now: number): Budget {
  const again = now >= budget.halved_at && now - budget.halved_at < halveEveryMs;
  const rate = again ? budget.rate : Math.max(budget.rate / 2, Math.min(floor, budget.ceiling));
  const own = Math.min(pause.throttled.first * 2 ** budget.throttles, pause.throttled.longest);
  // A Retry-After of zero still means "less": at least the gap that the halved rate asks for.
  const wait = until === null ? own : Math.max(until - now, 1000 / rate);
  return {
    ...budget,
    rate,
    halved_at: again ? budget.halved_at : now,
    clean_since: now,
    throttles: again ? budget.throttles : budget.throttles + 1,
    not_before: Math.max(validInstant(budget.not_before, now), now + wait * (1 + 0.1 * chance)),
  };
}

/** No connection: a probe after a second, then after longer and longer, up to two minutes. */
export function afterMiss(budget: Budget, chance: number, now: number): Budget {
  if (now < validInstant(budget.not_before, now)) return budget;
  const wait = Math.min(pause.unreachable.first * 2 ** budget.misses, pause.unreachable.longest);
  return {
    ...budget,
    misses: budget.misses + 1,
    clean_since: now,
    not_before: now + wait * (1 + 0.1 * chance),
    unreachable_since: budget.unreachable_since ?? now,
  };
}

/** How long the pause still lasts, in milliseconds. An instant further ahead than any pause can be counts as absent. */
export function pauseLeft({ not_before }: Budget, now: number): number {
  return Math.max(0, validInstant(not_before, now) - now);
}

function validInstant(at: number, now: number): number {
  return at > now + longestPauseMs ? 0 : at;
}
