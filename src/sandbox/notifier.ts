import type { Clock } from '../clock.ts';
import type { SandboxProduct } from './catalogue.ts';
import { type Held, holding } from './holding.ts';
import type { ProductChange } from './mutations.ts';
import {
  type Announced,
  type LegacyChangeType,
  legacyBody,
  legacyTypes,
  notificationBody,
  type ReasonName,
} from './notification-body.ts';
import { postJson } from './post.ts';
import type { Subscription, Subscriptions } from './subscriptions.ts';

export interface NotifierOptions {
  /** How long the changes of a product are held, from the first on. */
  readonly hold_ms?: number;
  /** What one POST carries: all that is ripe for a subscription, or each product by itself. */
  readonly batch?: 'what is ripe' | 'one product';
  readonly reason_name?: ReasonName;
  /** The waits before the second attempt and those after it. */
  readonly retry_ms?: readonly number[];
  /** How long an answer may take. */
  readonly callback_timeout_ms?: number;
  /** Where the older system sends to, beside the subscriptions. */
  readonly legacy_callback_url?: string | null;
  readonly troubles?: Partial<Troubles>;
}

/** Shares of the notifications, from 0 to 1. */
export interface Troubles {
  /** Never sent, although the service believes so. */
  readonly lost: number;
  /** Sent twice. */
  readonly duplicated: number;
  /** Sent up to three hold times later, so that others overtake them, also those of the same product. */
  readonly reordered: number;
}

/** The sending side of change notifications: holds, merges, sends, tries again, gives up. */
export interface Notifier extends AsyncDisposable {
  changed(product: SandboxProduct, change: ProductChange): void;
  /** The number of the last change that was held for anybody. */
  lastChange(): number;
  /** Products that are held for a subscription. */
  held(subscription: Subscription): number;
  /** POSTs under way. */
  inFlight(): number;
  setTroubles(troubles: Partial<Troubles>): void;
  /** Posts in the words of the older system, at once. Resolves when it is answered or given up: true where with 200. */
  sendLegacy(product: SandboxProduct, change_types: readonly LegacyChangeType[], url: string): Promise<boolean>;
}

const minute = 60_000;
const peaceful: Troubles = { lost: 0, duplicated: 0, reordered: 0 };

export function notifier(
  { clock, chance, subscriptions }: { clock: Clock; chance: () => number; subscriptions: Subscriptions },
  {
    hold_ms = 5 * minute,
    batch = 'what is ripe',
    reason_name = 'reason_code',
    retry_ms = [20_000, 40_000, 80_000, 160_000, 320_000],
    callback_timeout_ms = 10_000,
    legacy_callback_url = null,
    troubles: initial = {},
  }: NotifierOptions,
): Notifier {
  const held = holding(hold_ms);
  const stop = new AbortController();
  const work = new Set<Promise<unknown>>();
  /** The first attempts for one subscription go one behind the other. */
  const lines = new Map<string, Promise<unknown>>();
  let troubles: Troubles = { ...peaceful, ...initial };
  let inFlight = 0;
  let waking = false;

  /** Work goes on by itself until the end; what the end interrupts is no fault. */
  function begin(task: () => Promise<unknown>): void {
    const running = task()
      .catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      })
      .finally(() => work.delete(running));
    work.add(running);
  }

  async function wakeWhenRipe(): Promise<void> {
    for (let at = held.nextAt(); at !== null; at = held.nextAt()) {
      await clock.sleep(Math.max(0, at - clock.monotonic()), stop.signal);
      announce(held.ripe(clock.monotonic()));
    }
    waking = false;
  }

  function announce(ripe: readonly Held[]): void {
    for (const subscription of subscriptions.all()) {
      const own = ripe.flatMap((each) => concerning(subscription, each) ?? []);
      const parcels = batch === 'one product' ? own.map((each) => [each]) : own.length === 0 ? [] : [own];
      for (const parcel of parcels) send(subscription, parcel);
    }
    if (legacy_callback_url === null) return;
    for (const { product, changes } of ripe) {
      const types = legacyTypes([...changes.values()].map(({ change }) => change));
      begin(() => sendLegacy(product, types, legacy_callback_url));
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

  function send(subscription: Subscription, parcel: readonly Announced[]): void {
    if (!isSending(subscription)) return;
    if (subscription.sending === 'none' || happens(troubles.lost)) {
      subscription.counts.lost += 1;
      return;
    }
    const body = notificationBody(subscription.subscription_id, parcel, reason_name);
    const later = happens(troubles.reordered) ? chance() * 3 * hold_ms : null;
    const copies = happens(troubles.duplicated) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      subscription.counts.pending += 1;
      if (later === null) line(subscription, body);
      else begin(() => clock.sleep(later, stop.signal).then(() => line(subscription, body)));
    }
  }

  /** Behind what is being sent to the same subscription. */
  function line(subscription: Subscription, body: string): void {
    const { subscription_id } = subscription;
    inFlight += 1;
    const before = lines.get(subscription_id) ?? Promise.resolve();
    const first = before
      .then(() => attempt(subscription, body))
      .finally(() => {
        inFlight -= 1;
        if (lines.get(subscription_id) === first) lines.delete(subscription_id);
      });
    lines.set(subscription_id, first);
    // A degraded one is still sent to, but each notification only once.
    const waits = subscriptions.status(subscription) === 'active' ? retry_ms : [];
    begin(() => first.then((done) => retry(subscription, body, { done, waits })));
  }

  /** Tries again after each wait; then it is given up, and the subscription degraded. */
  async function retry(
    subscription: Subscription,
    body: string,
    { done: first, waits }: { done: boolean; waits: readonly number[] },
  ): Promise<void> {
    let done = first;
    for (const wait of waits) {
      if (done) break;
      await clock.sleep(wait, stop.signal);
      done = await counted(() => attempt(subscription, body));
    }
    subscription.counts.pending -= 1;
    subscription.counts[done ? 'delivered' : 'failed'] += 1;
    if (!done) subscriptions.degrade(subscription);
  }

  /** To the address that the subscription has by now. */
  async function attempt(subscription: Subscription, body: string): Promise<boolean> {
    if (!isSending(subscription)) return false;
    subscription.counts.attempts += 1;
    return post(subscription.request.callback_url, body);
  }

  /** Only 200 counts. */
  async function post(url: string, body: string): Promise<boolean> {
    using deadline = clock.deadline(callback_timeout_ms, stop.signal);
    try {
      return (await postJson(url, body, deadline.signal)) === 200;
    } catch {
      stop.signal.throwIfAborted();
      return false;
    }
  }

  async function counted<Result>(task: () => Promise<Result>): Promise<Result> {
    inFlight += 1;
    try {
      return await task();
    } finally {
      inFlight -= 1;
    }
  }

  async function sendLegacy(
    product: SandboxProduct,
    change_types: readonly LegacyChangeType[],
    url: string,
  ): Promise<boolean> {
    const body = legacyBody(product, change_types);
    for (const wait of [0, ...retry_ms]) {
      if (wait > 0) await clock.sleep(wait, stop.signal);
      if (await counted(() => post(url, body))) return true;
    }
    return false;
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
      // Without anybody to tell, nothing is held.
      if (subscriptions.all().length === 0 && legacy_callback_url === null) return;
      held.add(product, change, clock.monotonic());
      if (waking) return;
      waking = true;
      begin(wakeWhenRipe);
    },
    lastChange: () => held.last(),
    held: (subscription) => held.all().filter((each) => concerning(subscription, each) !== null).length,
    inFlight: () => inFlight,
    setTroubles: (to) => {
      troubles = { ...troubles, ...to };
    },
    sendLegacy,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the sandbox has ended'));
      await Promise.allSettled(work);
    },
  };
}
