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
  /** The end of the last pause that the service itself asked for; every other pause is our own. */
  readonly told_until: number;
  /** Throttled pauses in a row, and failed connections in a row: each makes the next pause longer. */
  readonly throttles: number;
  readonly misses: number;
  /** Calls a second at which the service last throttled; null: it never did, and the ceiling counts. */
  readonly limit: number | null;
  /** Whether that is where it was met, or only what little was let through when everything was throttled. */
  readonly limit_is: 'met' | 'guessed';
  /** When the rate was last cut and to what, and for how long it has been growing since. */
  readonly cut_at: number;
  readonly cut_to: number;
  /** What was delivered before that cut: a throttle well below it is a stray one. */
  readonly proved: number;
  readonly grown_ms: number;
  /** Calls let through, the time that took, and the pauses in it, all fading: what the service delivers. */
  readonly delivered: { readonly calls: number; readonly ms: number; readonly paused_ms: number };
  /** The shares of throttled calls among about the last twenty, and the last thousand. */
  readonly throttled: { readonly lately: number; readonly lastingly: number };
  /** Calls at a rate well below what was delivered before, and how many of them were throttled: for no reason. Both fade. */
  readonly below: { readonly calls: number; readonly throttled: number };
  /** The last outcome. */
  readonly heard_at: number;
  readonly unreachable_since: number | null;
}

/** One call in twenty seconds, however often the service says "less". */
const floor = 1 / 20;
/** What the rate is cut to, of what was delivered: after a single throttle, and after many together. At most once in five seconds. */
const cut = { single: 0.85, many: 0.7, apartMs: 5_000 };
/** From the start to the ceiling; from a cut back to the last limit; and the same where throttles are stray ones. */
const growth = { firstMs: 15_000, backMs: 20_000, strayMs: 1_000 };
/** How the limit moves, as shares of itself: up by the second, and down with each throttle met near it. A real one is met about once a minute. */
const drift = { up: 0.0002, upStray: 0.001, upGuessed: 0.003, down: 0.01 };
/** Nearer to the limit than this a throttle may be the limit's; below, it is a stray one. */
const near = { limit: 0.95, proved: 0.92 };
/** Without a throttle for so long (and so many calls) after it was back, the rate probes upwards, faster and faster. */
const probe = { afterMs: 30_000, afterCalls: 200, latestMs: 300_000, share: 0.15, everyMs: 20_000 };
/** Shares of throttled calls above which the limit is what was delivered: it has moved, or was not known. */
const many = { lately: 0.22, lastingly: 0.02, most: 0.03 };
/** Throttles come for no reason where so large a share of the calls well below the limit met one, also beside all calls: the limit stays. */
const stray = 1.9;
const memory = { lately: 20, lastingly: 1_000, below: 3_000, deliveredMs: 5_000, deliveredCalls: 10 };
const pause = {
  throttled: { single: 500, first: 1_000, longest: 60_000 },
  unreachable: { first: 1_000, longest: 120_000 },
};
/** The longest that a Retry-After is obeyed. */
const longestWaitMs = 60 * 60 * 1000;
/** Longer than any pause we set ourselves (an hour and a tenth): such an instant comes from a clock that was wrong. */
const longestPauseMs = 1.1 * longestWaitMs;
/** Two outcomes further apart have nothing to do with each other. */
const longestGapMs = 60_000;

/** A new budget starts at half the ceiling: the service's limit is not known, and finding it must not hurt. */
export function startBudget(ceiling: number, now: number): Budget {
  const rate = Math.max(ceiling / 2, lowest(ceiling));
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
    proved: 0,
    grown_ms: 0,
    delivered: { calls: 0, ms: 0, paused_ms: 0 },
    throttled: { lately: 0, lastingly: 0 },
    below: { calls: 0, throttled: 0 },
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
 * What an earlier process had learned, under the ceiling of today: the rate, the limit and a pause. Whether the service
 * is reachable shows anew, and a pause for that is over.
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
 * An answer came that was neither a throttle nor a lost connection. `demand` says whether the call had to wait for its
 * turn: what nobody asks for proves nothing, so beyond the last limit the rate grows only with a demand.
 */
export function afterAnswer(before: Budget, demand: 'waiting' | 'none', now: number): Budget {
  const budget = { ...heard(before, 'answer', demand, now), misses: 0, unreachable_since: null };
  // Asked before the throttle came: it says nothing about now.
  if (pauseLeft(before, now) > 0) return budget;
  // A pause that counts as absent must not come back when the clock has caught up with it.
  return { ...grown(budget, demand, sinceHeard(before, now)), throttles: 0, not_before: 0, told_until: 0 };
}

/**
 * The service asked for less: the rate is cut, at most once in five seconds, and a pause lasts until `until`, or where it
 * did not say, of half a second, of one, two, four … up to a minute. `chance` in [0, 1) makes the pause up to a tenth longer.
 */
export function afterThrottle(before: Budget, until: number | null, chance: number, now: number): Budget {
  const left = pauseLeft(before, now);
  const budget = heard(before, 'throttled', 'none', now);
  const cuts = now < budget.cut_at || now - budget.cut_at >= cut.apartMs;
  // Calls in flight when the pause began are throttled with it: they are no sign that it was too short.
  const again = left > 0 && budget.throttles > 0;
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

/** A Retry-After of zero still means "less": at least the gap that the cut rate asks for. */
function asked({ rate }: Budget, wait: number): number {
  return Math.max(Math.min(wait, longestWaitMs), 1000 / rate);
}

/** Half a second for the first throttle after answers; a second one between two cuts needs none while it stays alone. */
function ownPause(budget: Budget, cuts: boolean, again: boolean): number {
  const { rate, throttles, throttled } = budget;
  if (again) return 0;
  const { single, first, longest } = pause.throttled;
  if (throttles > 0) return Math.min(first * 2 ** (throttles - 1), longest);
  if (throttled.lately >= many.lately) return first;
  if (!cuts) return 0;
  return isStray(budget) ? 1000 / rate : Math.max(single, 1000 / rate);
}

/** The rate after a cut, and the limit as it is believed from now on. */
function reduced(budget: Budget, now: number): Budget {
  const { ceiling } = budget;
  const crowd = isCrowd(budget);
  const surely = Math.min(budget.rate, deliveredWithPauses(budget));
  const delivered = crowd ? surely : deliveredRate(budget);
  const met = limitAfter(budget, surely);
  const rate = Math.max(delivered * (crowd ? cut.many : cut.single), lowest(ceiling));
  return {
    ...budget,
    rate,
    limit: Math.max(met.limit, lowest(ceiling)),
    limit_is: met.limit_is,
    cut_at: now,
    cut_to: rate,
    proved: provedRate(budget),
    grown_ms: 0,
    throttled: met.moved ? { ...budget.throttled, lastingly: 0 } : budget.throttled,
    below: met.moved ? { calls: 0, throttled: 0 } : budget.below,
  };
}

/** What a throttle says of the limit, beside what was delivered until then. */
function limitAfter(budget: Budget, delivered: number): Pick<Budget, 'limit_is'> & { limit: number; moved: boolean } {
  const { limit, limit_is, rate, throttled } = budget;
  if (limit === null) return { limit: rate, limit_is: 'guessed', moved: true };
  if (isCrowd(budget)) return { limit: delivered, limit_is: 'guessed', moved: true };
  if (throttled.lastingly >= Math.min(many.most, many.lastingly + strayShare(budget)))
    return { limit: delivered, limit_is: 'met', moved: true };
  if (isStray(budget)) return { limit, limit_is, moved: false };
  if (limit_is === 'guessed') return { limit: delivered, limit_is: 'met', moved: true };
  if (rate < near.limit * limit) return { limit, limit_is, moved: false };
  return { limit: Math.max(limit, delivered) * (1 - drift.down), limit_is: 'met', moved: false };
}

/** What was surely let through: where pauses are a large part of the time, a service that counts by the second let bursts through. */
function provedRate(budget: Budget): number {
  const { ms, paused_ms } = budget.delivered;
  return isCrowd(budget) || paused_ms > 0.2 * ms ? 0 : Math.min(budget.rate, deliveredWithPauses(budget));
}

/** Throttles come where the service has let through more before: they say nothing about its limit. */
function isStray(budget: Budget): boolean {
  return budget.below.throttled >= stray && budget.throttled.lastingly < many.most;
}

function strayShare({ below }: Budget): number {
  return below.calls === 0 ? 0 : below.throttled / below.calls;
}

/** A cut whose first throttle seemed to be a single one, when the others of its burst have come. */
function reducedFurther(budget: Budget): Budget {
  if (!isCrowd(budget)) return budget;
  const delivered = deliveredWithPauses(budget);
  const rate = Math.max(Math.min(budget.rate, delivered * cut.many), lowest(budget.ceiling));
  const limit = Math.max(Math.min(budget.limit ?? delivered, delivered), lowest(budget.ceiling));
  return { ...budget, rate, cut_to: rate, limit, limit_is: 'guessed' };
}

function isCrowd({ throttled }: Budget): boolean {
  return throttled.lately >= many.lately;
}

/** The same in a whole second at least, its pauses included: a service that counts by the second lets a burst through first. */
function deliveredWithPauses({ delivered: { calls, ms, paused_ms } }: Budget): number {
  return (1000 * calls) / Math.max(1000, ms + paused_ms);
}

/** What the service has let through lately, in calls a second; never more than was allowed. */
function deliveredRate({ delivered, rate }: Budget): number {
  return delivered.ms === 0 ? rate / 2 : Math.min(rate, (1000 * delivered.calls) / delivered.ms);
}

/** The rate after `ms` more without a throttle: fast to just under the last limit, slow around it, then probing above. */
function grown(budget: Budget, demand: 'waiting' | 'none', ms: number): Budget {
  const { ceiling, cut_to } = budget;
  if (budget.limit === null) {
    const grown_ms = Math.min(budget.grown_ms + ms, growth.firstMs);
    const share = grown_ms / growth.firstMs;
    return { ...budget, grown_ms, rate: share === 1 ? ceiling : cut_to + (ceiling - cut_to) * share };
  }
  const backMs = backAfter(budget);
  const before = budget.grown_ms;
  const grown_ms = demand === 'waiting' ? before + ms : Math.max(before, Math.min(before + ms, backMs));
  const by = budget.limit_is === 'guessed' ? drift.upGuessed : isStray(budget) ? drift.upStray : drift.up;
  const up = (by * (grown_ms - before)) / 1000;
  const limit = budget.limit * (1 + up);
  const rate = Math.max(rateAfter({ ...budget, limit, grown_ms }, backMs), lowest(ceiling));
  // Nothing was throttled at the ceiling: that is no limit of the service.
  if (rate >= ceiling && grown_ms > backMs)
    return { ...budget, rate: ceiling, limit: null, limit_is: 'guessed', cut_to: ceiling, grown_ms: 0 };
  return { ...budget, rate: Math.min(rate, ceiling), limit, grown_ms };
}

function backAfter(budget: Budget): number {
  return isStray(budget) ? growth.strayMs : growth.backMs;
}

function rateAfter({ grown_ms, limit, limit_is, cut_to }: Budget & { limit: number }, backMs: number): number {
  if (grown_ms < backMs) return limit - (limit - cut_to) * (1 - grown_ms / backMs) ** 3;
  const stays =
    limit_is === 'guessed' ? 0 : Math.min(Math.max(probe.afterMs, (1000 * probe.afterCalls) / limit), probe.latestMs);
  const over = grown_ms - backMs - stays;
  return over <= 0 ? limit : limit * (1 + probe.share * (over / probe.everyMs) ** 3);
}

/** How long nothing was heard, pauses left out. A clock that was set either way says nothing. */
function sinceHeard({ heard_at, not_before }: Budget, now: number): number {
  const from = not_before > heard_at && not_before <= now ? not_before : heard_at;
  return Math.min(Math.max(0, now - from), longestGapMs);
}

/** What is counted of every outcome. */
function heard(budget: Budget, outcome: 'answer' | 'throttled', demand: 'waiting' | 'none', now: number): Budget {
  const passed = sinceHeard(budget, now);
  const paused_ms = Math.min(Math.max(0, now - budget.heard_at), longestGapMs) - passed;
  // Time in which nobody asked says nothing about what would have been let through.
  const ms = demand === 'waiting' ? passed : Math.min(passed, 1000 / budget.rate);
  const lasts = Math.max(memory.deliveredMs, (1000 * memory.deliveredCalls) / budget.rate);
  const kept = Math.exp(-(ms + paused_ms) / lasts);
  const { delivered, throttled, below } = budget;
  const isBelow = budget.rate < near.proved * budget.proved && throttled.lately < many.lately;
  const fades = 1 - 1 / memory.below;
  const hit = outcome === 'throttled' ? 1 : 0;
  const towards = (share: number, calls: number) => share + (hit - share) / calls;
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
    below: isBelow ? { calls: below.calls * fades + 1, throttled: below.throttled * fades + hit } : below,
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
