import type { FoundBy, FoundChange } from '../../src/feed/changes.store.ts';
import type { Instant } from '../../src/kernel/clock.ts';
import type { Mirror } from '../../src/mirror/mirror.ts';
import type { Due, RecordKey } from '../../src/schedule/record.rules.ts';

/*
 * Changes of a mirror that a test plants, because no service makes them at the right moment. Rows that a reader sees are
 * planted by stored-products.ts.
 */

/** A mirror of its own, or that of a daemon. */
type Place = { readonly mirror: Mirror } | { readonly daemon: { readonly mirror: Mirror } };

const mirrorOf = (place: Place) => ('mirror' in place ? place.mirror : place.daemon.mirror);

/** Withdraws a product at an instant, as two lists without it and its own read would. */
export function withdraw(place: Place, product_id: number, at: Instant, by: Partial<FoundBy> = {}): void {
  const mirror = mirrorOf(place);
  mirror.transaction(() =>
    mirror.catalogue.removals.withdraw(product_id, 'gone', at, { sent_at: at, reason: 'missing-from-list', ...by }),
  );
}

/** Makes records due at an instant, for a reason. */
export function makeDue(place: Place, records: readonly RecordKey[], due: Due): void {
  const mirror = mirrorOf(place);
  mirror.transaction(() => {
    for (const record of records) mirror.schedule.records.setDue(record, due);
  });
}

/** Adds changes to the feed. */
export function putChanges(place: Place, changes: readonly FoundChange[], by: FoundBy): void {
  const mirror = mirrorOf(place);
  mirror.transaction(() => {
    for (const change of changes) mirror.changes.add(change, by);
  });
}

/** Forgets the changes of the feed before an instant. */
export function pruneChanges(place: Place, before: Instant): void {
  const mirror = mirrorOf(place);
  mirror.transaction(() => mirror.changes.prune(before));
}

/** Names the languages of the mirror, its own first. */
export function putLanguages(place: Place, languages: readonly [string, ...string[]]): void {
  const mirror = mirrorOf(place);
  mirror.transaction(() => mirror.catalogue.languages.write(languages));
}

/** Puts products in the order of the list, from a place on. */
export function putPlaces(place: Place, product_ids: readonly number[], from: number): void {
  const mirror = mirrorOf(place);
  mirror.transaction(() => mirror.catalogue.listPlaces.note(product_ids, from));
}

/** Records a delivery as the newest that was applied. */
export function putDelivery(place: Place, delivery_id: number): void {
  const mirror = mirrorOf(place);
  mirror.transaction(() => mirror.noteDelivery({ last_delivery_id: delivery_id }));
}
