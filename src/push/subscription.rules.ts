import { type AddressOwner, type AddressStanding, type EpochState, standingOf } from './callback-epoch.rules.ts';

/*
 * Subscriptions to change notifications (specification §2 and §3): turns declarations into requests, and compares these
 * with the service's subscriptions.
 */

export const changeTypes = ['checkout_disabled', 'checkout_enabled', 'product_details_update'] as const;
export type ChangeType = (typeof changeTypes)[number];
export type SubscriptionType = 'product_ids' | 'experience_ids' | 'products_i_sell';

/** One entry of `subscriptions` in the configuration. */
export interface DeclaredSubscription {
  readonly id: string;
  readonly type: SubscriptionType;
  /** Every product or experience in the mirror, or these ids. Absent with products_i_sell. */
  readonly entities?: 'mirrored' | readonly number[] | undefined;
  /**
   * With `mirrored`: only those of these categories, in these cities, in these countries. All conditions that are set
   * must hold.
   */
  readonly categories?: readonly string[] | undefined;
  readonly city_ids?: readonly number[] | undefined;
  readonly country_ids?: readonly number[] | undefined;
  readonly change_types: readonly ChangeType[];
}

/**
 * A subscription that the service should have: a declaration, or a part of one if its list is too long for one request.
 */
export interface WantedSubscription {
  readonly subscription_id: string;
  readonly declared_id: string;
  readonly type: SubscriptionType;
  /** Ascending. Null for products_i_sell, because the service keeps the list. */
  readonly entity_ids: readonly number[] | null;
  readonly change_types: readonly ChangeType[];
}

/** Content of a subscription in an answer. Null: left out. */
export interface SubscriptionContent {
  readonly type: string | null;
  readonly entity_ids: readonly number[] | null;
  readonly change_types: readonly string[] | null;
}

/** A subscription as the service is known to have it. Null: not known from its answers or our last PUT. */
export interface ServiceSubscription extends SubscriptionContent {
  readonly status: string | null;
  /** State of the address that it calls. */
  readonly address: AddressStanding | null;
}

/** The stored facts of the service's subscription. */
export interface ServiceSubscriptionFacts extends Omit<ServiceSubscription, 'type' | 'address'> {
  readonly held_type: string | null;
  readonly address: AddressOwner | null;
  readonly epoch: number | null;
}

/** Returns the subscription that the service is known to have; null: it was never asked. */
export function serviceSubscriptionOf(
  row: ServiceSubscriptionFacts | null,
  epochs: readonly EpochState[],
  now: number,
): ServiceSubscription | null {
  if (row === null || row.status === null) return null;
  const { held_type: type, entity_ids, change_types, status } = row;
  return { type, entity_ids, change_types, status, address: standingOf(row, epochs, now) };
}

/** Returns whether the service has none, or has ended it: only a PUT brings it back. */
export function isGone(
  held: ServiceSubscription | null,
): held is ServiceSubscription & { status: 'cancelled' | 'missing' } {
  return held?.status === 'cancelled' || held?.status === 'missing';
}

/** Returns what applying a declaration would do. */
export function actionOn(wanted: WantedSubscription, held: ServiceSubscription | null): 'create' | 'update' | 'none' {
  if (held === null || isGone(held)) return 'create';
  return needsPut(wanted, held) ? 'update' : 'none';
}

/**
 * Returns the differences, one phrase per field; empty if there are none. Never contains an address, only its state.
 */
export function differences(wanted: WantedSubscription, held: ServiceSubscription | null): string[] {
  if (!isThere(held)) return ['not there'];
  return [
    ...differencesInContent(wanted, held),
    ...(isWorking(held.status) ? [] : [`status: ${held.status ?? 'not known'}`]),
  ];
}

function isThere(held: ServiceSubscription | null): held is ServiceSubscription {
  return held !== null && held.status !== 'missing';
}

/** Returns the differences that a PUT of the wanted subscription would remove. */
function differencesInContent(wanted: WantedSubscription, held: ServiceSubscription): string[] {
  return [
    ...(held.type === wanted.type ? [] : [`type: ${held.type ?? 'not known'} instead of ${wanted.type}`]),
    ...entityDifferences(wanted.entity_ids, held.entity_ids),
    ...changeTypeDifferences(wanted.change_types, held.change_types),
    ...addressDifferences(held.address),
  ];
}

/**
 * Returns whether a PUT of the wanted subscription would change anything. A different status alone is a matter of
 * repair.
 */
export function needsPut(wanted: WantedSubscription, held: ServiceSubscription | null): boolean {
  return !isThere(held) || differencesInContent(wanted, held).length > 0;
}

function entityDifferences(wanted: readonly number[] | null, held: readonly number[] | null): string[] {
  // An empty list and no list mean the same for products_i_sell.
  if (wanted === null) return held === null || held.length === 0 ? [] : [`entity_ids: ${held.length} instead of none`];
  if (held === null) return ['entity_ids: not known'];
  const [here, there] = [new Set(wanted), new Set(held)];
  const more = wanted.filter((id) => !there.has(id)).length;
  const less = [...there].filter((id) => !here.has(id)).length;
  const parts = [...(more > 0 ? [`${more} more`] : []), ...(less > 0 ? [`${less} less`] : [])];
  return parts.length === 0 ? [] : [`entity_ids: ${parts.join(', ')}`];
}

function changeTypeDifferences(wanted: readonly ChangeType[], held: readonly string[] | null): string[] {
  if (held === null) return ['change_types: not known'];
  const [here, there] = [inOrder(wanted), [...new Set(held)]];
  return here.length === there.length && here.every((type) => there.includes(type))
    ? []
    : [`change_types: ${there.length === 0 ? 'none' : there.join(' ')} instead of ${here.join(' ')}`];
}

const addressText: Readonly<Record<AddressStanding, string | null>> = {
  current: null,
  grace: 'another epoch, which is still accepted',
  dropped: 'another epoch, which is accepted no more',
  moved: 'another public address',
  foreign: 'an address that is not ours',
};

function addressDifferences(address: AddressStanding | null): string[] {
  const text = address === null ? 'not known' : addressText[address];
  return text === null ? [] : [`callback_url: ${text}`];
}

/**
 * Statuses of broken subscriptions: the service's (specification §3), words that mean the same elsewhere, and ours for a
 * missing one.
 */
export const silentStatuses = [
  'degraded', 'failed', 'cancelled', 'missing', 'canceled', 'suspended', 'revoked', 'disabled', 'inactive', 'paused',
  'stopped', 'blocked', 'expired', 'deleted', 'terminated', 'deactivated', 'unsubscribed', 'error',
] as const; // biome-ignore format: words
const broken: ReadonlySet<string> = new Set(silentStatuses);

/**
 * Statuses that are known to work; `accepted` is ours, for an accepted PUT without a status. The service's name for it is
 * not specified: any other word is relied on only once a delivery has arrived under it.
 */
export const sendingStatuses = [
  'active', 'accepted', 'enabled', 'working', 'ok', 'live', 'running', 'subscribed', 'verified', 'confirmed',
] as const; // biome-ignore format: words

/** Returns whether a subscription of this status is in order. Null (never read or put) is not. */
export function isWorking(status: string | null): boolean {
  return status !== null && !broken.has(status);
}

/** Returns whether a subscription sends nothing and is to be repaired. One that was never put is new, not broken. */
export function isBroken(status: string | null, put_at: number | null): boolean {
  return status !== null && !isWorking(status) && !(status === 'missing' && put_at === null);
}

/** Returns change types in the order of the specification, each once. */
export function inOrder(types: readonly ChangeType[]): ChangeType[] {
  return changeTypes.filter((type) => types.includes(type));
}
