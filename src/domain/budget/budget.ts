/*
 * The call budget: calls a second, learned between a floor and the configured ceiling. Pure functions of the state, an
 * outcome and `now` (reliability.md section 3, "Rate"). Instants are epoch milliseconds, so that they can be stored.
 */

export interface Budget {
  /** Calls a second. */
  readonly rate: number;
  readonly ceiling: number;
  /** No call may start before this instant. */
  readonly not_before: number;
  /** The end of the last pause that the service itself asked for; other pauses are our own. */
  readonly told_until: number;
  /** Set while that pause may be meant for one product or list only. */
  readonly doubt: DoubtedPause | null;
  /** What was throttled and has not been answered since. */
  readonly resting: readonly Resting[];
  /** Throttled pauses and failed connections in a row: each makes the next pause longer. */
  readonly throttles: number;
  readonly misses: number;
  /** The rate at which the service last throttled; null: it never did, so the ceiling counts. */
  readonly limit: number | null;
  /** Whether that limit was met, or only guessed from the little that passed when everything was throttled. */
  readonly limit_is: 'met' | 'guessed';
  /** When the service last pushed back in earnest: a throttle that strays don't explain; 0: never. */
  readonly pressed_at: number;
  /** When the rate was last cut, to what, and how long it has grown since. */
  readonly cut_at: number;
  readonly cut_to: number;
  readonly grown_ms: number;
  /** The calls that passed, the time they took and the pauses in it, all decaying: the delivered rate. */
  readonly delivered: { readonly calls: number; readonly ms: number; readonly paused_ms: number };
  /**
   * The shares of throttled calls among about the last twenty, and the last hundred since the limit was derived from
   * the delivered rate.
   */
  readonly throttled: { readonly lately: number; readonly lastingly: number };
  /**
   * Calls well below the limit, and how many of them were throttled, which the limit cannot explain; and the same near
   * it. All decay.
   */
  readonly below: Tally;
  readonly near: Tally;
  /** When the last outcome was, and when the last call was sent that was answered; 0: none was. */
  readonly heard_at: number;
  readonly answered_at: number;
  readonly unreachable_since: number | null;
}

export interface Tally {
  readonly calls: number;
  readonly throttled: number;
}

/** A product, by its id, or a list, by its path, that was throttled and not answered since: no call about it before `until`. */
export interface Resting {
  readonly subject: number | string;
  /** Throttled calls in a row, where those that were under way together count as one, and when the first of them was. */
  readonly times: number;
  readonly since: number;
  readonly until: number;
  /** 1: others were answered meanwhile, so the throttle is its own. */
  readonly alone: 0 | 1;
}

/** A long pause that may be meant for one product only. Others try whether it is, one call at a time. */
export interface DoubtedPause {
  /** Path of the call that was throttled: the service profile's, without a product's id. */
  readonly path: string;
  readonly tries: number;
  readonly tried_at: number;
}

/** The least rate: one call in twenty seconds, however often the service throttles. */
const floor = 1 / 20;
/** A start at which nothing is known: no faster than this share of the ceiling, or so many calls. A limit far below the ceiling is met gently. */
const start = { share: 0.1, calls: 30 };
/** The longest that a Retry-After is obeyed. */
export const longestWaitMs = 60 * 60 * 1000;
/** The longest by which chance lengthens a pause. */
const longestMoreMs = 90_000;
/** Longer than any pause we set ourselves (an hour and a minute and a half): such an instant comes from a clock that was wrong. */
const longestPauseMs = longestWaitMs + longestMoreMs;

export const nothing: Tally = { calls: 0, throttled: 0 };

/**
 * Returns a new budget, which starts at half the ceiling or slower: the service's limit is not known, and finding it
 * must not hurt.
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

/** What was stored by this program, or by an earlier one, which noted no limit; null: neither. */
export function storedBudget(stored: Readonly<Record<string, unknown>>): Budget | null {
  const number = (name: string) => (Number.isFinite(stored[name]) ? (stored[name] as number) : null);
  const [rate, ceiling, not_before] = ['rate', 'ceiling', 'not_before'].map(number);
  if (rate == null || ceiling == null || not_before == null || rate <= 0 || ceiling <= 0) return null;
  const fresh = startBudget(ceiling, number('heard_at') ?? number('clean_since') ?? 0);
  const known = Object.entries(fresh).map(([name, usual]) => {
    const value = stored[name];
    return [name, value === null || typeof value !== typeof usual ? usual : value];
  });
  // What the earlier program noted of a pause it held for the service's.
  const told_until = number('told_until') ?? not_before;
  const budget = { ...fresh, ...Object.fromEntries(known), cut_to: number('cut_to') ?? rate, told_until } as Budget;
  return { ...budget, limit: number('limit'), unreachable_since: number('unreachable_since') };
}

/**
 * Returns what an earlier process had learned, under the current ceiling: the rate, the limit and a pause. Whether the
 * service is reachable shows again, and a pause for that is over.
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

/** Returns a pause that `chance` in [0, 1) makes up to a tenth longer, and by a minute and a half at most. */
export function lengthened(wait: number, chance: number): number {
  return wait + chance * Math.min(0.1 * wait, longestMoreMs);
}

/** Returns the slowest rate under a ceiling. */
export function lowest(ceiling: number): number {
  return Math.min(floor, ceiling);
}

/**
 * Returns how long the pause still lasts, in milliseconds. An instant further ahead than any pause can be counts as
 * absent.
 */
export function pauseLeft({ not_before }: Pick<Budget, 'not_before'>, now: number): number {
  return not_before > now + longestPauseMs ? 0 : Math.max(0, not_before - now);
}
