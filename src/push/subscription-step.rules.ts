import { dayMs, hourMs, type Instant, instant } from '../kernel/clock.ts';
import { retryAt } from '../service/backoff.rules.ts';
import { type EpochState, newestOf } from './callback-epoch.rules.ts';
import {
  isGone,
  isWorking,
  needsPut,
  type ServiceSubscription,
  type WantedSubscription,
} from './subscription.rules.ts';

/*
 * Decides about one subscription: the next step with its reason, and when to try again. All of it follows from stored
 * facts, so that a kill at any point loses nothing.
 */

/** Everything that decides about the next step, beside what is wanted, what the service has and its addresses. */
export interface StepFacts {
  /** Reason why the last attempt failed. Null: it succeeded, as far as is known, and only a repair has to wait. */
  readonly failure: string | null;
  /** No attempt is made before this instant. */
  readonly not_before: number | null;
  /** Instant of the last accepted PUT, and whether its content equals the wanted one. */
  readonly put_at: number | null;
  readonly put: 'same' | 'other';
  /** Instant of the last PUT to replace an address that is not ours. */
  readonly wrested_at: number | null;
  /** Operations that the service allows. */
  readonly can: { readonly put: boolean; readonly reactivate: boolean };
  /** False: the service lets no subscription be read, so a PUT may be sent without a read. */
  readonly readable: boolean;
  /** True: the service calls an address that is not ours (`isTaken` in push/subscription.ask.ts). */
  readonly taken: boolean;
}

/** Next step of the daemon about one subscription, with its reason. */
export type SubscriptionStep =
  | {
      readonly step: 'nothing';
      readonly reason: 'no-path' | 'not-read' | 'paused' | 'taken-today' | 'put-today' | 'as-declared';
    }
  | { readonly step: 'put'; readonly reason: 'differs' | 'missing' | 'cancelled' | 'rotation' | 'taken' }
  | { readonly step: 'rotate' }
  /** The service already calls the newest address. */
  | { readonly step: 'announced' }
  /** After testing the public address: see `afterSelfTest`. */
  | { readonly step: 'repair'; readonly action: 'reactivate' | 'put' };

/** Returns the next step. The most urgent one comes first. */
export function subscriptionStep(
  wanted: WantedSubscription,
  held: ServiceSubscription | null,
  epochs: readonly EpochState[],
  facts: StepFacts,
  { rotate_every, now }: { readonly rotate_every: number; readonly now: number },
): SubscriptionStep {
  const { can, failure, put_at, wrested_at } = facts;
  const paused = isPause(facts.not_before, now);
  const newest = newestOf(epochs);
  const rotating = newest !== null && newest.announced_at === null;
  if (!can.put) return { step: 'nothing', reason: 'no-path' };
  // A PUT without a read could overwrite another party's subscription.
  if (held === null && facts.readable) return { step: 'nothing', reason: 'not-read' };
  if (failure !== null && paused) return { step: 'nothing', reason: 'paused' };
  // Two programs could overwrite each other forever, so only one PUT a day, and a condition.
  if (facts.taken)
    return isWithinDay(wrested_at, now) ? { step: 'nothing', reason: 'taken-today' } : { step: 'put', reason: 'taken' };
  if (isGone(held)) return paused ? { step: 'nothing', reason: 'paused' } : { step: 'put', reason: held.status };
  // The new address is accepted already. Once the service knows it, the old one is accepted for the grace period.
  if (rotating && held?.address !== 'current') return { step: 'put', reason: 'rotation' };
  // A service may change the content of a PUT, so a read that shows another list does not repeat it within a day.
  const repeated = facts.put === 'same' && held?.address === 'current' && isWithinDay(put_at, now);
  const differs = needsPut(wanted, held);
  if (differs && !repeated) return { step: 'put', reason: 'differs' };
  // It is an assumption that a PUT revives a degraded one.
  const broken = held !== null && !isWorking(held.status);
  if (broken && !paused) return { step: 'repair', action: can.reactivate ? 'reactivate' : 'put' };
  if (rotating) return { step: 'announced' };
  const rotates = newest?.announced_at == null || newest.announced_at + rotate_every <= now;
  if (rotates && held !== null) return { step: 'rotate' };
  return { step: 'nothing', reason: broken ? 'paused' : differs ? 'put-today' : 'as-declared' };
}

/** Longer than any pause of ours: such a pause means that the clock was set back. */
const longestPauseMs = 25 * hourMs;

function isPause(not_before: number | null, now: number): boolean {
  return not_before !== null && not_before > now && not_before - now < longestPauseMs;
}

/** Returns whether an instant lies within the last day. */
export function isWithinDay(at: number | null, now: number): boolean {
  return at !== null && at <= now && now - at < dayMs;
}

/**
 * Number of failed self-tests in a row after which a repair is attempted anyway: not every network lets us reach our
 * own public address.
 */
const selfTestsBelieved = 3;

/**
 * Decides whether to go on after a self-test: while the address does not answer, a revived subscription breaks again.
 */
export function afterSelfTest(self_test: 'passed' | 'failed', failures: number): 'go' | 'wait' {
  return self_test === 'failed' && failures < selfTestsBelieved ? 'wait' : 'go';
}

/**
 * Stored reason why an attempt to change a subscription failed: the service refused (`missing`: it has none with this
 * id), throttled, was unreachable or gave no usable answer, or our own public address did not answer.
 */
export type AttemptFailure = 'refused' | 'missing' | 'throttled' | 'unreachable' | 'failed' | 'self-test';

/** Number of failures in a row after which a person is notified. */
const failuresTold = 3;

/**
 * Returns whether a person should know about a failed attempt: at once about a refusal, because the service would
 * repeat it.
 */
export function isWorthTelling(failure: AttemptFailure | null, failures: number): boolean {
  if (failure === null) return false;
  return failure === 'refused' || failure === 'missing' || failures >= failuresTold;
}

/** Returns whether a failure is nobody's fault: the service throttled or was unreachable. */
export function isBlameless(failure: AttemptFailure): boolean {
  return failure === 'throttled' || failure === 'unreachable';
}

/** The pause in milliseconds after the service was busy or unreachable. */
const pauseMs = 60_000;

/** The earliest instant of the next attempt, and the number of failed ones in a row before it. */
export interface NextAttempt {
  readonly failures: number;
  readonly not_before: Instant;
}

/** Decides when to repeat a change or a read that has failed after `failures` failed ones. */
export function afterFailure(
  failure: AttemptFailure,
  failures: number,
  chance: () => number,
  now: number,
): NextAttempt {
  return isBlameless(failure) ? { failures, not_before: instant(now + pauseMs) } : later(failures + 1, chance, now);
}

function later(failures: number, chance: () => number, now: number): NextAttempt {
  return { failures, not_before: instant(retryAt(failures, chance(), now)) };
}

/** The stored facts of a subscription and of the attempts to change it. */
export interface BeforeAttempt {
  readonly status: string | null;
  readonly put_at: number | null;
  readonly tried_at: Instant | null;
  /** Failed attempts in a row. */
  readonly failures: number;
  readonly failure: string | null;
  readonly not_before: Instant | null;
}

/**
 * Returns the state after an attempt that seems to have worked. After an attempt to revive a subscription, the failure
 * count stays until the subscription has proven itself: if it breaks again, the next attempt comes later.
 */
export function afterSuccess(before: BeforeAttempt | null, chance: () => number, now: Instant) {
  const fresh = { at: now, failures: 0, failure: null, not_before: null };
  if (before === null || before.status === null || before.put_at === null) return fresh;
  const { failures, failure, not_before, tried_at } = before;
  if (!isWorking(before.status)) return { ...fresh, ...later(failures + 1, chance, now) };
  return failures > 0 && failure === null ? { at: tried_at ?? now, failures, failure, not_before } : fresh;
}

/**
 * A read this many milliseconds after an attempt proves that it worked: a subscription that breaks again does so within
 * minutes.
 */
const provenAfterMs = 30 * 60_000;

/** Returns whether a read shows, long enough after an attempt, that the subscription works. */
export function isProven(row: BeforeAttempt & { readonly differences: readonly string[] }, now: number): boolean {
  const tried_at = row.tried_at ?? 0;
  if (row.failures === 0 || !isWorking(row.status)) return false;
  // A failure that did not break the subscription is over when nothing differs.
  if (row.failure !== null && row.differences.length > 0) return false;
  return now - tried_at >= provenAfterMs || tried_at > now;
}

/** Returns whether to read a subscription: once an hour, and after a failed read when its pause is over. */
export function isReadDue(
  { checked_at, read_not_before }: { readonly checked_at: number | null; readonly read_not_before: number | null },
  now: number,
): boolean {
  if (isPause(read_not_before, now)) return false;
  return checked_at === null || now - checked_at >= hourMs;
}
