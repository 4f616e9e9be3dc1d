import { type Instant, instant } from '../kernel/clock.ts';
import { expectNotices } from '../push/announcement-trust.ts';
import { rereadAfterNotice, rereadForMembers } from '../push/rereads.ts';
import { isOnlyAnnounced, settleAnnounced, settleAnnouncedFailure } from '../schedule/announced.ts';
import { assignCategory } from '../schedule/categories.ts';
import { ownReads } from '../schedule/deciding-reads.ts';
import {
  isSuperseded,
  lostOf,
  type Refreshed,
  settleFailure,
  settleStored,
  settleUnstored,
} from '../schedule/next-read.ts';
import {
  detailEdition,
  type Extent,
  productKinds,
  type RecordFacts,
  reopeningReread,
} from '../schedule/record.rules.ts';
import { cadenceOfRecord, productCadence, reschedule } from '../schedule/replan-products.ts';
import type { ReadLane, Sync } from '../schedule/sync.ts';
import type { Reading } from '../service/reading.ts';
import { judgeEntry, judgeVariants, textsSaid } from '../trust/claims-of-answers.ts';
import { soonest } from '../trust/evidence.ts';
import { pathAnswered } from '../trust/refusals.ask.ts';
import type { ProductEntry } from './product.rules.ts';
import type { ProductRead, StoredProduct } from './product-reads.store.ts';
import { holdOwnImages, unreadWithExpiry } from './vanished-images.ts';

/** Refreshes a product by its own read, which adds what the list leaves out (there `description` is null). */
export async function refreshProductDetail(
  lane: ReadLane,
  record: RecordFacts,
  signal: AbortSignal,
): Promise<Refreshed> {
  const { sync } = lane;
  const { product_id } = record;
  const { language, currency } = detailEdition(record.edition, sync.policy.extent);
  const reading = await lane.upstream.product({ product_id, language, currency, known_hash: null, signal });
  if (reading.kind === 'unchanged') throw new Error('a read without a known hash is never unchanged');
  if (reading.kind !== 'read')
    return settleAnnouncedFailure(sync, record, reading) ?? settleFailure(sync, record, reading, signal);
  if (isOnlyAnnounced(sync, record))
    return lane.commit(() => {
      pathAnswered(sync, 'product', reading.sent_at);
      return settleAnnounced(sync, record, reading.called_at ?? reading.sent_at);
    }, 'changed');
  return lane.commit(() => storeProductDetail(sync, record, reading), 'changed');
}

/** Stores the answer of a product's own read, and plans the next one. */
export function storeProductDetail(
  sync: Sync,
  record: RecordFacts,
  reading: Extract<Reading<ProductEntry>, { kind: 'read' }>,
): Refreshed {
  const { mirror, clock, policy } = sync;
  const { product_id } = record;
  const { language, currency } = detailEdition(record.edition, policy.extent);
  const { sent_at, called_at = sent_at, hash, value } = reading;
  pathAnswered(sync, 'product', sent_at);
  const known = mirror.catalogue.products.find(product_id);
  const stale_at = instant(sent_at + productCadence(policy, known));
  const [[firstLanguage], [firstCurrency]] = [policy.extent.languages, policy.extent.currencies];
  const further = currency !== firstCurrency;
  const primary = language === firstLanguage && !further;
  const unread = primary ? unreadWithExpiry(sync, value, stale_at) : value.unread;
  const lost = lostOf(sync, record, { ...reading, value: { unread } });
  if (lost !== null) return lost;
  const primaryEdition = { language: firstLanguage, currency: firstCurrency };
  const by: ProductRead = {
    source: 'detail',
    language,
    currency,
    primary: primaryEdition,
    sent_at,
    reason: record.due_reason,
    now: clock.now(),
    stale_at,
  };
  const verdict = judgeEntry(sync, value, by);
  const every = cadenceOfRecord(policy.of(known?.category ?? null), record, known);
  if (verdict.kind === 'keep') return settleUnstored(sync, record, { sent_at, cadence: every, due: verdict.next });
  const entry = further ? value : holdOwnImages(sync, value);
  const stored = mirror.catalogue.products.store(entry, { ...by, onlySaleAndImages: verdict.kind === 'sale-only' });
  // A read in a further currency adds only its price.
  const extent = further ? null : afterStore(sync, { product_id, language, sent_at }, stored);
  if (extent !== null) addRecords(sync, extent, [product_id]);
  if (stored.sale !== 'neither' && record.job_id !== null)
    mirror.schedule.jobs.rejoinOffSale(product_id, record.job_id);
  if (verdict.kind === 'sale-only') return settleUnstored(sync, record, { sent_at, cadence: every, due: verdict.next });
  const off = primary && stored.is === 'disabled';
  const reopening = off ? reopeningReread(expectedReopening(sync, product_id), sent_at, every) : null;
  const announced = primary
    ? rereadAfterNotice(sync, product_id, sent_at)
    : rereadForMembers(sync, product_id, 'product_detail', language);
  return settleStored(sync, record, {
    sent_at,
    called_at,
    changed: stored.outcome === 'added' || stored.outcome === 'changed',
    ...(stored.by_rate ? { noticed: false } : {}),
    body_hash: hash,
    cadence: every,
    sooner: soonest([further ? null : (announced ?? reopening), verdict.next]),
  });
}

/**
 * Returns the expected reopening date of a product that is off sale. It is believed only if the closure was announced
 * and confirmed; null: any other closure, which is read daily.
 */
export function expectedReopening({ mirror }: Sync, product_id: number): string | null {
  const isConfirmed = mirror.push.closures.inForce({ product_id })?.confirmed_at != null;
  return isConfirmed ? (mirror.catalogue.products.find(product_id)?.expected_reopening ?? null) : null;
}

/**
 * Makes the reads due that a product's new state requires: for a product back on sale, its dates are read. Returns the
 * extent of a new product, which gets its records by `addRecords`; null: it has them.
 */
export function afterStore(
  sync: Sync,
  { product_id, language, sent_at }: { product_id: number; language: string; sent_at: Instant },
  stored: StoredProduct,
): Extent | null {
  const { mirror, clock, policy } = sync;
  const { outcome, was, is, sale, detail_doubted } = stored;
  if (language === policy.extent.languages[0]) expectNotices(sync, { product_id, sent_at }, stored);
  const product_ids = [product_id];
  if (outcome !== 'unchanged' && outcome !== 'late') assignCategory(sync, product_id);
  const { extent } = policy.of(mirror.catalogue.products.find(product_id)?.category ?? null);
  if (outcome === 'added' || outcome === 'returned') return extent;
  if (sale === 'back' || (was !== is && is === 'enabled')) {
    const kinds = productKinds(extent).filter(({ resource }) => resource === 'availability');
    mirror.schedule.records.bringForward({ kinds, product_ids }, clock.now(), 'sale-status-changed');
  }
  // Its own read says that it is on sale, regardless of earlier answers for its dates.
  if (sale !== 'neither') mirror.schedule.records.askOffSale(product_id, clock.now(), sale === 'back' ? sent_at : null);
  if (detail_doubted && outcome === 'changed') {
    mirror.schedule.records.bringForward(
      { kinds: ownReads({ extent }, language), product_ids },
      clock.now(),
      'list-entry-changed',
    );
  }
  return null;
}

/** Makes the records of new products: those of one kind together, as they are read together. */
export function addRecords({ mirror, clock }: Sync, extent: Extent, product_ids: readonly number[]): void {
  mirror.schedule.records.create(productKinds(extent), product_ids);
  // One that was announced has its own read already, and nothing of it is stored.
  mirror.schedule.records.bringForward({ kinds: ownReads({ extent }), product_ids }, clock.now(), 'list-entry-changed');
  mirror.schedule.jobs.adopt(product_ids);
}

/** Refreshes the variants of a product: this read decides which exist. */
export async function refreshVariants(lane: ReadLane, record: RecordFacts, signal: AbortSignal): Promise<Refreshed> {
  const { sync } = lane;
  const { mirror, policy } = sync;
  const { product_id, edition: language } = record;
  const reading = await lane.upstream.variants({ product_id, language, known_hash: record.body_hash, signal });
  if (reading.kind !== 'read' && reading.kind !== 'unchanged') return settleFailure(sync, record, reading, signal);
  const { sent_at, called_at = sent_at, hash } = reading;
  const known = mirror.catalogue.products.find(product_id);
  const cadence = cadenceOfRecord(policy.of(known?.category ?? null), record, known);
  const read = {
    source: 'variants' as const,
    product_id,
    language,
    sent_at,
    reason: record.due_reason,
    stale_at: instant(sent_at + cadence),
  };
  return lane.commit(
    () => {
      pathAnswered(sync, 'variants', sent_at);
      if (isSuperseded(sync, record, reading)) return { kind: 'postponed' };
      const lost = lostOf(sync, record, reading);
      if (lost !== null) return lost;
      const variants = reading.kind === 'read' ? reading.value.variants : null;
      const verdict = judgeVariants(sync, record, variants, read);
      if (verdict.kind === 'keep') return settleUnstored(sync, record, { sent_at, cadence, due: verdict.next });
      if (reading.kind === 'unchanged') mirror.catalogue.variants.confirm(read);
      const changed =
        reading.kind === 'read' &&
        mirror.catalogue.variants.store({ ...read, groups: reading.value.groups }, reading.value.variants, new Set());
      return settleStored(sync, record, {
        sent_at,
        called_at,
        changed,
        body_hash: reading.kind === 'read' && reading.value.unread !== undefined ? null : hash,
        cadence,
        sooner: verdict.next,
        shows: verdict.shows,
      });
    },
    reading.kind === 'unchanged' ? 'same' : 'changed',
  );
}

/**
 * Refreshes the checkout information of a product: weekly, daily if its prices are dynamic (specification §1 rule 3).
 */
export async function refreshCheckoutInformation(
  lane: ReadLane,
  record: RecordFacts,
  signal: AbortSignal,
): Promise<Refreshed> {
  const { sync } = lane;
  const { mirror, policy } = sync;
  const { product_id, edition: language } = record;
  const reading = await lane.upstream.checkoutInformation({
    product_id,
    language,
    known_hash: record.body_hash,
    signal,
  });
  if (reading.kind !== 'read' && reading.kind !== 'unchanged') return settleFailure(sync, record, reading, signal);
  const { sent_at, called_at = sent_at, hash } = reading;
  return lane.commit(
    () => {
      pathAnswered(sync, 'checkout_information', sent_at);
      const known = mirror.catalogue.products.find(product_id);
      const dynamic = reading.kind === 'read' ? reading.value.has_dynamic_pricing : known?.has_dynamic_pricing;
      const standing = { has_dynamic_pricing: dynamic === true, covered: known?.covered === true };
      const cadence = cadenceOfRecord(policy.of(known?.category ?? null), record, standing);
      const by = { sent_at, reason: record.due_reason };
      if (isSuperseded(sync, record, reading)) return { kind: 'postponed' };
      const lost = lostOf(sync, record, reading);
      if (lost !== null) return lost;
      const read = { ...by, product_id, language, stale_at: instant(sent_at + cadence) };
      const stored = mirror.catalogue.checkoutInformation.document(record);
      const document = (reading.kind === 'read' ? reading.value.document : stored) ?? '{}';
      const verdict = sync.evidence.judge(record, textsSaid(stored, document), by);
      if (verdict.kind === 'keep') return settleUnstored(sync, record, { sent_at, cadence, due: verdict.next });
      if (reading.kind === 'unchanged') mirror.catalogue.checkoutInformation.confirm(read);
      const changed = reading.kind === 'read' && mirror.catalogue.checkoutInformation.store(read, reading.value);
      if (changed) assignCategory(sync, product_id);
      // If prices turn out to be dynamic, they are read more often from now on.
      if (dynamic !== known?.has_dynamic_pricing) reschedule(sync, product_id);
      const body_hash = reading.kind === 'read' && reading.value.unread !== undefined ? null : hash;
      return settleStored(sync, record, {
        sent_at,
        called_at,
        changed,
        body_hash,
        cadence,
        sooner: soonest([rereadForMembers(sync, product_id, 'checkout_information', language), verdict.next]),
      });
    },
    reading.kind === 'unchanged' ? 'same' : 'changed',
  );
}
