import { refuses } from '../../domain/evidence/reach.ts';
import { newestOf } from '../../domain/push/callback-epoch.ts';
import { isWorking, type WantedSubscription } from '../../domain/push/subscription.ts';
import { afterSelfTest, subscriptionStep } from '../../domain/push/subscription-step.ts';
import { mayAskAgain } from '../../domain/schedule/offer.ts';
import type { StoredSubscription } from '../../mirror/push/subscriptions.ts';
import { pathAnswered, pathMissing } from '../evidence/reach.ts';
import { type Attempt, announce, noteFailure, putHash, putSubscription, succeeded } from './attempts.ts';
import { callbackUrl } from './callback.ts';
import { epochsOf, heldOf, isTaken, type SubscriptionPorts } from './declared.ts';
import type { Unread } from './failure.ts';
import { mayPutUnread, noteDifferences, readSubscription } from './reads.ts';

/**
 * Takes the next step of one subscription, if `subscriptionStep` decides on one from the stored facts. `unread`: the
 * reason why the service could not be read just now; null: it was read, or need not be.
 */
export async function stepSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  unread: Unread | null,
  signal: AbortSignal,
): Promise<void> {
  const { mirror, clock, settings, service } = ports;
  const { subscription_id } = wanted;
  const row = mirror.push.subscriptions.find(subscription_id);
  if (row === null || !service.can.put) return;
  // A PUT without a read could overwrite another party's subscription.
  if (row.status === null && (unread === null || !mayPutUnread(unread))) return;
  const now = clock.now();
  const epochs = epochsOf(ports, subscription_id);
  const epoch = newestOf(epochs)?.epoch ?? 1;
  const step = subscriptionStep(
    wanted,
    heldOf(ports, row),
    epochs,
    {
      ...row,
      can: canOf(ports),
      put: row.put_hash === putHash(wanted, epoch) ? 'same' : 'other',
      foreign: isTaken(ports, row) ? 'theirs' : 'perhaps ours',
    },
    { rotate_every: ports.mayRotate() ? settings.rotate_every : Number.POSITIVE_INFINITY, now },
  );
  switch (step.step) {
    case 'nothing':
      return;
    case 'announced':
      announce(ports, subscription_id, epoch);
      return;
    case 'rotate':
      await rotateSubscription(ports, wanted, signal);
      return;
    case 'put':
      await lookBefore(ports, wanted, signal);
      await putSubscription(ports, wanted, step.reason, signal);
      return;
    case 'repair':
      await repairSubscription(ports, wanted, step.action, signal);
  }
}

/**
 * Rotates the callback address: the new one is accepted first, then put, then announced. The old one is accepted for
 * the grace period. Finishes a rotation begun earlier. After a kill, the next step continues.
 */
export async function rotateSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<Attempt> {
  const { addresses, clock, log } = ports;
  const { subscription_id } = wanted;
  if (newestOf(epochsOf(ports, subscription_id))?.announced_at !== null) {
    const epoch = addresses.begin(subscription_id, clock.now());
    log.info({ subscription_id, epoch }, 'callback address rotates: the receiver accepts the new one');
  }
  await lookBefore(ports, wanted, signal);
  return putSubscription(ports, wanted, 'rotation', signal);
}

/** Milliseconds for which a read of the subscription need not be repeated before a PUT. */
const justLookedMs = 60_000;

/**
 * Reads the subscription before a PUT, which would hide that the service has lost it. The read then opens the gap that
 * the PUT closes.
 */
async function lookBefore(ports: SubscriptionPorts, wanted: WantedSubscription, signal: AbortSignal): Promise<void> {
  const row = ports.mirror.push.subscriptions.find(wanted.subscription_id);
  const ago = ports.clock.now() - (row?.checked_at ?? 0);
  if (row?.put_at == null || (ago >= 0 && ago < justLookedMs)) return;
  await readSubscription(ports, wanted, signal);
}

/**
 * Revives a subscription after testing our own public address. If the first test fails, waits: the subscription would
 * break again. If it fails again, repairs the subscription all the same.
 */
async function repairSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  action: 'reactivate' | 'put',
  signal: AbortSignal,
): Promise<Attempt> {
  const { mirror, log } = ports;
  const { subscription_id } = wanted;
  const failures = mirror.push.subscriptions.find(subscription_id)?.failures ?? 0;
  const { result, message } = await ports.selfTest(signal);
  if (afterSelfTest(result, { failures }) === 'wait')
    return noteFailure(ports, subscription_id, { kind: 'self-test', message });
  if (result === 'failed')
    log.warn({ subscription_id, words: message }, 'self-test failed again: repairing the subscription all the same');
  return action === 'put'
    ? putSubscription(ports, wanted, 'repair', signal)
    : reactivateSubscription(ports, wanted, signal);
}

/**
 * Returns the operations on subscriptions that the service allows. A missing path is requested again after a week, when
 * it is needed.
 */
export function canOf({ mirror, clock, service }: SubscriptionPorts): SubscriptionPorts['service']['can'] {
  const tried =
    mirror.schedule.offers.isOffered('reactivate') ||
    mayAskAgain(mirror.schedule.offers.find('reactivate'), clock.now());
  return { ...service.can, reactivate: service.can.reactivate && tried };
}

function isThere(row: StoredSubscription | null): boolean {
  return row !== null && row.status !== null && row.status !== 'missing' && row.status !== 'cancelled';
}

/**
 * Asks the service to resume a subscription, or puts it again if there is no such call. It counts as working once a
 * later read shows it.
 */
export async function reactivateSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<Attempt> {
  const { mirror, clock, service, addresses, settings, log } = ports;
  const { subscription_id } = wanted;
  const before = mirror.push.subscriptions.find(subscription_id);
  const epoch = addresses.current(subscription_id, clock.now());
  const kept = before !== null && heldOf(ports, before)?.address === 'current';
  const callback_url = kept ? null : callbackUrl(settings.public_url, addresses.token(subscription_id, epoch));
  const outcome = await service.reactivate(subscription_id, callback_url, signal);
  if (refuses('path', outcome)) {
    // The subscription is known to exist, so the path is missing.
    if (outcome.kind === 'refused' || isThere(before)) pathMissing(ports, 'reactivate');
    return putSubscription(ports, wanted, 'repair', signal);
  }
  if (outcome.kind !== 'read') return noteFailure(ports, subscription_id, outcome);
  mirror.transaction(() => {
    pathAnswered(ports, 'reactivate', outcome.sent_at);
    mirror.push.subscriptions.learn(subscription_id, {
      status: outcome.value.status ?? 'accepted',
      type: outcome.value.type,
      change_types: outcome.value.change_types,
      entity_ids: outcome.value.entity_ids,
      address: 'ours',
      epoch,
      at: clock.now(),
    });
    mirror.push.subscriptions.tried(subscription_id, succeeded(ports, before));
    noteDifferences(ports, wanted);
  });
  announce(ports, subscription_id, epoch);
  const status = mirror.push.subscriptions.find(subscription_id)?.status ?? null;
  log.warn({ subscription_id, status }, 'subscription reactivated');
  return isWorking(status)
    ? { subscription_id, done: true, message: null }
    : { subscription_id, done: false, message: `the service answers that it is ${status}` };
}
