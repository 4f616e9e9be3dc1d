import { type EpochState, rotationStep } from './callback-epoch.ts';
import { type HeldSubscription, isWorking, needsPut, type WantedSubscription } from './subscription.ts';

/** Result of a request to our own public address. `skipped`: it was not made. */
export type SelfTest = 'passed' | 'failed' | 'skipped';

export interface RepairFacts {
  /** Failed attempts in a row. */
  readonly failures: number;
  /** No attempt is made before this instant. */
  readonly not_before: number | null;
  readonly can: { readonly reactivate: boolean };
}

/** Step to repair a subscription that does not send. */
export type SubscriptionRepair =
  | { readonly action: 'nothing' }
  | { readonly action: 'wait'; readonly until: number }
  /** After testing the public address: see `afterSelfTest`. */
  | { readonly action: 'reactivate' | 'put'; readonly self_test: true }
  | { readonly action: 'recreate'; readonly self_test: false };

/** Longer than any pause of ours: such a pause means that the clock was set back. */
const longestPauseMs = 25 * 3_600_000;

function isGone(held: Pick<HeldSubscription, 'status'> | null): boolean {
  return held?.status === 'cancelled' || held?.status === 'missing';
}

function isPause(not_before: number | null, now: number): not_before is number {
  return not_before !== null && not_before > now && not_before - now < longestPauseMs;
}

/**
 * Returns how to repair a subscription. It is an assumption that a PUT revives a degraded one.
 */
export function repairOf(status: string | null, facts: RepairFacts, now: number): SubscriptionRepair {
  if (status === null || isWorking(status)) return { action: 'nothing' };
  const { not_before, can } = facts;
  if (isPause(not_before, now)) return { action: 'wait', until: not_before };
  if (isGone({ status })) return { action: 'recreate', self_test: false };
  return { action: can.reactivate ? 'reactivate' : 'put', self_test: true };
}

/**
 * Number of failed self-tests in a row after which a repair is attempted anyway: not every network lets us reach our
 * own public address.
 */
const selfTestsBelieved = 3;

/**
 * Decides whether to go on after a self-test: while the address does not answer, a revived subscription breaks again.
 */
export function afterSelfTest(self_test: SelfTest, { failures }: Pick<RepairFacts, 'failures'>): 'go' | 'wait' {
  return self_test === 'failed' && failures < selfTestsBelieved ? 'wait' : 'go';
}

export interface StepFacts extends RepairFacts {
  /** Reason why the last attempt failed. Null: it succeeded, as far as is known, and only a repair has to wait. */
  readonly failure: string | null;
  /** Instant of the last accepted PUT, and whether its content equals the wanted one. */
  readonly put_at: number | null;
  readonly put: 'same' | 'other';
  /** Instant of the last PUT to replace an address that is not ours. */
  readonly wrested_at: number | null;
  /** Owner of an address that is not ours: somebody else, or perhaps we, with an old one that we no longer recognise. */
  readonly foreign: 'theirs' | 'perhaps ours';
}

/** Next step of the daemon about one subscription, with its reason. */
export type SubscriptionStep =
  | { readonly step: 'nothing' }
  | { readonly step: 'put'; readonly reason: 'differs' | 'missing' | 'cancelled' | 'rotation' | 'taken' }
  | { readonly step: 'rotate' }
  /** The service already calls the newest address. */
  | { readonly step: 'announced' }
  | { readonly step: 'repair'; readonly action: 'reactivate' | 'put' };

const dayMs = 24 * 3_600_000;

/**
 * Returns the next step. A service may change the content of a PUT. So the same PUT, accepted within a day, is not
 * repeated because a read shows another list.
 */
export function subscriptionStep(
  wanted: WantedSubscription,
  held: HeldSubscription | null,
  epochs: readonly EpochState[],
  facts: StepFacts,
  { rotate_every, now }: { readonly rotate_every: number; readonly now: number },
): SubscriptionStep {
  const { failure, not_before, put_at, wrested_at } = facts;
  const within = (at: number | null, ms: number) => at !== null && at <= now && now - at < ms;
  if (failure !== null && isPause(not_before, now)) return { step: 'nothing' };
  // Two programs could overwrite each other forever, so only one PUT a day, and a condition.
  if (held?.address === 'foreign' && facts.foreign === 'theirs')
    return within(wrested_at, dayMs) ? { step: 'nothing' } : { step: 'put', reason: 'taken' };
  const repair = repairOf(held?.status ?? null, facts, now);
  if (repair.action === 'recreate')
    return { step: 'put', reason: held?.status === 'missing' ? 'missing' : 'cancelled' };
  if (repair.action === 'wait' && isGone(held)) return { step: 'nothing' };
  const rotation = rotationStep(epochs, rotate_every, now);
  if (rotation.step === 'put' && held?.address !== 'current') return { step: 'put', reason: 'rotation' };
  const repeated = facts.put === 'same' && held?.address === 'current' && within(put_at, dayMs);
  if (needsPut(wanted, held) && !repeated) return { step: 'put', reason: 'differs' };
  if (repair.action === 'reactivate' || repair.action === 'put') return { step: 'repair', action: repair.action };
  if (rotation.step === 'put') return { step: 'announced' };
  return rotation.step === 'begin' && held !== null ? { step: 'rotate' } : { step: 'nothing' };
}
