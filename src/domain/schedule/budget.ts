/*
 * The call budget: calls a second, learned between a floor and the configured ceiling. Pure functions of the state, an
 * outcome and `now` (reliability.md section 3, "Rate"). Instants are epoch milliseconds, so that they can be stored.
 */

import { triggeredShare } from './lanes.ts';

export interface Budget {
  /** Calls a second. */
  readonly rate: number;
  readonly ceiling: number;
  /** No call may start before this instant. */
  readonly not_before: number;
  /** The end of the last pause that the service itself asked for; other pauses are our own. */
  readonly told_until: number;
  /** Throttled pauses and failed connections in a row: each makes the next pause longer. */
  readonly throttles: number;
  readonly misses: number;
  /** The rate at which the service last throttled; null: it never did, so the ceiling counts. */
  readonly limit: number | null;
  /** Whether that limit was met, or only guessed from the little that passed when everything was throttled. */
  readonly limit_is: 'met' | 'guessed';
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
  /** When the last outcome was. */
  readonly heard_at: number;
  readonly unreachable_since: number | null;
}

interface Tally {
  readonly calls: number;
  readonly throttled: number;
}

/** The least rate: one call in twenty seconds, however often the service throttles. */
const floor = 1 / 20;
/** A start at which nothing is known: no faster than this share of the ceiling, or so many calls. A limit far below the ceiling is met gently. */
const start = { share: 0.1, calls: 30 };
/** What the rate is cut to: of the limit after a single throttle, of what was delivered after many together, and then once in five seconds. */
const cut = { single: 0.85, many: 0.7, apartMs: 5_000 };
/** From the start to the ceiling; and from a cut back to the limit, in time and in calls at the limit, whichever is longer, but no longer than `latestMs`. */
const growth = { firstMs: 15_000, backMs: 1_000, backCalls: 30, latestMs: 20_000 };
/**
 * How the limit moves, as shares of itself: up by the call and at least by the second, down with each throttle near it
 * that strays don't explain. A real limit is so met once in `down / upByCall` calls, whatever strays there are.
 */
const drift = {
  upByCall: 0.00008,
  upBySecond: 0.0002,
  guessedByCall: 0.0002,
  guessedBySecond: 0.02,
  strayTimes: 12,
  down: 0.03,
  downGuessed: 0.06,
};
/** Without a throttle for so long (and so many calls) after it was back, the rate probes upwards, faster and faster. */
const probe = { afterMs: 30_000, afterCalls: 800, latestMs: 300_000, share: 0.15, everyMs: 20_000 };
/** Shares of throttled calls above which the limit is what was delivered: it has moved, or was not known. From `soon` on a second throttle came soon after. */
const many = { lately: 0.22, lastingly: 0.08, soon: 0.07 };
/** Below this share of the limit a throttle isn't the limit's. */
const wellBelow = 0.95;
/** So few calls well below the limit prove little: as many more count as let through. */
const doubt = 20;
/** Fewer throttles there are no strays. */
const few = 1.5;
/** After so many calls near a limit it was held. */
const held = 10;
const memory = { lately: 20, lastingly: 100, below: 3_000, near: 1_000, deliveredMs: 5_000, deliveredCalls: 10 };
const pause = {
  throttled: { single: 500, singleCalls: 10, first: 1_000, longest: 60_000 },
  unreachable: { first: 1_000, longest: 120_000 },
};
/** The longest that a Retry-After is obeyed. */
const longestWaitMs = 60 * 60 * 1000;
/** Longer than any pause we set ourselves (an hour and a tenth): such an instant comes from a clock that was wrong. */
const longestPauseMs = 1.1 * longestWaitMs;
/** Two outcomes further apart have nothing to do with each other. */
const longestGapMs = 60_000;

const nothing: Tally = { calls: 0, throttled: 0 };

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
    throttles: 0,
    misses: 0,
    limit: null,
    limit_is: 'guessed',
    cut_at: 0,
    cut_to: rate,
    grown_ms: 0,
    delivered: { calls: 0, ms: 0, paused_ms: 0 },
    throttled: { lately: 0, lastingly: 0 },
    below: nothing,
    near: nothing,
    heard_at: now,
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
    not_before: learned.unreachable_since === null ? learned.not_before : learned.told_until,
    unreachable_since: null,
  };
}

/**
 * An answer came, to a call sent at `sent_at`, that was neither a throttle nor a lost connection. `demand` says whether the
 * call had to wait for its turn: what nobody asks for proves nothing, so beyond the last limit the rate grows only with a demand.
 */
export function afterAnswer(before: Budget, demand: 'waiting' | 'none', now: number, sent_at = now): Budget {
  const budget = { ...heard(before, 'answer', demand, now, sent_at), misses: 0, unreachable_since: null };
  // Asked before the throttle came: it says nothing about now.
  if (pauseLeft(before, now) > 0) return budget;
  // A pause that counts as absent must not come back when the clock has caught up with it.
  return { ...grown(budget, demand, sinceHeard(before, now)), throttles: 0, not_before: 0, told_until: 0 };
}

/**
 * Called when the service throttled a call sent at `sent_at`: the rate is cut unless that call is older than the last
 * cut, and a pause lasts until `until`, or where it did not say, of half a second at most, then of one, two, four … up
 * to a minute. `chance` in [0, 1) makes the pause up to a tenth longer.
 */
export function afterThrottle(
  before: Budget,
  until: number | null,
  chance: number,
  now: number,
  sent_at = now,
): Budget {
  const left = pauseLeft(before, now);
  const budget = heard(before, 'throttled', 'none', now, sent_at);
  // Calls in flight when the pause began are throttled with it: they are no sign that it was too short.
  const again = budget.throttles > 0 && (left > 0 || (sent_at < budget.cut_at && budget.cut_at <= now));
  const cuts = !again && isCut(budget, now);
  const next = cuts ? reduced(budget, now) : again ? reducedFurther(budget) : budget;
  const wait = until === null ? ownPause(next, cuts, again) : asked(next, until - now);
  const not_before = now + Math.max(left, wait * (1 + 0.1 * chance));
  return {
    ...next,
    throttles: again ? budget.throttles : budget.throttles + 1,
    misses: 0,
    not_before,
    told_until: until === null ? budget.told_until : not_before,
    unreachable_since: null,
  };
}

/** Returns the pause asked for: a Retry-After of zero still means at least the gap of the cut rate. */
function asked({ rate }: Budget, wait: number): number {
  return Math.max(Math.min(wait, longestWaitMs), 1000 / rate);
}

/** Half a second at most for the first throttle after answers; a second one between two cuts needs none while it stays alone. */
function ownPause(budget: Budget, cuts: boolean, again: boolean): number {
  const { rate, throttles } = budget;
  if (again) return 0;
  const { single, singleCalls, first, longest } = pause.throttled;
  if (throttles > 0) return Math.min(first * 2 ** (throttles - 1), longest);
  if (isCrowd(budget)) return first;
  if (!cuts) return 0;
  return Math.max(Math.min(single, (1000 * singleCalls) / rate) * realShare(budget), 1000 / rate);
}

/** Near the limit each throttle cuts the rate; below, on the way back, only many together, once in five seconds. */
function isCut(budget: Budget, now: number): boolean {
  const apart = now < budget.cut_at || now - budget.cut_at >= cut.apartMs;
  return isBack(budget) || (isCrowd(budget) ? apart : budget.throttled.lately >= many.soon && realShare(budget) > 0.5);
}

/** Returns the rate after a cut, and the limit as it is believed from now on. */
function reduced(budget: Budget, now: number): Budget {
  const crowd = isCrowd(budget);
  const met = crowd
    ? { limit: deliveredToCrowd(budget), limit_is: 'guessed' as const, near: nothing }
    : limitAfter(budget);
  const limit = Math.max(met.limit, lowest(budget.ceiling));
  const rate = Math.max(limit * (crowd ? cut.many : cut.single), lowest(budget.ceiling));
  const throttled = crowd ? { ...budget.throttled, lastingly: 0 } : budget.throttled;
  return { ...budget, ...met, limit, rate, throttled, cut_at: now, cut_to: rate, grown_ms: 0 };
}

/** Returns what a single throttle near the limit says of it: the first one, that there may be one. */
function limitAfter(budget: Budget): Pick<Budget, 'limit_is' | 'below'> & { limit: number } {
  const { limit, limit_is, rate, below } = budget;
  const real = realShare(budget);
  if (limit === null) return { limit: rate * (1 - drift.down * real), limit_is: 'guessed', below };
  const down = limit_is === 'guessed' ? drift.downGuessed : drift.down;
  const is = { limit_is: real > 0.5 ? ('met' as const) : limit_is };
  if (isBack(budget))
    return { ...is, limit: Math.max(Math.min(limit, rate), deliveredRate(budget)) * (1 - down * real), below };
  // A second one soon after, on the way back: the limit is no higher than that, which explains it while no limit was held yet.
  const throttled = budget.near.calls < held ? Math.max(0, below.throttled - 1) : below.throttled;
  return { ...is, limit: (limit - (limit - rate) * real) * (1 - down * real), below: { ...below, throttled } };
}

/** Returns what was let through where many were throttled: of nearly all in whole seconds, of a few beside the rate. */
function deliveredToCrowd(budget: Budget): number {
  const { rate, throttled } = budget;
  if (throttled.lately >= many.lately) return Math.min(rate, deliveredWithPauses(budget));
  return rate * (1 - throttled.lastingly);
}

/** Returns what the service has let through lately, in calls a second; never more than was allowed. */
function deliveredRate({ delivered, rate }: Budget): number {
  return delivered.ms === 0 ? rate / 2 : Math.min(rate, (1000 * delivered.calls) / delivered.ms);
}

/** Of the throttles near the limit, the share that strays don't explain: as many of the calls below the limit met one. */
function realShare(budget: Budget): number {
  const { near } = budget;
  if (near.throttled === 0) return 1;
  const strays = near.calls * strayShare(budget);
  // As many more as chance may bring.
  return Math.max(0, 1 - (strays + Math.sqrt(strays) / 2) / near.throttled);
}

/** Returns the share of calls throttled for no reason: well below the limit, and more than once. */
function strayShare({ below }: Budget): number {
  return below.throttled < few ? 0 : below.throttled / (below.calls + doubt);
}

/** A cut whose first throttle seemed to be a single one, when the others of its burst have come. */
function reducedFurther(budget: Budget): Budget {
  if (!isCrowd(budget)) return budget;
  const delivered = deliveredToCrowd(budget);
  const rate = Math.max(Math.min(budget.rate, delivered * cut.many), lowest(budget.ceiling));
  const limit = Math.max(Math.min(budget.limit ?? delivered, delivered), lowest(budget.ceiling));
  return { ...budget, rate, cut_to: rate, limit, limit_is: 'guessed', near: nothing };
}

function isCrowd(budget: Budget): boolean {
  const { lately, lastingly } = budget.throttled;
  return lately >= many.lately || lastingly >= many.lastingly + strayShare(budget);
}

/** The same in a whole second at least, its pauses included: a service that counts by the second lets a burst through first. */
function deliveredWithPauses({ delivered: { calls, ms, paused_ms } }: Budget): number {
  return (1000 * calls) / Math.max(1000, ms + paused_ms);
}

/**
 * Returns the rate after `ms` more without a throttle: fast to just under the last limit, slow around it, then probing
 * above.
 */
function grown(budget: Budget, demand: 'waiting' | 'none', ms: number): Budget {
  const { ceiling, cut_to } = budget;
  if (budget.limit === null) {
    const grown_ms = Math.min(budget.grown_ms + ms, growth.firstMs);
    const share = grown_ms / growth.firstMs;
    return { ...budget, grown_ms, rate: share === 1 ? ceiling : cut_to * (ceiling / cut_to) ** share };
  }
  const backMs = backAfter(budget.limit);
  const before = budget.grown_ms;
  const grown_ms = demand === 'waiting' ? before + ms : Math.max(before, Math.min(before + ms, backMs));
  const limit =
    Math.min(ceiling, budget.limit) *
    (1 + (upBySecond(budget, budget.limit) * Math.max(0, grown_ms - Math.max(before, backMs))) / 1000);
  const rate = Math.max(rateAfter({ ...budget, limit, grown_ms }), lowest(ceiling));
  // Nothing was throttled at the ceiling: that is no limit of the service.
  if (rate >= ceiling && grown_ms > backMs + staysAfter(limit))
    return { ...budget, rate: ceiling, limit: null, limit_is: 'guessed', cut_to: ceiling, grown_ms: 0 };
  return { ...budget, rate: Math.min(rate, ceiling), limit, grown_ms };
}

/** A limit that was only guessed is soon known better, and one that nothing but strays speak for is left behind. */
function upBySecond(budget: Budget, limit: number): number {
  if (budget.limit_is === 'guessed') return Math.max(drift.guessedByCall * limit, drift.guessedBySecond);
  const times = realShare(budget) === 0 ? drift.strayTimes : 1;
  return times * Math.max(drift.upByCall * limit, drift.upBySecond);
}

function backAfter(limit: number): number {
  return Math.min(Math.max(growth.backMs, (1000 * growth.backCalls) / limit), growth.latestMs);
}

/** Tells whether the rate has come back to the limit since it was cut. */
function isBack({ limit, grown_ms }: Budget): boolean {
  return limit === null || grown_ms >= backAfter(limit);
}

/** Returns how long a rate that came back to a limit stays around it. */
function staysAfter(limit: number): number {
  return Math.min(Math.max(probe.afterMs, (1000 * probe.afterCalls) / limit), probe.latestMs);
}

function rateAfter({ grown_ms, limit, limit_is, cut_to }: Budget & { limit: number }): number {
  const backMs = backAfter(limit);
  if (grown_ms < backMs) return limit - Math.max(0, limit - cut_to) * (1 - (grown_ms / backMs) ** 3);
  const over = grown_ms - backMs - (limit_is === 'guessed' ? 0 : staysAfter(limit));
  return over <= 0 ? limit : limit * (1 + probe.share * (over / probe.everyMs) ** 3);
}

/** Returns how long nothing was heard, pauses left out. A clock that was set either way says nothing. */
function sinceHeard({ heard_at, not_before }: Budget, now: number): number {
  const from = not_before > heard_at && not_before <= now ? not_before : heard_at;
  return Math.min(Math.max(0, now - from), longestGapMs);
}

/** What is counted of every outcome. */
function heard(
  budget: Budget,
  outcome: 'answer' | 'throttled',
  demand: 'waiting' | 'none',
  now: number,
  sent_at: number,
): Budget {
  const passed = sinceHeard(budget, now);
  const paused_ms = Math.min(Math.max(0, now - budget.heard_at), longestGapMs) - passed;
  // Time in which nobody asked says nothing about what would have been let through.
  const ms = demand === 'waiting' ? passed : Math.min(passed, 1000 / budget.rate);
  const lasts = Math.max(memory.deliveredMs, (1000 * memory.deliveredCalls) / budget.rate);
  const kept = Math.exp(-(ms + paused_ms) / lasts);
  const { delivered, throttled, below, near, rate, limit } = budget;
  const hit = outcome === 'throttled' ? 1 : 0;
  const towards = (share: number, calls: number) => share + (hit - share) / calls;
  const counted = ({ calls, throttled }: Tally, lasts: number) => {
    const fades = 1 - 1 / lasts;
    return { calls: calls * fades + 1, throttled: throttled * fades + hit };
  };
  // What was sent before the last cut belongs to the throttle that made it.
  const since = limit !== null && sent_at > budget.cut_at;
  const isBelow = since && rate < wellBelow * limit;
  return {
    ...budget,
    heard_at: now,
    delivered: {
      calls: delivered.calls * kept + 1 - hit,
      ms: delivered.ms * kept + ms,
      paused_ms: delivered.paused_ms * kept + paused_ms,
    },
    throttled: {
      lately: towards(throttled.lately, memory.lately),
      lastingly: towards(throttled.lastingly, memory.lastingly),
    },
    below: isBelow ? counted(below, memory.below) : below,
    near: since && isBack(budget) ? counted(near, memory.near) : near,
  };
}

function lowest(ceiling: number): number {
  return Math.min(floor, ceiling);
}

/**
 * No connection: nobody calls for a second, then for longer and longer, up to two minutes (and up to a tenth more by
 * `chance`), until any answer comes.
 */
export function afterMiss(budget: Budget, chance: number, now: number): Budget {
  const since = budget.unreachable_since;
  const missed = { ...budget, heard_at: now, unreachable_since: since === null || since > now ? now : since };
  // Sent before the pause began: one outage is one miss.
  if (pauseLeft(budget, now) > 0) return missed;
  const wait = Math.min(pause.unreachable.first * 2 ** budget.misses, pause.unreachable.longest);
  return { ...missed, misses: budget.misses + 1, not_before: now + wait * (1 + 0.1 * chance) };
}

/**
 * Returns how long the pause still lasts, in milliseconds. An instant further ahead than any pause can be counts as
 * absent.
 */
export function pauseLeft({ not_before }: Pick<Budget, 'not_before'>, now: number): number {
  return not_before > now + longestPauseMs ? 0 : Math.max(0, not_before - now);
}

/**
 * Returns how many calls may start at once after a rest: a tenth of a second's worth, which makes up for late timers,
 * but never more than can be in flight. With ten calls a second or fewer that is one: a limit counted by the second is
 * not met by a burst at its edge.
 */
export function burst({ rate }: Pick<Budget, 'rate'>, concurrency: number): number {
  return Math.max(1, Math.min(rate / 10, concurrency));
}

/**
 * Returns how long until a call may start that is due at `due`, in milliseconds on the clock of `due` and `now`; 0: at
 * once.
 */
export function turnIn(budget: Pick<Budget, 'rate'>, concurrency: number, due: number, now: number): number {
  return Math.max(0, due - credit(budget, concurrency) - now);
}

/**
 * Returns when the next call is due if one starts at `now`. In any second at most the rate and one burst of them start.
 */
export function dueAfter(budget: Pick<Budget, 'rate'>, due: number, now: number): number {
  return Math.max(due, now) + 1000 / budget.rate;
}

/** So many triggered calls may start at once after a rest: all of one product's. */
const triggeredBurst = 8;

/** Returns how long until a triggered call may start, as `turnIn`: they have a share of the rate and no more. */
export function triggeredTurnIn(budget: Pick<Budget, 'rate'>, due: number, now: number): number {
  return Math.max(0, due - ((triggeredBurst - 1) * 1000) / (budget.rate * triggeredShare) - now);
}

/** Returns when the next triggered call is due if one starts at `now`, like `dueAfter`. */
export function triggeredDueAfter(budget: Pick<Budget, 'rate'>, due: number, now: number): number {
  return Math.max(due, now) + 1000 / (budget.rate * triggeredShare);
}

function credit(budget: Pick<Budget, 'rate'>, concurrency: number): number {
  return ((burst(budget, concurrency) - 1) * 1000) / budget.rate;
}
