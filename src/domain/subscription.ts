import { futureToleranceMs } from './record.ts';

/*
 * Subscriptions to change notifications (specification §2 and §3): what the configuration declares becomes requests,
 * and what the service has is compared with them.
 */

export const changeTypes = ['checkout_disabled', 'checkout_enabled', 'product_details_update'] as const;
export type ChangeType = (typeof changeTypes)[number];
export type SubscriptionType = 'product_ids' | 'experience_ids' | 'products_i_sell';

/** One entry of `subscriptions` in the configuration. */
export interface DeclaredSubscription {
  readonly id: string;
  readonly type: SubscriptionType;
  /** Every product or experience in the mirror, or these; none with products_i_sell. */
  readonly entities?: 'mirrored' | readonly number[] | undefined;
  /** With `mirrored`: of these categories, in these cities, in these countries; all that are given hold. */
  readonly categories?: readonly string[] | undefined;
  readonly city_ids?: readonly number[] | undefined;
  readonly country_ids?: readonly number[] | undefined;
  readonly change_types: readonly ChangeType[];
}

/** What the service should have: a declaration, or a part of one whose list is too long for one request. */
export interface WantedSubscription {
  readonly subscription_id: string;
  readonly declared_id: string;
  readonly type: SubscriptionType;
  /** Ascending; null for products_i_sell, where the service keeps the list. */
  readonly entity_ids: readonly number[] | null;
  readonly change_types: readonly ChangeType[];
}

/** What the service is known to have of one. Null: neither has it said so, nor were we the last who told it. */
export interface HeldSubscription {
  readonly type: string | null;
  readonly entity_ids: readonly number[] | null;
  readonly change_types: readonly string[] | null;
  readonly status: string | null;
  /** Whose address it calls. */
  readonly address: AddressStanding | null;
}

/** Whose callback address the service calls: ours of some epoch, ours under another public address, or nobody's we know. */
export type AddressOwner = 'ours' | 'moved' | 'foreign';

/** Conditions of subscriptions that a person should know of. */
export type SubscriptionAlarm = 'subscription-taken' | 'subscription-broken' | 'subscription-failing';

/**
 * A callback address, judged by its token: our newest, one of ours that is still accepted or no more, our newest under
 * another public address, or nobody's we know.
 */
export type AddressStanding = 'current' | 'grace' | 'dropped' | 'moved' | 'foreign';

/** How the address that the service calls stands now. `epochs`: all of this subscription that are stored. */
export function standingOf(
  { address, epoch }: { readonly address: AddressOwner | null; readonly epoch: number | null },
  epochs: readonly EpochState[],
  now: number,
): AddressStanding | null {
  if (address !== 'ours') return address;
  const own = epochs.find((each) => each.epoch === epoch);
  if (own === undefined) return 'dropped';
  if (own.epoch === newestOf(epochs)?.epoch) return 'current';
  return own.until === null || own.until > now ? 'grace' : 'dropped';
}

/** The parts that a subscription had before, in the order of their numbers. */
export interface Part {
  readonly subscription_id: string;
  readonly entity_ids: readonly number[];
}

/**
 * A declaration as requests of at most `most` entities: `id`, `id-2`, `id-3` … Whoever was in a part stays there and who is
 * new takes the first free place, so one that comes or goes changes one part. `taken`: ids of other declarations, which
 * no part may have. A part without any entity is not wanted: the service asks for at least one.
 */
export function wantedParts(
  declared: Pick<DeclaredSubscription, 'id' | 'type' | 'change_types'>,
  entity_ids: readonly number[] | null,
  { before, taken, most }: { before: readonly Part[]; taken: ReadonlySet<string>; most: number },
): WantedSubscription[] {
  const { id, type, change_types } = declared;
  const wanted = (subscription_id: string, entities: readonly number[] | null): WantedSubscription => ({
    subscription_id,
    declared_id: id,
    type,
    entity_ids: entities,
    change_types: inOrder(change_types),
  });
  if (entity_ids === null) return [wanted(id, null)];
  const left = new Set(entity_ids);
  const parts: { id: string; entities: number[] }[] = [];
  const names = partNames(id, taken);
  const partOf = new Map(before.map((part) => [part.subscription_id, part]));
  const last = Math.max(-1, ...before.map((part) => names.indexOf(part.subscription_id)));
  for (let index = 0; index <= last; index += 1) {
    const name = names.at(index);
    const entities = (partOf.get(name)?.entity_ids ?? []).filter((entity) => left.has(entity)).slice(0, most);
    for (const entity of entities) left.delete(entity);
    parts.push({ id: name, entities });
  }
  let free = 0;
  for (const entity of [...left].sort(ascending)) {
    while ((parts[free]?.entities.length ?? 0) >= most) free += 1;
    parts[free] ??= { id: names.at(free), entities: [] };
    parts[free]?.entities.push(entity);
  }
  return parts
    .filter(({ entities }) => entities.length > 0)
    .map((part) => wanted(part.id, part.entities.toSorted(ascending)));
}

/** `id`, `id-2`, `id-3` …, without those that somebody else has. */
function partNames(
  id: string,
  taken: ReadonlySet<string>,
): { at(index: number): string; indexOf(name: string): number } {
  const names = [id];
  const at = (index: number): string => {
    for (let number = numberOf(names.at(-1) ?? id, id) + 1; names.length <= index; number += 1)
      if (!taken.has(`${id}-${number}`)) names.push(`${id}-${number}`);
    return names[index] ?? id;
  };
  return {
    at,
    indexOf: (name) => {
      const number = numberOf(name, id);
      // A part's number is at least its place: no further name has to be looked at.
      at(number - 1);
      return names.indexOf(name);
    },
  };
}

function numberOf(name: string, id: string): number {
  const number = name.startsWith(`${id}-`) ? Number(name.slice(id.length + 1)) : 1;
  return Number.isSafeInteger(number) && number > 0 && number <= 100_000 ? number : 1;
}

/** What differs, in words and one phrase a field; empty where nothing does. Of an address nothing is said but whose it is. */
export function differences(wanted: WantedSubscription, held: HeldSubscription | null): string[] {
  if (held === null || held.status === 'missing') return ['not there'];
  return [
    ...(held.type === wanted.type ? [] : [`type: ${held.type ?? 'not known'} instead of ${wanted.type}`]),
    ...entityDifferences(wanted.entity_ids, held.entity_ids),
    ...changeTypeDifferences(wanted.change_types, held.change_types),
    ...addressDifferences(held.address),
    ...(isWorking(held.status) ? [] : [`status: ${held.status ?? 'not known'}`]),
  ];
}

/** Whether a PUT of what is wanted would change anything: a status alone is a matter of repair. */
export function needsPut(wanted: WantedSubscription, held: HeldSubscription | null): boolean {
  return differences(wanted, held).some((difference) => !difference.startsWith('status: '));
}

function entityDifferences(wanted: readonly number[] | null, held: readonly number[] | null): string[] {
  // A service that echoes an empty list, or none, for products_i_sell says the same.
  if (wanted === null) return held === null || held.length === 0 ? [] : [`entity_ids: ${held.length} instead of none`];
  if (held === null) return ['entity_ids: not known'];
  const [here, there] = [new Set(wanted), new Set(held)];
  const more = wanted.filter((id) => !there.has(id)).length;
  const less = [...there].filter((id) => !here.has(id)).length;
  const words = [...(more > 0 ? [`${more} more`] : []), ...(less > 0 ? [`${less} less`] : [])];
  return words.length === 0 ? [] : [`entity_ids: ${words.join(', ')}`];
}

function changeTypeDifferences(wanted: readonly ChangeType[], held: readonly string[] | null): string[] {
  if (held === null) return ['change_types: not known'];
  const [here, there] = [inOrder(wanted), [...new Set(held)]];
  return here.length === there.length && here.every((type) => there.includes(type))
    ? []
    : [`change_types: ${there.length === 0 ? 'none' : there.join(' ')} instead of ${here.join(' ')}`];
}

const addressWords: Readonly<Record<AddressStanding, string | null>> = {
  current: null,
  grace: 'another epoch, which is still accepted',
  dropped: 'another epoch, which is accepted no more',
  moved: 'another public address',
  foreign: 'an address that is not ours',
};

function addressDifferences(address: AddressStanding | null): string[] {
  const words = address === null ? 'not known' : addressWords[address];
  return words === null ? [] : [`callback_url: ${words}`];
}

/** The service's names for what does not work (specification §3, service-facts.md §8), and ours for what is not there. */
const brokenStatuses: ReadonlySet<string> = new Set(['degraded', 'failed', 'cancelled', 'missing']);

/**
 * Whether a subscription of this status sends. The service's name of a working one is not specified, so every other word
 * is one; `accepted` is ours, where it took a PUT and said no status. Null (never asked or never put) is none.
 */
export function isWorking(status: string | null): boolean {
  return status !== null && !brokenStatuses.has(status);
}

/** What the public address answered to a request of our own; `skipped`: it was not asked. */
export type SelfTest = 'passed' | 'failed' | 'skipped';

export interface RepairFacts {
  /** Attempts in a row after which it did not work. */
  readonly failures: number;
  /** No attempt before this instant. */
  readonly not_before: number | null;
  readonly can: { readonly reactivate: boolean };
}

/** What is to be done about a subscription that does not send. */
export type Repair =
  | { readonly action: 'nothing' }
  | { readonly action: 'wait'; readonly until: number }
  /** After a self-test of the public address: see `afterSelfTest`. */
  | { readonly action: 'reactivate' | 'put'; readonly self_test: true }
  | { readonly action: 'recreate'; readonly self_test: false };

/** A pause longer than any that we make: the clock was set back since. */
const longestPauseMs = 25 * 3_600_000;

function isGone(held: Pick<HeldSubscription, 'status'> | null): boolean {
  return held?.status === 'cancelled' || held?.status === 'missing';
}

function isPause(not_before: number | null, now: number): not_before is number {
  return not_before !== null && not_before > now && not_before - now < longestPauseMs;
}

/** How to bring a subscription back (reliability.md §2.4). Whether a PUT revives a degraded one is an assumption. */
export function repairOf(status: string | null, facts: RepairFacts, now: number): Repair {
  if (status === null || isWorking(status)) return { action: 'nothing' };
  const { not_before, can } = facts;
  if (isPause(not_before, now)) return { action: 'wait', until: not_before };
  if (isGone({ status })) return { action: 'recreate', self_test: false };
  return { action: can.reactivate ? 'reactivate' : 'put', self_test: true };
}

/** Self-tests that may fail in a row before it is tried all the same: not every network lets us reach our own public address. */
const selfTestsBelieved = 3;

/** Whether to go on after a self-test: while the address answers nobody, what is revived breaks again. */
export function afterSelfTest(self_test: SelfTest, { failures }: Pick<RepairFacts, 'failures'>): 'go' | 'wait' {
  return self_test === 'failed' && failures < selfTestsBelieved ? 'wait' : 'go';
}

/** An epoch of a callback address, as it is stored (inbox/addresses.ts). */
export interface EpochState {
  readonly epoch: number;
  readonly begun_at: number;
  /** When the service was known to have it; null: not yet. */
  readonly announced_at: number | null;
  /** How long it is still accepted; null: without end. */
  readonly until: number | null;
}

export function newestOf<Epoch extends Pick<EpochState, 'epoch'>>(epochs: readonly Epoch[]): Epoch | null {
  return epochs.reduce<Epoch | null>(
    (newest, each) => (newest === null || each.epoch > newest.epoch ? each : newest),
    null,
  );
}

/** The next step of a rotation: `put` tells the service of `epoch`, which is accepted already. */
export type RotationStep =
  | { readonly step: 'begin' }
  | { readonly step: 'put'; readonly epoch: number }
  | { readonly step: 'rest'; readonly until: number };

/**
 * Where a rotation stands, from what is stored alone, so that a kill between any two steps is taken up again: the new
 * address is accepted (`begin`), the service is told (`put`), and once it has it the old one is accepted for the grace
 * and dropped by time alone.
 */
export function rotationStep(epochs: readonly EpochState[], rotate_every: number, now: number): RotationStep {
  const newest = newestOf(epochs);
  if (newest === null) return { step: 'begin' };
  if (newest.announced_at === null) return { step: 'put', epoch: newest.epoch };
  // An instant that has not come yet counts as absent: a machine that once lived in 2038 rotates again.
  if (newest.announced_at > now + futureToleranceMs) return { step: 'begin' };
  const until = newest.announced_at + rotate_every;
  return until <= now ? { step: 'begin' } : { step: 'rest', until };
}

export interface StepFacts extends RepairFacts {
  /** Why the last attempt did not work; null: it did, as far as is known, and only a repair has to wait. */
  readonly failure: string | null;
  /** The last PUT that was accepted, and whether it said what is wanted now. */
  readonly put_at: number | null;
  readonly put: 'same' | 'other';
  /** When a PUT was last sent against an address that is not ours. */
  readonly wrested_at: number | null;
  /** Whether an address that is not ours is somebody else's; it may be an old one of our own that we cannot tell. */
  readonly foreign: 'theirs' | 'perhaps ours';
}

/** What the daemon does next about one subscription, and why. */
export type SubscriptionStep =
  | { readonly step: 'nothing' }
  | { readonly step: 'put'; readonly reason: 'differs' | 'missing' | 'cancelled' | 'rotation' | 'taken' }
  | { readonly step: 'rotate' }
  /** The service calls the newest address already. */
  | { readonly step: 'announced' }
  | { readonly step: 'repair'; readonly action: 'reactivate' | 'put' };

const dayMs = 24 * 3_600_000;

/**
 * The next step. What a service makes of a PUT is its own: one that said the same, and was accepted within a day, is not
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
  // Two programs that both overwrite it would do so for ever: one PUT a day, and an alarm.
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

/** Change types in the order of the specification, each once. */
function inOrder(types: readonly ChangeType[]): ChangeType[] {
  return changeTypes.filter((type) => types.includes(type));
}

function ascending(a: number, b: number): number {
  return a - b;
}
