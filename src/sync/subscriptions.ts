import { hash } from 'node:crypto';
import { retryAt } from '../domain/backoff.ts';
import { type EpochState, standingOf } from '../domain/callback-epoch.ts';
import {
  type DeclaredSubscription,
  differences,
  type HeldSubscription,
  isWorking,
  type WantedSubscription,
} from '../domain/subscription.ts';
import { wantedParts } from '../domain/subscription-parts.ts';
import type { SelfTest } from '../domain/subscription-step.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { StoredSubscription, SubscriptionFacts } from '../mirror/subscriptions.ts';
import type { SubscriptionAnswer, SubscriptionOutcome, Subscriptions } from '../upstream/subscriptions.ts';
import { type CallbackAddresses, callbackUrl, ownerOf } from './callback.ts';
import type { Ports } from './ports.ts';

/** What the work about subscriptions reaches through. */
export interface SubscriptionPorts extends Pick<Ports, 'mirror' | 'clock' | 'chance' | 'log'> {
  readonly service: Subscriptions;
  readonly addresses: CallbackAddresses;
  readonly settings: SubscriptionSettings;
  /** Asks our own public address, as a stranger would. */
  selfTest(signal: AbortSignal): Promise<{ readonly result: SelfTest; readonly words: string }>;
}

export interface SubscriptionSettings {
  readonly declared: readonly DeclaredSubscription[];
  readonly public_url: string;
  /** Entities of one subscription, at most. */
  readonly most: number;
  /** Milliseconds. */
  readonly rotate_every: number;
  readonly grace: number;
}

/** After an attempt that seemed to work, a read as late as this shows that it did: what breaks, breaks within minutes. */
const provenAfterMs = 30 * 60_000;
/** The service was busy or away: nobody's failure, and no reason to ask at once. */
const pauseMs = 60_000;

/** What the service should have now. A declaration of mirrored entities is left as it is until their lists were read once. */
export function wantedSubscriptions({
  mirror,
  settings,
}: {
  readonly mirror: Pick<Mirror, 'subscriptions'>;
  readonly settings: Pick<SubscriptionSettings, 'declared' | 'most'>;
}): {
  readonly wanted: WantedSubscription[];
  /** Declarations that wait for the first walk over the lists. */
  readonly waiting: string[];
} {
  const { declared, most } = settings;
  const table = mirror.subscriptions;
  const ids = new Set(declared.map(({ id }) => id));
  const isWaiting = ({ type, entities }: DeclaredSubscription) =>
    type !== 'products_i_sell' && entities === 'mirrored' && !table.isListed(type);
  const wanted = declared.flatMap((each) => {
    const before = table.parts(each.id);
    if (isWaiting(each) && before.length === 0) return [];
    const taken = new Set([...ids].filter((id) => id !== each.id));
    const known = before.flatMap(({ entity_ids }) => entity_ids);
    const entity_ids = isWaiting(each) ? known : entitiesOf(mirror, each);
    return wantedParts(each, entity_ids, { before, taken, most });
  });
  return { wanted, waiting: declared.filter(isWaiting).map(({ id }) => id) };
}

function entitiesOf(mirror: Pick<Mirror, 'subscriptions'>, declared: DeclaredSubscription): readonly number[] | null {
  const { type, entities = null, categories = null, city_ids = null, country_ids = null } = declared;
  if (type === 'products_i_sell') return null;
  return entities === 'mirrored'
    ? mirror.subscriptions.mirrored(type, { categories, city_ids, country_ids })
    : entities;
}

/** Writes down what is wanted, and says which are wanted no more. */
export function declareSubscriptions(ports: SubscriptionPorts): ReturnType<typeof wantedSubscriptions> {
  const { mirror, log } = ports;
  return mirror.transaction(() => {
    const plan = wantedSubscriptions(ports);
    for (const subscription_id of mirror.subscriptions.declare(plan.wanted))
      log.warn({ subscription_id }, 'subscription declared no more: the service offers no way to end it');
    mirror.subscriptions.cover();
    return plan;
  });
}

/** What the service is known to have, as it stands now; null: it was never asked, or has none. */
export function heldOf(
  ports: Pick<SubscriptionPorts, 'addresses' | 'clock'>,
  row: StoredSubscription,
): HeldSubscription | null {
  if (row.status === null) return null;
  const address = standingOf(row, epochsOf(ports, row.subscription_id), ports.clock.now());
  return {
    type: row.held_type,
    entity_ids: row.entity_ids,
    change_types: row.change_types,
    status: row.status,
    address,
  };
}

export function epochsOf({ addresses }: Pick<SubscriptionPorts, 'addresses'>, subscription_id: string): EpochState[] {
  return addresses.states().filter((each) => each.subscription_id === subscription_id);
}

/** Asks the service for one subscription and stores what it says. Returns why it could not, or null. */
export async function readSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<string | null> {
  const { mirror, clock, service } = ports;
  const outcome = await service.find(wanted.subscription_id, signal);
  if (outcome.kind !== 'read' && outcome.kind !== 'missing') return noteUnread(ports, wanted, outcome);
  mirror.transaction(() => {
    const at = clock.now();
    if (outcome.kind === 'missing') mirror.subscriptions.missing(wanted.subscription_id, at);
    else
      mirror.subscriptions.learn(wanted.subscription_id, factsOf(ports, wanted.subscription_id, outcome.value, null));
    noteDifferences(ports, wanted);
    settleAttempt(ports, wanted.subscription_id);
  });
  return null;
}

function noteUnread(
  { mirror, clock, chance }: SubscriptionPorts,
  { subscription_id }: WantedSubscription,
  outcome: Exclude<SubscriptionOutcome, { kind: 'read' | 'missing' }>,
): string {
  mirror.transaction(() => {
    const failures = (mirror.subscriptions.find(subscription_id)?.read_failures ?? 0) + (isBlameless(outcome) ? 0 : 1);
    const now = clock.now();
    const again = isBlameless(outcome) ? now + pauseMs : retryAt(failures, chance(), now);
    mirror.subscriptions.unread(subscription_id, failures, again);
  });
  return wordsOf(outcome);
}

/** Whether a read brought nothing because the service lets no subscription be read: then a PUT is all there is. */
export function mayPutUnread(unread: string): boolean {
  return unread.startsWith('refused: ');
}

function isBlameless({ kind }: Failure): boolean {
  return kind === 'throttled' || kind === 'unreachable';
}

/** What the service would be known to have after an answer that is not stored; null: it has none. Text: why it could not be asked. */
export async function lookAtSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  signal: AbortSignal,
): Promise<HeldSubscription | null | string> {
  const { subscription_id } = wanted;
  const outcome = await ports.service.find(subscription_id, signal);
  if (outcome.kind === 'missing') return null;
  if (outcome.kind !== 'read') return wordsOf(outcome);
  const row = ports.mirror.subscriptions.find(subscription_id);
  const facts = factsOf(ports, subscription_id, outcome.value, null);
  const owner = facts.address === null ? { address: row?.address ?? null, epoch: row?.epoch ?? null } : facts;
  return {
    status: facts.status,
    type: facts.type ?? row?.held_type ?? null,
    change_types: facts.change_types ?? row?.change_types ?? null,
    entity_ids: facts.entity_ids ?? row?.entity_ids ?? null,
    address: standingOf(owner, epochsOf(ports, subscription_id), ports.clock.now()),
  };
}

/** What an answer says; what it does not say is what was sent, or stays as it is known. */
function factsOf(
  { mirror, clock, addresses, settings }: SubscriptionPorts,
  subscription_id: string,
  answer: SubscriptionAnswer,
  sent: { readonly wanted: WantedSubscription; readonly epoch: number } | null,
): SubscriptionFacts {
  const now = clock.now();
  const before = mirror.subscriptions.find(subscription_id)?.status ?? null;
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

/** Compares anew and stores in words what differs. Inside a transaction. */
export function noteDifferences(ports: SubscriptionPorts, wanted: WantedSubscription): void {
  const { mirror } = ports;
  const row = mirror.subscriptions.find(wanted.subscription_id);
  if (row === null) return;
  const found = differences(wanted, heldOf(ports, row));
  if (found.join() !== row.differences.join()) mirror.subscriptions.compared(wanted.subscription_id, found);
}

/** An attempt is over once a read shows, long enough after it, that the subscription works. Inside a transaction. */
function settleAttempt({ mirror, clock }: SubscriptionPorts, subscription_id: string): void {
  const row = mirror.subscriptions.find(subscription_id);
  if (row === null || row.failures === 0 || !isWorking(row.status)) return;
  // What failed for another reason than its state is over when nothing differs.
  if (row.failure !== null && row.differences.length > 0) return;
  const tried_at = row.tried_at ?? 0;
  if (clock.now() - tried_at < provenAfterMs && tried_at <= clock.now()) return;
  mirror.subscriptions.tried(subscription_id, { at: tried_at, failures: 0, failure: null, not_before: null });
}

/** Why an attempt did not work. */
type Failure = Exclude<SubscriptionOutcome, { kind: 'read' }> | { readonly kind: 'self-test'; readonly words: string };

/** What came of an attempt to change something at the service. */
export interface Attempt {
  readonly subscription_id: string;
  readonly done: boolean;
  /** Why it was not; null where it was. Never an address. */
  readonly message: string | null;
}

/**
 * Sends what is wanted, with the newest callback address; the same again where an answer was lost, so there is one
 * subscription whatever happens.
 */
export async function putSubscription(
  ports: SubscriptionPorts,
  wanted: WantedSubscription,
  reason: string,
  signal: AbortSignal,
): Promise<Attempt> {
  const { mirror, clock, service, addresses, settings, log } = ports;
  const { subscription_id } = wanted;
  const before = mirror.subscriptions.find(subscription_id);
  const epoch = addresses.current(subscription_id, clock.now());
  const callback_url = callbackUrl(settings.public_url, addresses.token(subscription_id, epoch));
  const wrests = before !== null && isTaken(ports, before);
  const outcome = await service.put({ ...wanted, callback_url }, signal);
  if (wrests && mayHaveTakenEffect(outcome))
    mirror.transaction(() => mirror.subscriptions.wrested(subscription_id, clock.now()));
  if (outcome.kind !== 'read') return noteFailure(ports, subscription_id, outcome);
  mirror.transaction(() => {
    const at = clock.now();
    mirror.subscriptions.learn(subscription_id, factsOf(ports, subscription_id, outcome.value, { wanted, epoch }));
    mirror.subscriptions.put(subscription_id, { at, hash: putHash(wanted, epoch) });
    mirror.subscriptions.tried(subscription_id, succeeded(ports, before));
    noteDifferences(ports, wanted);
    mirror.subscriptions.cover();
  });
  announce(ports, subscription_id, epoch);
  log.info({ subscription_id, reason, epoch, entities: wanted.entity_ids?.length ?? null }, 'subscription put');
  return { subscription_id, done: true, message: null };
}

/**
 * Whether the service calls an address that is not ours. Where none of ours was ever announced, it may be our own of
 * another master secret, or of an installation before this one: that is nobody to fight with.
 */
export function isTaken(ports: Pick<SubscriptionPorts, 'addresses'>, row: StoredSubscription): boolean {
  const announced = epochsOf(ports, row.subscription_id).some(({ announced_at }) => announced_at !== null);
  return row.address === 'foreign' && announced && !ports.addresses.masterChanged();
}

/** Also where the answer was lost. */
function mayHaveTakenEffect(outcome: SubscriptionOutcome): boolean {
  return outcome.kind === 'read' || (outcome.kind === 'failed' && !outcome.code.startsWith('status-'));
}

/** The service calls this epoch's address: older ones are accepted for the grace. */
export function announce(
  { addresses, clock, settings }: SubscriptionPorts,
  subscription_id: string,
  epoch: number,
): void {
  const own = addresses.states().find((each) => each.subscription_id === subscription_id && each.epoch === epoch);
  // Saying it again must not make the grace of the older ones longer.
  if (own?.announced_at == null) addresses.announced(subscription_id, epoch, clock.now(), settings.grace);
}

/**
 * An attempt that seems to have worked. Where it was to revive what did not send, it has to prove it: should that break
 * again, the next attempt comes later.
 */
export function succeeded({ clock, chance }: SubscriptionPorts, before: StoredSubscription | null) {
  const at = clock.now();
  const fresh = { at, failures: 0, failure: null, not_before: null };
  if (before === null || before.status === null || before.put_at === null) return fresh;
  if (!isWorking(before.status)) {
    const failures = before.failures + 1;
    return { at, failures, failure: null, not_before: retryAt(failures, chance(), at) };
  }
  const proving = before.failures > 0 && before.failure === null;
  const { failures, not_before } = before;
  return proving ? { at: before.tried_at ?? at, failures, failure: null, not_before } : fresh;
}

/** Notes an attempt that did not work, and when the next one may be made. */
export function noteFailure(
  { mirror, clock, chance, log }: SubscriptionPorts,
  subscription_id: string,
  outcome: Failure,
): Attempt {
  const message = wordsOf(outcome);
  const at = clock.now();
  const blameless = isBlameless(outcome);
  mirror.transaction(() => {
    const before = mirror.subscriptions.find(subscription_id);
    const failures = (before?.failures ?? 0) + (blameless ? 0 : 1);
    const not_before = blameless ? at + pauseMs : retryAt(failures, chance(), at);
    mirror.subscriptions.tried(subscription_id, { at, failures, failure: message, not_before });
    if (outcome.kind === 'missing') mirror.subscriptions.missing(subscription_id, at);
  });
  log[blameless ? 'info' : 'warn']({ subscription_id, message }, 'subscription not changed');
  return { subscription_id, done: false, message };
}

/** Of what was put: what is equal to it needs no second PUT. */
export function putHash({ type, entity_ids, change_types }: WantedSubscription, epoch: number): string {
  return hash('sha256', JSON.stringify([type, entity_ids, change_types, epoch]), 'base64url');
}

function wordsOf(outcome: Failure): string {
  switch (outcome.kind) {
    case 'missing':
      return 'refused: the service has no such subscription';
    case 'throttled':
      return `throttled: the service asks for less (${outcome.status})`;
    case 'self-test':
      return `self-test: ${outcome.words}`;
    default:
      return `${outcome.kind}: ${outcome.message} (${outcome.code})`;
  }
}
