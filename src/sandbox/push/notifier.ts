import { type Clock, minuteMs } from '../../kernel/clock.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import type { ProductChange, SandboxChangeType } from '../world/mutations.ts';
import { delivery, type Post, postJson, type SendOutcome } from './delivery.ts';
import type {
  RequestedSubscription,
  SandboxSubscriptionStatus,
  SandboxSubscriptions,
  Subscription,
  SubscriptionCounts,
} from './subscriptions.ts';

export interface NotifierOptions {
  /**
   * Milliseconds for which the changes of a product are held, from the first one on; 0: until the caller's turn of the
   * event loop ends.
   */
  readonly hold_ms?: number;
  /** The contents of one POST: all due products of a subscription, or one product. */
  readonly batch?: 'what is ripe' | 'one product';
  readonly reason_name?: ReasonName;
  /** The waits before the second and each further attempt, in milliseconds. */
  readonly retry_ms?: readonly number[];
  /** The most milliseconds that an answer may take. */
  readonly callback_timeout_ms?: number;
  /** The address to which the older system sends, in addition to the subscriptions. */
  readonly legacy_callback_url?: string | null;
  readonly troubles?: Partial<Troubles>;
  /** The network to the receiver. Default: the real one; tests pass their own. */
  readonly post?: Post;
}

/** Faults of notifications, each as a share from 0 to 1. */
export interface Troubles {
  /** Never sent, although the service believes they were. */
  readonly lost: number;
  /** Sent twice. */
  readonly duplicated: number;
  /** Sent up to three hold times later, so that others overtake them, even those of the same product. */
  readonly reordered: number;
  /** Attempts refused by a proxy in front of the receiver. */
  readonly refused: number;
}

/** The sending side of change notifications: holds, merges, sends, retries and gives up. */
export interface Notifier extends AsyncDisposable {
  changed(product: SandboxProduct, change: ProductChange): void;
  /** Returns the number of the last held change. */
  lastChange(): number;
  /** Returns the number of products held for a subscription. */
  held(subscription: Subscription): number;
  /** Returns the number of POSTs under way. */
  inFlight(): number;
  setTroubles(troubles: Partial<Troubles>): void;
  /** Posts at once in the older system's format, with the same number of attempts. */
  sendLegacy(product: SandboxProduct, change_types: readonly LegacyChangeType[], url: string): Promise<SendOutcome>;
}

const peaceful: Troubles = { lost: 0, duplicated: 0, reordered: 0, refused: 0 };

export function notifier(
  { clock, chance, subscriptions }: { clock: Clock; chance: () => number; subscriptions: SandboxSubscriptions },
  {
    hold_ms = 5 * minuteMs,
    batch = 'what is ripe',
    reason_name = 'reason_code',
    retry_ms = [20_000, 40_000, 80_000, 160_000, 320_000],
    callback_timeout_ms = 10_000,
    legacy_callback_url = null,
    troubles: initial = {},
    post = postJson,
  }: NotifierOptions,
): Notifier {
  const held = holding(hold_ms);
  const deliveries = delivery(clock, callback_timeout_ms, post);
  let troubles: Troubles = { ...peaceful, ...initial };

  /** Schedules one timer for all held products, which fires when the next one is due. */
  function wakeWhenRipe(): void {
    const at = held.nextAt();
    if (at === null) return;
    deliveries.after(Math.max(0, at - clock.monotonic()), () => {
      announce(held.ripe(clock.monotonic()));
      wakeWhenRipe();
    });
  }

  function announce(ripe: readonly Held[]): void {
    for (const subscription of subscriptions.all()) {
      const own = ripe.flatMap((each) => concerning(subscription, each) ?? []);
      const parcels = batch === 'one product' ? own.map((each) => [each]) : own.length === 0 ? [] : [own];
      for (const outgoing of parcels) notify(subscription, outgoing);
    }
    if (legacy_callback_url === null) return;
    for (const { product, changes } of ripe) {
      const types = legacyTypes([...changes.values()].map(({ change }) => change));
      void sendLegacy(product, types, legacy_callback_url);
    }
  }

  function concerning(subscription: Subscription, { product, changes }: Held): Announced | null {
    if (!subscription.covers(product)) return null;
    const asked = new Set(subscription.request.change_types);
    const own = [...changes.values()]
      .filter(({ number, change }) => number > subscription.created_after && asked.has(change.change_type))
      .map(({ change }) => change);
    return own.length === 0 ? null : { product, changes: own };
  }

  function notify(subscription: Subscription, announced: readonly Announced[]): void {
    if (!isSending(subscription)) return;
    if (subscription.sending === 'none' || happens(troubles.lost)) {
      subscription.counts.lost += 1;
      return;
    }
    const body = notificationBody(subscription.subscription_id, announced, reason_name);
    const later = happens(troubles.reordered) ? chance() * 3 * hold_ms : 0;
    const copies = happens(troubles.duplicated) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      subscription.counts.pending += 1;
      deliveries.after(later, () => deliver(subscription, body));
    }
  }

  /**
   * Delivers a notification. Giving up degrades the subscription. A degraded subscription still gets notifications, but
   * each only once.
   */
  async function deliver(subscription: Subscription, body: string): Promise<void> {
    const { counts, subscription_id } = subscription;
    const waits = subscriptions.status(subscription) === 'active' ? retry_ms : [];
    const outcome = await deliveries.send(`subscription ${subscription_id}`, {
      body,
      waits,
      // The current address of the subscription.
      target: () => {
        if (!isSending(subscription)) return null;
        counts.attempts += 1;
        return happens(troubles.refused) ? null : subscription.request.callback_url;
      },
    });
    if (outcome === 'ended') return;
    counts.pending -= 1;
    counts[outcome] += 1;
    if (outcome === 'failed') subscriptions.degrade(subscription);
  }

  function sendLegacy(
    product: SandboxProduct,
    change_types: readonly LegacyChangeType[],
    url: string,
  ): Promise<SendOutcome> {
    return deliveries.send('legacy', { body: legacyBody(product, change_types), waits: retry_ms, target: () => url });
  }

  function isSending(subscription: Subscription): boolean {
    const status = subscriptions.status(subscription);
    return status === 'active' || status === 'degraded';
  }

  function happens(share: number): boolean {
    return share > 0 && chance() < share;
  }

  return {
    changed: (product, change) => {
      // Nothing is held if there is no receiver.
      if (subscriptions.all().length === 0 && legacy_callback_url === null) return;
      const asleep = held.nextAt() === null;
      held.add(product, change, clock.monotonic());
      if (asleep) wakeWhenRipe();
    },
    lastChange: () => held.last(),
    held: (subscription) => held.all().filter((each) => concerning(subscription, each) !== null).length,
    inFlight: () => deliveries.inFlight(),
    setTroubles: (to) => {
      troubles = { ...troubles, ...to };
    },
    sendLegacy,
    [Symbol.asyncDispose]: () => deliveries[Symbol.asyncDispose](),
  };
}

/** The changes of a product that wait to be announced, only the last of each type (specification §6 rule 3). */
interface Held {
  readonly product: SandboxProduct;
  /** Instant by the monotonic clock at which they are due: the hold time after the first of them. */
  readonly ripe_at: number;
  /** The changes by type, in the order in which they were made, each with its number. */
  readonly changes: ReadonlyMap<SandboxChangeType, { readonly number: number; readonly change: ProductChange }>;
}

interface Holding {
  /** Returns the number of the last held change. */
  last(): number;
  add(product: SandboxProduct, change: ProductChange, now: number): void;
  /** Returns the instant at which the next product is due; null: none is held. */
  nextAt(): number | null;
  /** Removes and returns the products that are due. */
  ripe(now: number): Held[];
  all(): Held[];
}

function holding(hold_ms: number): Holding {
  // Every product is held for the same time, so the first one in is the first one out.
  const held = new Map<number, Held & { changes: Map<SandboxChangeType, { number: number; change: ProductChange }> }>();
  let number = 0;
  return {
    last: () => number,
    add: (product, change, now) => {
      number += 1;
      const known = held.get(product.id) ?? { product, ripe_at: now + hold_ms, changes: new Map() };
      held.set(product.id, known);
      known.changes.delete(change.change_type);
      known.changes.set(change.change_type, { number, change });
    },
    nextAt: () => held.values().next().value?.ripe_at ?? null,
    ripe: (now) => {
      const found: Held[] = [];
      for (const each of held.values()) {
        if (each.ripe_at > now) break;
        held.delete(each.product.id);
        found.push(each);
      }
      return found;
    },
    all: () => [...held.values()],
  };
}

/** The member that holds the reason. The interface description shows both names (specification §2). */
type ReasonName = 'reason_code' | 'reason' | 'both';

/** The changes of one product that are announced together, oldest first. */
interface Announced {
  readonly product: SandboxProduct;
  readonly changes: readonly ProductChange[];
}

/** Returns the body of a notification in the documented form. */
function notificationBody(subscription_id: string, announced: readonly Announced[], reason: ReasonName): string {
  const products = announced.map(({ product, changes }) => ({
    product_id: product.id,
    changes: changes.map((change) => printChange(change, reason)),
  }));
  return JSON.stringify({ subscription_id, products });
}

function printChange(change: ProductChange, name: ReasonName): object {
  if (change.change_type !== 'checkout_disabled') return change;
  const { change_type, reason, expected_reopening, alternative } = change;
  return {
    change_type,
    ...(name === 'reason' ? {} : { reason_code: reason }),
    ...(name === 'reason_code' ? {} : { reason }),
    expected_reopening,
    ...(alternative === null ? {} : { recommended_alternative_product_id: alternative }),
  };
}

export type LegacyChangeType = 'checkout' | 'closure' | 'content';

/**
 * Returns the older system's body: one product. Only its reason shows the direction of the change.
 */
function legacyBody(
  { id, reason, reopen, alternative }: SandboxProduct,
  change_types: readonly LegacyChangeType[],
): string {
  const closes = change_types.some((each) => each !== 'content');
  return JSON.stringify({
    product_id: id,
    change_types,
    reason: closes ? reason : null,
    reopening_date: closes ? reopen : null,
    alternative_product_id: closes ? alternative : null,
  });
}

const legacyType: Readonly<Record<ProductChange['change_type'], LegacyChangeType>> = {
  checkout_disabled: 'checkout',
  checkout_enabled: 'checkout',
  product_details_update: 'content',
};

/** Returns the older system's names of these changes. */
function legacyTypes(changes: readonly ProductChange[]): LegacyChangeType[] {
  return [...new Set(changes.map(({ change_type }) => legacyType[change_type]))];
}

/** The current state of a subscription in the service. Counts are of notifications; `held` counts products. */
export interface SubscriptionSnapshot extends SubscriptionCounts {
  readonly subscription_id: string;
  readonly type: RequestedSubscription['subscription_type'];
  readonly status: SandboxSubscriptionStatus;
  /** Null for products_i_sell. */
  readonly entity_ids: readonly number[] | null;
  readonly change_types: RequestedSubscription['change_types'];
  readonly callback_url: string;
  readonly sending: 'all' | 'none';
  readonly held: number;
}

export function snapshots(subscriptions: SandboxSubscriptions, { held }: Notifier): SubscriptionSnapshot[] {
  return subscriptions.all().map((subscription) => {
    const { subscription_id, request, sending, counts } = subscription;
    return {
      subscription_id,
      type: request.subscription_type,
      status: subscriptions.status(subscription),
      entity_ids: request.entity_ids ?? null,
      change_types: request.change_types,
      callback_url: request.callback_url,
      sending,
      ...counts,
      held: held(subscription),
    };
  });
}
