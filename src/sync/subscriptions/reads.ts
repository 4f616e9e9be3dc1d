import { instant } from '../../clock.ts';
import { retryAt } from '../../domain/budget/backoff.ts';
import { refuses } from '../../domain/evidence/reach.ts';
import { isBlameless } from '../../domain/push/attempt-failure.ts';
import { standingOf } from '../../domain/push/callback-epoch.ts';
import {
  differences,
  type HeldSubscription,
  isWorking,
  type WantedSubscription,
} from '../../domain/push/subscription.ts';
import { mayAskAgain } from '../../domain/schedule/offer.ts';
import type { SubscriptionFacts } from '../../mirror/push/subscriptions.ts';
import type { SubscriptionAnswer, SubscriptionOutcome } from '../../upstream/subscriptions.ts';
import { pathAnswered, subscriptionRefused } from '../evidence/reach.ts';
import { ownerOf } from './callback.ts';
import { epochsOf, heldOf, type SubscriptionPorts } from './declared.ts';
import { pauseMs, type Unread } from './failure.ts';

/**
 * A read this many milliseconds after an attempt proves that it worked: a subscription that breaks again does so within
 * minutes.
 */
const provenAfterMs = 30 * 60_000;

/**
 * Reads one subscription from the service and stores the answer. Returns the reason if it could not be read, else null.
 */
export async function readSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<Unread | null> {
  const { mirror, clock, service } = ports;
  if (!isRead(ports)) return notRead;
  const outcome = await service.find(wanted.subscription_id, signal);
  const meant = meantBy(ports, wanted, outcome);
  if (meant === 'not-offered' || meant === 'too-early') return notRead;
  if (outcome.kind !== 'read' && outcome.kind !== 'missing') return noteUnread(ports, wanted, outcome);
  mirror.transaction(() => {
    if (outcome.kind === 'read') pathAnswered(ports, 'subscription', outcome.sent_at);
    const at = clock.now();
    const before = mirror.push.subscriptions.find(wanted.subscription_id)?.checked_at ?? at;
    if (outcome.kind === 'missing') mirror.push.subscriptions.missing(wanted.subscription_id, at);
    else {
      mirror.push.subscriptions.learn(
        wanted.subscription_id,
        factsOf(ports, wanted.subscription_id, outcome.value, null),
      );
      // The affected products are known now, so its gap can end.
      mirror.push.subscriptions.cover(clock.now());
    }
    // Opened at once, since the repair may follow within a second. The gap begins at the previous read, the last time
    // it is known to have worked.
    if (
      meant !== 'doubted' &&
      mirror.push.gaps.broken().some(({ subscription_id }) => subscription_id === wanted.subscription_id)
    )
      mirror.push.gaps.openGap(wanted.subscription_id, instant(Math.min(before, at)));
    noteDifferences(ports, wanted);
    settleAttempt(ports, wanted.subscription_id);
  });
  return null;
}

/** The result of a read if subscriptions cannot be read: the answer to the last PUT counts instead. */
const notRead: Unread = { kind: 'not-read' };

/** Returns whether to ask the service. If it has no such read, it is asked at long intervals. */
function isRead({ mirror, clock, settings }: SubscriptionPorts): boolean {
  if (!settings.reads) return false;
  return (
    mirror.schedule.offers.isOffered('subscription') ||
    mayAskAgain(mirror.schedule.offers.find('subscription'), clock.now())
  );
}

/** Returns the meaning of a refused read; null: it was not refused. */
function meantBy(ports: SubscriptionPorts, { subscription_id }: WantedSubscription, outcome: SubscriptionOutcome) {
  if (!refuses('path', outcome)) return null;
  const put_at = ports.mirror.push.subscriptions.find(subscription_id)?.put_at ?? null;
  return subscriptionRefused(ports, outcome.kind === 'missing' ? 404 : 405, put_at);
}

function noteUnread(
  { mirror, clock, chance }: SubscriptionPorts,
  { subscription_id }: WantedSubscription,
  outcome: Exclude<SubscriptionOutcome, { kind: 'read' | 'missing' }>,
): Unread {
  mirror.transaction(() => {
    const blameless = isBlameless(outcome.kind);
    const failures = (mirror.push.subscriptions.find(subscription_id)?.read_failures ?? 0) + (blameless ? 0 : 1);
    const now = clock.now();
    const again = blameless ? now + pauseMs : retryAt(failures, chance(), now);
    mirror.push.subscriptions.unread(subscription_id, failures, instant(again));
  });
  return outcome;
}

/**
 * Returns whether a read failed because the service lets no subscription be read. Then a PUT may be sent without a
 * read.
 */
export function mayPutUnread({ kind }: Unread): boolean {
  return kind === 'refused' || kind === 'not-read';
}

/**
 * Returns the service's subscription without storing the answer (null: it has none), or the reason why it could not be
 * read.
 */
export async function lookAtSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<{ readonly held: HeldSubscription | null } | { readonly unread: Unread }> {
  const { subscription_id } = wanted;
  const row = ports.mirror.push.subscriptions.find(subscription_id);
  const held = row === null ? null : heldOf(ports, row);
  if (!isRead(ports)) return { held };
  const outcome = await ports.service.find(subscription_id, signal);
  const meant = meantBy(ports, wanted, outcome);
  if (meant === 'not-offered' || meant === 'too-early') return { held };
  if (outcome.kind === 'missing') return { held: null };
  if (outcome.kind !== 'read') return { unread: outcome };
  const facts = factsOf(ports, subscription_id, outcome.value, null);
  const owner = facts.address === null ? { address: row?.address ?? null, epoch: row?.epoch ?? null } : facts;
  return {
    held: {
      status: facts.status,
      type: facts.type ?? row?.held_type ?? null,
      change_types: facts.change_types ?? row?.change_types ?? null,
      entity_ids: facts.entity_ids ?? row?.entity_ids ?? null,
      address: standingOf(owner, epochsOf(ports, subscription_id), ports.clock.now()),
    },
  };
}

/** Returns the facts of an answer. Omitted facts are taken from the request, or stay as known. */
export function factsOf(
  { mirror, clock, addresses, settings }: SubscriptionPorts,
  subscription_id: string,
  answer: SubscriptionAnswer,
  sent: { readonly wanted: WantedSubscription; readonly epoch: number } | null,
): SubscriptionFacts {
  const now = clock.now();
  const before = mirror.push.subscriptions.find(subscription_id)?.status ?? null;
  const known = sent !== null || before === null || before === 'missing' ? 'accepted' : before;
  const { public_url } = settings;
  const owner =
    sent === null
      ? ownerOf(answer.callback_url, { addresses, public_url, subscription_id, now })
      : { address: 'ours' as const, epoch: sent.epoch };
  return {
    status: answer.status ?? known,
    type: answer.type ?? sent?.wanted.type ?? null,
    change_types: answer.change_types ?? sent?.wanted.change_types ?? null,
    entity_ids: answer.entity_ids ?? sent?.wanted.entity_ids ?? null,
    ...owner,
    at: now,
  };
}

/** Compares again, and stores the differences as text. Called inside a transaction. */
export function noteDifferences(ports: SubscriptionPorts, wanted: WantedSubscription): void {
  const { mirror } = ports;
  const row = mirror.push.subscriptions.find(wanted.subscription_id);
  if (row === null) return;
  const found = differences(wanted, heldOf(ports, row));
  if (found.join() !== row.differences.join()) mirror.push.subscriptions.compared(wanted.subscription_id, found);
}

/** Ends an attempt once a read shows, long enough after it, that the subscription works. Called inside a transaction. */
function settleAttempt({ mirror, clock }: SubscriptionPorts, subscription_id: string): void {
  const row = mirror.push.subscriptions.find(subscription_id);
  if (row === null || row.failures === 0 || !isWorking(row.status)) return;
  // A failure that did not break the subscription is over when nothing differs.
  if (row.failure !== null && row.differences.length > 0) return;
  const tried_at = row.tried_at ?? 0;
  if (clock.now() - tried_at < provenAfterMs && tried_at <= clock.now()) return;
  mirror.push.subscriptions.tried(subscription_id, {
    at: instant(tried_at),
    failures: 0,
    failure: null,
    not_before: null,
  });
}
