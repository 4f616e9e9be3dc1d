import { type Instant, instant } from '../kernel/clock.ts';
import {
  announcedLateMs,
  askMissingAgainAfter,
  askUnlistedAgainAfter,
  mostAnnounced,
} from '../push/announced.rules.ts';
import { quarantineAfter } from '../service/backoff.rules.ts';
import { hasOwnReads, ownReads, walkListSoon } from './deciding-reads.ts';
import { type NoAnswer, type Refreshed, recordFailure, settleStored } from './next-read.ts';
import type { RecordFacts } from './record.rules.ts';
import type { Sync } from './sync.ts';

/*
 * Products that notifications name and the mirror lacks, or has withdrawn. A notification proves nothing: their own read
 * finds out whether the service has them, and the list brings them.
 */

/** Makes the own reads due of announced products that the mirror does not show. */
export function askAnnounced(sync: Sync, product_ids: readonly number[], received_at: Instant): void {
  const { mirror, clock, policy } = sync;
  // The first walk of the list brings all.
  if (product_ids.length === 0 || !hasOwnReads(policy) || mirror.filledAt() === null) return;
  const room = mostAnnounced - mirror.schedule.records.countAnnounced();
  const asked = product_ids.slice(0, Math.max(room, 0));
  const now = clock.now();
  // As if it had been read: a forged id is no record that is late.
  const read = { fetched_at: now, due_at: now, stale_at: instant(now + announcedLateMs) };
  mirror.schedule.records.createRead(ownReads(policy), asked, read);
  mirror.schedule.records.notify(asked, received_at, now);
}

/** Returns whether a record belongs to a product that was announced and that no list has brought. */
export function isOnlyAnnounced({ mirror, policy }: Sync, { product_id }: RecordFacts): boolean {
  return !mirror.catalogue.products.isVisible(product_id) && !policy.included.includes(product_id);
}

/**
 * Settles a failed read of an announced product, which proves nothing about other products. Returns null if it is to be
 * settled as that of any record.
 */
export function settleAnnouncedFailure(sync: Sync, record: RecordFacts, reading: NoAnswer): Refreshed | null {
  if (!isOnlyAnnounced(sync, record)) return null;
  const { mirror } = sync;
  const failures = record.failures + 1;
  const drop = () => mirror.transaction(() => mirror.schedule.records.drop(record));
  if (reading.kind === 'refused' && (reading.status === 404 || reading.status === 410)) {
    const again_ms = reading.status === 404 ? askMissingAgainAfter(failures) : null;
    if (again_ms === null) drop();
    else recordFailure(sync, record, { code: reading.code, message: reading.message, final: true, again_ms });
    return { kind: 'postponed' };
  }
  if (reading.kind !== 'failed' || failures < quarantineAfter) return null;
  drop();
  return { kind: 'postponed' };
}

/**
 * Settles the own read of an announced product that the service has: makes the list due, and the read itself as long as
 * the list may still bring the product. Called in a transaction.
 */
export function settleAnnounced(sync: Sync, record: RecordFacts, sent_at: Instant): Refreshed {
  const isFirst = record.changed_at === null;
  const cadence = askUnlistedAgainAfter(isFirst ? 0 : sent_at - (record.changed_at ?? sent_at));
  walkListSoon(sync, isFirst ? 'known' : 'suspected');
  if (cadence !== null)
    return settleStored(sync, record, { sent_at, changed: isFirst, body_hash: null, cadence, teaches: 'nothing' });
  sync.mirror.schedule.records.drop(record);
  return { kind: 'stored', changed: false };
}
