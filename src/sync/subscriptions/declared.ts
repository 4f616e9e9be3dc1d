import { type EpochState, standingOf } from '../../domain/push/callback-epoch.ts';
import type { DeclaredSubscription, HeldSubscription, WantedSubscription } from '../../domain/push/subscription.ts';
import { wantedParts } from '../../domain/push/subscription-parts.ts';
import type { SelfTest } from '../../domain/push/subscription-step.ts';
import type { CallbackAddresses } from '../../inbox/addresses.ts';
import type { StoredSubscription } from '../../mirror/push/subscriptions.ts';
import type { MirrorFacts } from '../../mirror/reading.ts';
import type { Subscriptions } from '../../upstream/subscriptions.ts';
import type { Sync } from '../records/context.ts';

/** The ports of the work on subscriptions. */
export interface SubscriptionPorts extends Sync {
  readonly service: Subscriptions;
  readonly addresses: CallbackAddresses;
  readonly settings: SubscriptionSettings;
  /** Returns false while the machine's clock is in doubt: then no callback address is replaced because of its age. */
  mayRotate(): boolean;
  /** Calls our own public address from outside. */
  selfTest(
    signal: AbortSignal,
  ): Promise<{ readonly result: SelfTest; readonly message: string; readonly answered?: boolean }>;
}

export interface SubscriptionSettings {
  readonly declared: readonly DeclaredSubscription[];
  readonly public_url: string;
  /** True: the configuration says that subscriptions can be read. */
  readonly reads: boolean;
  /** The most entities in one subscription. */
  readonly most: number;
  /** Milliseconds. */
  readonly rotate_every: number;
  readonly grace: number;
}

/**
 * Returns the subscriptions that the service should have. Those with `entities: mirrored` wait until the lists have
 * been read once.
 */
export function wantedSubscriptions({
  mirror,
  settings,
}: {
  readonly mirror: MirrorFacts;
  readonly settings: Pick<SubscriptionSettings, 'declared' | 'most'>;
}): {
  readonly wanted: WantedSubscription[];
  /** Declarations that wait for the first walk over the lists. */
  readonly waiting: string[];
} {
  const { declared, most } = settings;
  const table = mirror.push.subscriptions;
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

function entitiesOf(mirror: MirrorFacts, declared: DeclaredSubscription): readonly number[] | null {
  const { type, entities = null, categories = null, city_ids = null, country_ids = null } = declared;
  if (type === 'products_i_sell') return null;
  return entities === 'mirrored'
    ? mirror.push.subscriptions.mirrored(type, { categories, city_ids, country_ids })
    : entities;
}

/** Stores the wanted subscriptions, and logs those no longer declared. */
export function declareSubscriptions(ports: SubscriptionPorts): ReturnType<typeof wantedSubscriptions> {
  const { mirror, clock, log } = ports;
  return mirror.transaction(() => {
    const plan = wantedSubscriptions(ports);
    for (const subscription_id of mirror.push.subscriptions.declare(plan.wanted))
      log.warn({ subscription_id }, 'subscription no longer declared, but the service offers no way to delete it');
    mirror.push.subscriptions.cover(clock.now());
    return plan;
  });
}

/** Returns the subscription that the service is known to have; null: it was never asked, or has none. */
export function heldOf(ports: SubscriptionPorts, row: StoredSubscription): HeldSubscription | null {
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

export function epochsOf({ addresses }: SubscriptionPorts, subscription_id: string): EpochState[] {
  return addresses.states().filter((each) => each.subscription_id === subscription_id);
}

/**
 * Returns whether the service calls an address that is not ours. If none of ours was ever announced, the address may be
 * ours under another master secret, or that of an earlier installation, and does not count as foreign.
 */
export function isTaken(ports: SubscriptionPorts, row: StoredSubscription): boolean {
  const announced = epochsOf(ports, row.subscription_id).some(({ announced_at }) => announced_at !== null);
  return row.address === 'foreign' && announced && !ports.addresses.masterChanged();
}
