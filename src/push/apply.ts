import { setImmediate } from 'node:timers/promises';
import { type Instant, instant } from '../kernel/clock.ts';
import { CataloguedError } from '../kernel/errors.ts';
import { faultOf } from '../kernel/sqlite/fault.ts';
import type { Deliveries, Settled } from '../receiver/deliveries.store.ts';
import type { Delivery } from '../receiver/delivery.ts';
import { failureOf } from '../says/conditions/outcome.rules.ts';
import { askAnnounced } from '../schedule/announced.ts';
import { askDecidingReads, createPlacesInLists, walkListSoon } from '../schedule/deciding-reads.ts';
import type { Sync } from '../schedule/sync.ts';
import { isAwaited } from './awaited.rules.ts';
import { isOldAddressUsed } from './callback-epoch.rules.ts';
import { confirmApartMs, mayApply } from './closure.rules.ts';
import type { StoredClosure } from './closures.store.ts';
import { awaitedMembers } from './news.rules.ts';
import { decodeNotification, type Notification, notUnderstood, type ProductNotice } from './notification.rules.ts';
import { type ChangeType, changeTypes } from './subscription.rules.ts';

/** The number of deliveries by outcome. */
export type Applied = Readonly<Record<Settled, number>>;

/** The number of deliveries handled together. */
const batch = 20;
/** The number of products stored in one transaction. */
const slice = 200;
/** A delivery with at most this many products is small: a whole batch of them is stored in one transaction. */
const fewNotices = slice / batch;
const largeBytes = 64 * 1024;

/**
 * Applies the stored deliveries in order. Deliveries that arrive meanwhile are left for the next
 * run. Idempotent: the number of a delivery is stored in the transaction of its last effect, so a kill may repeat a
 * delivery but never skip one.
 */
export async function applyDeliveries(sync: Sync, deliveries: Deliveries, signal: AbortSignal): Promise<Applied> {
  const { mirror, clock, log } = sync;
  const counts = { applied: 0, superseded: 0, quarantined: 0 };
  const newest = deliveries.newest();
  while (!signal.aborted) {
    // A standby stamps deliveries by its own clock, which may be ahead of ours.
    const found = deliveries
      .after(0, batch)
      .filter(({ delivery_id }) => delivery_id <= newest)
      .map((each) => ({ ...each, received_at: instant(Math.min(each.received_at, clock.now())) }));
    if (found.length === 0) break;
    const appliedUpTo = mirror.lastDelivery();
    const notifications: Notification[] = [];
    for (const delivery of found) {
      notifications.push(decodeOrSetAside(sync, delivery));
      // Decoding a large one takes ten milliseconds: let the event loop turn before the next.
      if (delivery.body.length > largeBytes) await setImmediate();
    }
    const superseded = supersededAmong(notifications);
    const decoded = found.map((delivery, index): Decoded => {
      const notification = notifications[index] ?? nothing;
      const state = notification.quarantine !== null ? 'quarantined' : superseded.has(index) ? 'superseded' : 'applied';
      return { delivery, state, notification };
    });
    // Lower numbers were already applied by a process that was killed before it could update the inbox: only the inbox
    // is updated.
    const applied = await applyOrSetAside(
      sync,
      decoded.filter(({ delivery }) => delivery.delivery_id > appliedUpTo),
    );
    const settled = [...decoded.filter(({ delivery }) => delivery.delivery_id <= appliedUpTo), ...applied];
    deliveries.transaction(() => {
      for (const { delivery, state, notification } of settled)
        deliveries.settle(delivery.delivery_id, state, notification.quarantine, clock.now());
    });
    for (const { state } of settled) counts[state] += 1;
  }
  if (counts.quarantined > 0) log.warn({ ...counts }, 'undecodable deliveries quarantined');
  return counts;
}

interface Decoded {
  readonly delivery: Delivery;
  readonly notification: Notification;
  readonly state: Settled;
}

/** Decodes a delivery. One that meets a fault of ours counts as unreadable, so that it does not end the daemon at each start. */
function decodeOrSetAside({ log }: Sync, delivery: Delivery): Notification {
  try {
    return decodeNotification(delivery.body, delivery);
  } catch (error) {
    const { delivery_id, subscription_id } = delivery;
    log.error({ err: error, delivery_id, subscription_id }, 'a delivery cannot be decoded: the list is read');
    return { ...nothing, quarantine: 'not-applied' };
  }
}

const nothing: Notification = { form: 'current', notices: [], quarantine: 'not-json', understood: false };

const news = { closure: null, enabled: false, updated: true, fields: [] } as const;

/**
 * Applies deliveries. After a fault of ours each is applied by itself. One that fails again is set aside, and what it names
 * counts as changed; if that fails too, it counts as unreadable. So it does not end the daemon at each start.
 */
async function applyOrSetAside(sync: Sync, decoded: readonly Decoded[]): Promise<readonly Decoded[]> {
  try {
    await applyTogether(sync, decoded);
    return decoded;
  } catch (error) {
    // An error of a file or a disk says nothing about a delivery: it waits.
    if (error instanceof CataloguedError || faultOf(error) !== null) throw error;
    const [first] = decoded;
    if (first === undefined || decoded.length > 1) {
      const applied: Decoded[] = [];
      for (const each of decoded) applied.push(...(await applyOrSetAside(sync, [each])));
      return applied;
    }
    const { delivery, notification } = first;
    const isAgain = notification.quarantine === 'not-applied';
    if (isAgain && notification.notices.length === 0) throw error;
    const { delivery_id, subscription_id } = delivery;
    sync.log.error({ err: error, delivery_id, subscription_id }, 'a delivery cannot be applied: its products are read');
    const notices = isAgain ? [] : idsOf(notification.notices).map((product_id) => ({ ...news, product_id }));
    const rest: Notification = { ...notification, notices, quarantine: 'not-applied', understood: notices.length > 0 };
    return await applyOrSetAside(sync, [{ delivery, state: 'quarantined', notification: rest }]);
  }
}

/**
 * Applies deliveries in one transaction if all are small. Beside a large one each has its own, and a large one several, in
 * slices between which the event loop turns.
 */
async function applyTogether(sync: Sync, decoded: readonly Decoded[]): Promise<void> {
  const { mirror } = sync;
  const last = decoded.at(-1);
  if (last === undefined) return;
  if (decoded.every(({ notification }) => notification.notices.length <= fewNotices)) {
    mirror.transaction(() => {
      for (const each of decoded) applyRest(sync, each);
      mirror.noteDelivery({ last_delivery_id: last.delivery.delivery_id });
    });
    await setImmediate();
    return;
  }
  for (const each of decoded) {
    const { delivery, notification, state } = each;
    const { notices } = notification;
    let unknown = 0;
    let from = 0;
    for (; notices.length - from > slice; from += slice) {
      unknown += mirror.transaction(() => applyNotices(sync, delivery, notices.slice(from, from + slice), state));
      await setImmediate();
    }
    mirror.transaction(() => {
      if (unknown > 0) walkListSoon(sync);
      applyRest(sync, { ...each, notification: { ...notification, notices: notices.slice(from) } });
      mirror.noteDelivery({ last_delivery_id: delivery.delivery_id });
    });
  }
}

/** Applies a small delivery, or the last slice of a large one. */
function applyRest(sync: Sync, { delivery, state, notification }: Decoded): void {
  const { notices, quarantine } = notification;
  const unknown = applyNotices(sync, delivery, notices, state);
  if (unknown > 0 || quarantine !== null) walkListSoon(sync);
  noteUnderstood(sync, delivery, notification);
}

/** Counts deliveries that nobody understands: many of them are a gap (`healGaps`), which the next good one ends. */
function noteUnderstood(
  { mirror: { push }, log }: Sync,
  { subscription_id, received_at }: Delivery,
  { quarantine, understood }: Notification,
): void {
  if (quarantine === null) push.subscriptions.understood({ subscription_id });
  else if (!understood && push.subscriptions.notUnderstood(subscription_id, received_at) === notUnderstood.deliveries)
    log.error({ subscription_id, quarantine }, 'deliveries are not understood: nothing relies on this subscription');
}

/**
 * Applies the notices. Returns how many of their products are not in the mirror; 0 for a superseded delivery, because
 * the later one counts them.
 */
function applyNotices(sync: Sync, delivery: Delivery, notices: readonly ProductNotice[], state: Settled): number {
  const { mirror, clock, policy } = sync;
  const known = notices.filter(({ product_id }) => mirror.catalogue.products.isVisible(product_id));
  const isKnown = new Set(idsOf(known));
  for (const notice of known) noteNotice(sync, delivery, notice);
  // The later delivery has all other effects. Trust is counted by delivery, so the earlier one counts too.
  if (state === 'superseded') return 0;
  const others = notices.filter(({ product_id }) => !isKnown.has(product_id) && !policy.excluded.has(product_id));
  askAnnounced(sync, idsOf(others), delivery.received_at);
  const closing = known.filter(({ closure }) => closure !== null);
  const visible = closing.length > 0 ? mirror.catalogue.products.count() : 0;
  const held = closing.filter((notice) => close(sync, delivery, notice, visible)).length;
  if (held > 0)
    sync.log.error({ held }, 'too many closures announced at once: the rest take effect only after their reads');
  for (const { product_id, closure, enabled } of known)
    if (enabled && closure === null) noteReopening(sync, product_id);
  if (closing.length > 0) askDecidingReads(sync, idsOf(closing), 'closure-unconfirmed');
  if (known.length > 0) createPlacesInLists(sync, idsOf(known));
  if (known.length > 0) mirror.schedule.records.notify(idsOf(known), delivery.received_at, clock.now());
  return others.length;
}

function idsOf(notices: readonly ProductNotice[]): number[] {
  return notices.map(({ product_id }) => product_id);
}

/** Stores which subscription announced which change of a product, and the instant, because its trust depends on it. */
function noteNotice(
  { mirror }: Sync,
  { subscription_id, received_at }: Delivery,
  { product_id, closure, enabled, updated, fields }: ProductNotice,
): void {
  const documents = fields.length === 0 ? [] : mirror.push.notices.documentsOf(product_id);
  const isOld = isAwaited(
    documents.map(({ document }) => document),
    fields,
  );
  const members = awaitedMembers(documents, fields);
  const awaits = members.length === 0 ? null : JSON.stringify(members);
  const said: Readonly<Record<ChangeType, boolean>> = {
    checkout_disabled: closure !== null,
    checkout_enabled: enabled,
    product_details_update: updated,
  };
  for (const change_type of changeTypes)
    if (said[change_type])
      mirror.push.notices.noticed({
        subscription_id,
        product_id,
        change_type,
        received_at,
        awaited: isOld ? 1 : 0,
        awaits: change_type === 'product_details_update' ? awaits : null,
      });
}

/**
 * Takes a known product off sale at once, unless too many closures are unconfirmed. Returns whether the closure is held
 * until its read.
 */
function close(
  { mirror, clock }: Sync,
  { delivery_id, received_at }: Delivery,
  { product_id, closure, enabled }: ProductNotice,
  visible: number,
): boolean {
  if (closure === null) return false;
  const now = clock.now();
  const inForce = mirror.push.closures.inForce({ product_id });
  const already = inForce !== null && inForce.applied_at !== null && inForce.confirmed_at === null;
  const applies = already || mayApply(mirror.push.closures.recentlyUnconfirmed(now), visible);
  const reopened = enabled || (inForce !== null && wasReopened(mirror, inForce));
  const announced = {
    product_id,
    delivery_id,
    notified_at: received_at,
    applied_at: applies ? now : null,
    // The notification announces the product as both closed and open, in an unknown order, so the first read decides: as if
    // a read had found it open a minute before, one more such read ends the closure.
    available_at: enabled ? beforeNotice(received_at) : null,
    ...closure,
  };
  mirror.push.closures.put(announced, reopened ? 'reopened' : undefined);
  if (applies) mirror.catalogue.products.close(product_id, { sent_at: received_at, reason: 'notified' });
  return !applies;
}

/** Returns an instant before a closure's notification: as if a read had found the product open then. */
function beforeNotice(notified_at: number): Instant {
  return instant(notified_at - confirmApartMs);
}

/** Notes that a product was announced as open again: the first read that shows it ends a closure that none has confirmed. */
function noteReopening({ mirror: { push } }: Sync, product_id: number): void {
  const closure = push.closures.inForce({ product_id });
  if (closure === null || closure.confirmed_at !== null) return;
  push.closures.mark(closure.closure_id, 'available_at', beforeNotice(closure.notified_at));
}

/** Returns whether a notification has announced a reopening since, regardless of reads. */
function wasReopened({ push: { notices } }: Sync['mirror'], { product_id, notified_at }: StoredClosure): boolean {
  return notices
    .noticesOf({ product_id })
    .some(({ change_type, received_at }) => change_type === 'checkout_enabled' && received_at > notified_at);
}

/** Returns the indexes of notifications that later ones repeat completely, for each of their products. */
function supersededAmong(notifications: readonly Notification[]): Set<number> {
  const superseded = new Set<number>();
  const said = new Map<number, number>();
  for (const [index, { notices, quarantine }] of [...notifications.entries()].reverse()) {
    const isSaid = (notice: ProductNotice) => (said.get(notice.product_id) ?? 0) >= effectOf(notice);
    if (quarantine === null && notices.length > 0 && notices.every(isSaid)) superseded.add(index);
    for (const notice of notices)
      said.set(notice.product_id, Math.max(said.get(notice.product_id) ?? 0, effectOf(notice)));
  }
  return superseded;
}

/** Returns the rank of a notice's effect on its product. A later notice of at least this rank repeats it. */
function effectOf({ closure, enabled }: ProductNotice): number {
  if (closure !== null) return closure.alternative_product_id === null ? 3 : 4;
  return enabled ? 2 : 1;
}

/** Records a call to an address whose grace period is over: the caller or the service still uses it. */
export function noteDropped({ mirror, clock, log }: Sync): void {
  const now = clock.now();
  const before = failureOf(mirror.status.outcomes.all(), 'callback-address');
  // A later call begins another failure.
  if (before !== null && !isOldAddressUsed(before, now)) mirror.status.outcomes.note('callback-address', now, null);
  if (mirror.status.outcomes.note('callback-address', now, { affected: 1 }) === 'new')
    log.error({}, 'a replaced callback address was called after its grace period');
}
