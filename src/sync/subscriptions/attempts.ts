import { hash } from 'node:crypto';
import { instant } from '../../clock.ts';
import { retryAt } from '../../domain/budget/backoff.ts';
import { isBlameless } from '../../domain/push/attempt-failure.ts';
import { isWorking, type WantedSubscription } from '../../domain/push/subscription.ts';
import type { StoredSubscription } from '../../mirror/push/subscriptions.ts';
import type { SubscriptionOutcome } from '../../upstream/subscriptions.ts';
import { callbackUrl } from './callback.ts';
import { isTaken, type SubscriptionPorts } from './declared.ts';
import { type Failure, failureText, pauseMs } from './failure.ts';
import { factsOf, noteDifferences } from './reads.ts';

/** The result of an attempt to change something at the service. */
export interface Attempt {
  readonly subscription_id: string;
  readonly done: boolean;
  /** The reason of the failure; null: it did not fail. Never contains an address. */
  readonly message: string | null;
}

/**
 * Sends the wanted subscription with the newest callback address. If an answer was lost, repeats the same request, so
 * that there is always only one subscription.
 */
export async function putSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  reason: string,
  signal: AbortSignal,
): Promise<Attempt> {
  const { mirror, clock, service, addresses, settings, log } = ports;
  const { subscription_id } = wanted;
  const before = mirror.push.subscriptions.find(subscription_id);
  const epoch = addresses.current(subscription_id, clock.now());
  const callback_url = callbackUrl(settings.public_url, addresses.token(subscription_id, epoch));
  const takesOver = before !== null && isTaken(ports, before);
  const outcome = await service.put({ ...wanted, callback_url }, signal);
  if (takesOver && mayHaveTakenEffect(outcome))
    mirror.transaction(() => mirror.push.subscriptions.tookOver(subscription_id, clock.now()));
  if (outcome.kind !== 'read') return noteFailure(ports, subscription_id, outcome);
  mirror.transaction(() => {
    const at = clock.now();
    mirror.push.subscriptions.learn(subscription_id, factsOf(ports, subscription_id, outcome.value, { wanted, epoch }));
    mirror.push.subscriptions.put(subscription_id, { at, hash: putHash(wanted, epoch) });
    mirror.push.subscriptions.tried(subscription_id, succeeded(ports, before));
    noteDifferences(ports, wanted);
    mirror.push.subscriptions.cover(clock.now());
  });
  announce(ports, subscription_id, epoch);
  log.info({ subscription_id, reason, epoch, entities: wanted.entity_ids?.length ?? null }, 'subscription put');
  return { subscription_id, done: true, message: null };
}

/** Returns whether a request may have taken effect. That includes a request whose answer was lost. */
function mayHaveTakenEffect(outcome: SubscriptionOutcome): boolean {
  return outcome.kind === 'read' || (outcome.kind === 'failed' && outcome.status === undefined);
}

/** Records that the service has this epoch's address. Older addresses are accepted for the grace period. */
export function announce(
  { addresses, clock, settings }: SubscriptionPorts,
  subscription_id: string,
  epoch: number,
): void {
  const own = addresses.states().find((each) => each.subscription_id === subscription_id && each.epoch === epoch);
  // Repeating it must not extend the grace period of older addresses.
  if (own?.announced_at == null) addresses.announced(subscription_id, epoch, clock.now(), settings.grace);
}

/**
 * Returns the state after an attempt that seems to have worked. After an attempt to revive a subscription, the failure
 * count stays until the subscription has proven itself: if it breaks again, the next attempt comes later.
 */
export function succeeded({ clock, chance }: SubscriptionPorts, before: StoredSubscription | null) {
  const at = clock.now();
  const fresh = { at, failures: 0, failure: null, not_before: null };
  if (before === null || before.status === null || before.put_at === null) return fresh;
  if (!isWorking(before.status)) {
    const failures = before.failures + 1;
    return { at, failures, failure: null, not_before: instant(retryAt(failures, chance(), at)) };
  }
  const proving = before.failures > 0 && before.failure === null;
  const { failures, not_before } = before;
  return proving ? { at: before.tried_at ?? at, failures, failure: null, not_before } : fresh;
}

/** Records a failed attempt, and the earliest instant of the next one. */
export function noteFailure(
  { mirror, clock, chance, log }: SubscriptionPorts,
  subscription_id: string,
  outcome: Failure,
): Attempt {
  const message = failureText(outcome);
  const at = clock.now();
  const blameless = isBlameless(outcome.kind);
  mirror.transaction(() => {
    const before = mirror.push.subscriptions.find(subscription_id);
    const failures = (before?.failures ?? 0) + (blameless ? 0 : 1);
    const not_before = blameless ? at + pauseMs : retryAt(failures, chance(), at);
    mirror.push.subscriptions.tried(subscription_id, {
      at,
      failures,
      failure: { kind: outcome.kind, message },
      not_before: instant(not_before),
    });
    if (outcome.kind === 'missing') mirror.push.subscriptions.missing(subscription_id, at);
  });
  log[blameless ? 'info' : 'warn']({ subscription_id, message }, 'subscription not changed');
  return { subscription_id, done: false, message };
}

/** Hashes the contents of a PUT: an equal subscription needs no second PUT. */
export function putHash({ type, entity_ids, change_types }: WantedSubscription, epoch: number): string {
  return hash('sha256', JSON.stringify([type, entity_ids, change_types, epoch]), 'base64url');
}
