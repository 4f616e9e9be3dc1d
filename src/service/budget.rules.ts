/*
 * The call budget: calls a second, learned between a floor and the configured ceiling. These are pure functions of the
 * state, an outcome and `now`. Instants are epoch milliseconds, so that they can be stored.
 */

export interface Budget {
  /** Calls a second. */
  readonly rate: number;
  readonly ceiling: number;
  /** No call may start before this instant. */
  readonly not_before: number;
  /** End of the last pause that the service itself asked for. Other pauses are our own. */
  readonly told_until: number;
  /** Set while that pause may apply to a single product or list only. */
  readonly doubt: DoubtedPause | null;
  /** Subjects that were throttled and have not been answered since. */
  readonly resting: readonly Resting[];
  /** Throttled pauses in a row, and failed connections in a row (`misses`). Each makes the next pause longer. */
  readonly throttles: number;
  readonly misses: number;
  /**
   * Length of our first pause after a throttle, in milliseconds: learned, because some services refuse everything for
   * a while once they have throttled a call.
   */
  readonly refusal_ms: number;
  /** Rate at which the service last throttled. Null if no limit below the ceiling is known: then the ceiling counts. */
  readonly limit: number | null;
  /**
   * `met`: confirmed by throttles near it. `guessed`: estimated from a first throttle, or from the few calls that
   * passed while most were throttled.
   */
  readonly limit_is: 'met' | 'guessed';
  /** Instant of the last throttle that stray ones do not explain; 0 if there was none. */
  readonly pressed_at: number;
  /** Instant of the last cut of the rate, the rate after it, and for how long the rate has grown since. */
  readonly cut_at: number;
  readonly cut_to: number;
  readonly grown_ms: number;
  /** Calls that passed, the time they took and the pauses in it. All decay. They give the delivered rate. */
  readonly delivered: { readonly calls: number; readonly ms: number; readonly paused_ms: number };
  /**
   * Shares of throttled calls: among about the last 20, and among about the last 100 since the limit was last derived
   * from the delivered rate.
   */
  readonly throttled: { readonly lately: number; readonly lastingly: number };
  /**
   * Calls well below the limit, and how many of them were throttled; the limit cannot explain those. `near` counts the
   * same near the limit. All decay.
   */
  readonly below: Tally;
  readonly near: Tally;
  /** Instant of the last outcome, and instant at which the last answered call was sent; 0 if none was answered. */
  readonly heard_at: number;
  readonly answered_at: number;
  readonly unreachable_since: number | null;
}

export interface Tally {
  readonly calls: number;
  readonly throttled: number;
}

/** A throttled product (its id) or list (its path) that was not answered since. It is not requested before `until`. */
export interface Resting {
  readonly subject: number | string;
  /** Throttled calls in a row, and the instant of the first. Calls that were in flight together count as one. */
  readonly times: number;
  readonly since: number;
  readonly until: number;
  /** 1: other calls were answered meanwhile, so only this subject is throttled. */
  readonly alone: 0 | 1;
}

/** A long pause that may apply to one product only. Other calls test that, one at a time. */
export interface DoubtedPause {
  /** Path of the throttled call, as in the service profile: with `{product_id}` in place of an id. */
  readonly path: string;
  readonly tries: number;
  readonly tried_at: number;
}

/** Lowest rate: one call in 20 seconds, however often the service throttles. */
const floor = 1 / 20;
/**
 * Highest rate of a new budget: this share of the ceiling, or this many calls a second, whichever is higher. So a limit
 * far below the ceiling is met gently.
 */
const start = { share: 0.1, calls: 30 };
/** Longest time for which a Retry-After is obeyed. */
export const longestWaitMs = 60 * 60 * 1000;
/** Length of our first pause after a throttle while nothing is learned, and the shortest one. */
export const shortestRefusalMs = 500;
/** Longest random addition to a pause. */
const longestMoreMs = 90_000;
/**
 * Longer than any pause that we set ourselves (an hour and 90 seconds). A later instant comes from a clock that was
 * wrong.
 */
const longestPauseMs = longestWaitMs + longestMoreMs;

export const nothing: Tally = { calls: 0, throttled: 0 };

/**
 * Returns a new budget. It starts at half the ceiling or slower, because the service's limit is unknown and the search
 * for it must do no harm.
 */
export function startBudget(ceiling: number, now: number): Budget {
  const rate = Math.max(Math.min(ceiling / 2, Math.max(start.calls, start.share * ceiling)), lowest(ceiling));
  return {
    rate,
    ceiling,
    not_before: 0,
    told_until: 0,
    doubt: null,
    resting: [],
    throttles: 0,
    misses: 0,
    refusal_ms: shortestRefusalMs,
    limit: null,
    limit_is: 'guessed',
    pressed_at: 0,
    cut_at: 0,
    cut_to: rate,
    grown_ms: 0,
    delivered: { calls: 0, ms: 0, paused_ms: 0 },
    throttled: { lately: 0, lastingly: 0 },
    below: nothing,
    near: nothing,
    heard_at: now,
    answered_at: 0,
    unreachable_since: null,
  };
}

/**
 * Returns the budget that an earlier process stored; null if there is none, or if it is unusable. A member that is absent
 * has its value at a start.
 */
export function storedBudget(stored: Partial<Budget>): Budget | null {
  const { rate, ceiling, heard_at = 0 } = stored;
  const isUsable = (number: unknown): number is number => typeof number === 'number' && number > 0;
  return isUsable(rate) && isUsable(ceiling) ? { ...startBudget(ceiling, heard_at), ...stored } : null;
}

/**
 * Returns the budget of an earlier process under the current ceiling: rate, limit and pause stay. Whether the service
 * is reachable is learned from scratch, and a pause for an unreachable service is over.
 */
export function resumeBudget(learned: Budget, ceiling: number): Budget {
  const within = (rate: number) => Math.max(Math.min(rate, ceiling), lowest(ceiling));
  return {
    ...learned,
    rate: within(learned.rate),
    cut_to: within(learned.cut_to),
    limit: learned.limit === null || learned.limit >= ceiling ? null : learned.limit,
    ceiling,
    misses: 0,
    not_before: learned.unreachable_since === null || learned.doubt !== null ? learned.not_before : learned.told_until,
    unreachable_since: null,
  };
}

/** Returns a pause plus a random tenth of it at most, and 90 seconds at most. `chance` is in [0, 1). */
export function lengthened(wait: number, chance: number): number {
  return wait + chance * Math.min(0.1 * wait, longestMoreMs);
}

/** Returns the slowest rate under a ceiling. */
export function lowest(ceiling: number): number {
  return Math.min(floor, ceiling);
}

/**
 * Returns how long the pause still lasts, in milliseconds. An instant further ahead than any pause can be counts as no
 * pause.
 */
export function pauseLeft({ not_before }: Pick<Budget, 'not_before'>, now: number): number {
  return not_before > now + longestPauseMs ? 0 : Math.max(0, not_before - now);
}
