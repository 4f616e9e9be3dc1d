import { type Instant, instant } from '../../clock.ts';
import { quarantineAfter } from '../../domain/budget/backoff.ts';
import { suspicionDueAt } from '../../domain/sale/absence.ts';
import type { Due, DueReason, KindKey, RecordFacts, RecordKey } from '../../domain/schedule/record.ts';
import {
  type Extent,
  listEditionOf,
  productKinds,
  type RecordKind,
  splitListEdition,
  walkKinds,
} from '../../domain/schedule/record.ts';
import type { ClaimKey } from '../../mirror/evidence.ts';
import type { RecordSelection } from '../../mirror/schedule/record-reads.ts';
import type { Sync } from './context.ts';

/*
 * Finds and requests the read that decides about a product: its own read, in the primary language. If the profile has
 * no such read, or the service lacks it, a page of the list decides. As a last resort the whole list is walked, but not
 * for every doubt.
 */

type Extents = { readonly extent: Extent };
type Reads = RecordSelection['kinds'];

/** Returns whether products have their own reads; otherwise the list decides about them. */
export function hasOwnReads({ extent }: Extents): boolean {
  return extent.resources.has('product_detail');
}

/** Returns a product's own read in a language, by default the primary one. Empty: products have none. */
export function ownReads({ extent }: Extents, language = extent.languages[0]): RecordKind[] {
  return productKinds(extent).filter(({ resource, edition }) => resource === 'product_detail' && edition === language);
}

/** Makes the products' own reads due now. Returns the number of reads brought forward; null: products have none. */
export function askOwnReads(
  { mirror, clock, policy }: Sync,
  product_ids: readonly number[],
  reason: DueReason,
): number | null {
  const kinds = ownReads(policy);
  return kinds.length === 0 ? null : mirror.schedule.records.bringForward({ kinds, product_ids }, clock.now(), reason);
}

/** Returns the read that decides whether a product is on sale: its own, or its place in the primary list (`readPlace`). */
function saleReads(policy: Extents): RecordKind[] {
  return hasOwnReads(policy) ? ownReads(policy) : [walkKinds(policy.extent).primary];
}

/** Returns the reads that decide about a claim. A claim made by a list is confirmed by the same list. */
export function readsAbout(policy: Extents, { subject, resource, edition, part }: ClaimKey): Reads {
  if (subject === 'products') return absenceReads(policy);
  if (subject === 'sale-status') return saleReads(policy);
  if (resource !== 'product_detail') return [{ resource, edition, part }];
  const { extent } = policy;
  return productKinds(extent).filter(
    (kind) => kind.resource === resource && listEditionOf(kind.edition, extent) === edition,
  );
}

/**
 * Makes reads of products due. First creates the records of places in lists. Returns the number of reads brought
 * forward.
 */
export function askReads(sync: Sync, kinds: Reads, product_ids: readonly number[], { at, reason }: Due): number {
  const isAsked = (place: RecordKind) =>
    kinds.some(({ resource, edition }) => resource === place.resource && edition === place.edition);
  createPlaces(sync, product_ids, placesIn(sync.policy.extent).filter(isAsked));
  return sync.mirror.schedule.records.bringForward({ kinds, product_ids }, at, reason);
}

/** Makes the reads due that decide whether products are on sale. */
export function askDecidingReads(sync: Sync, product_ids: readonly number[], reason: DueReason): void {
  askReads(sync, saleReads(sync.policy), product_ids, { at: sync.clock.now(), reason });
}

/** Returns the kinds of record for a product's place: one for each list of products. */
function placesIn(extent: Extent): RecordKind[] {
  const { primary, further } = walkKinds(extent);
  return [primary, ...further.filter(({ resource }) => resource === primary.resource)];
}

/**
 * Creates a record of the products' place in each list, so that notices make it due too. Does nothing if products have
 * own reads.
 */
export function createPlacesInLists(sync: Sync, product_ids: readonly number[]): void {
  if (hasOwnReads(sync.policy)) return;
  createPlaces(sync, product_ids, placesIn(sync.policy.extent));
}

function createPlaces({ mirror, clock }: Sync, product_ids: readonly number[], kinds: readonly RecordKind[]) {
  for (const kind of kinds) {
    // A list that was not walked yet will be walked soon, so it needs no record.
    const fetched_at = mirror.schedule.records.find({ ...kind, product_id: 0 })?.fetched_at ?? null;
    if (fetched_at === null) continue;
    const due_at = instant(clock.now() + placeRestMs);
    mirror.schedule.records.createRead([kind], product_ids, {
      fetched_at: instant(fetched_at),
      due_at,
      stale_at: due_at,
    });
  }
}

/** Milliseconds without a request after which the record of a product's place in a list is dropped. */
export const placeRestMs = 3_600_000;

/** The most pages of a list that is walked again soon for a single product. */
const fewPages = 10;
const shortListEveryMs = 60_000;
const longListEveryMs = 10 * 60_000;

/**
 * Walks a list again because a product was neither on the page on which it last stood nor beside it: at most once a
 * minute if the list is short, else once in ten minutes.
 */
export function walkForPlace(sync: Sync, { edition, part, ...record }: RecordFacts): void {
  const { mirror, clock } = sync;
  const { resource } = record;
  const list = { resource, edition, part };
  const at = instant(suspicionDueAt(walkedAt(sync, list), clock.now(), walkApartMs(sync, list)));
  mirror.schedule.records.bringForward({ kinds: [list], product_ids: [0] }, at, record.due_reason);
}

/** Returns the milliseconds between two walks of a list that are needed for a single product. */
function walkApartMs({ mirror }: Sync, list: KindKey): number {
  const pages = mirror.schedule.walks.pages(list) ?? Number.POSITIVE_INFINITY;
  return pages <= fewPages ? shortListEveryMs : longListEveryMs;
}

/**
 * Returns the read that decides about a product's absence: its own read, or its checkout information if products have
 * none.
 */
export function absenceReads(policy: Extents): RecordKind[] {
  if (hasOwnReads(policy)) return ownReads(policy);
  const { extent } = policy;
  return productKinds(extent).filter(
    ({ resource, edition }) => resource === 'checkout_information' && edition === extent.languages[0],
  );
}

/** Returns whether a record is read by `absenceReads`. */
export function decidesAbsence(policy: Extents, { resource, edition }: RecordKey): boolean {
  if (edition !== policy.extent.languages[0]) return false;
  return absenceReads(policy).some((kind) => kind.resource === resource && kind.edition === edition);
}

/** Returns whether so many products are missing at once that none is withdrawn. */
export function isRemovalHeld({ mirror, policy }: Sync): boolean {
  const hold = mirror.evidence.hold('products');
  return policy.held.less === 'hold' && hold !== null && hold.state !== 'ended';
}

/** Answer of the read that decides about a product, since a job was requested; `waits`: the job waits for that read. */
type Decision = 'gone' | 'there' | 'waits';

/**
 * Returns whether a product is gone, after the service refused one of its records for a job. It is gone if it was
 * withdrawn, or if the list lacks it and its own read confirms that. While removals are held it counts as `there`,
 * because too many products are missing at once. If it was not read since the job was requested, the job waits for that
 * read.
 */
export function decideGone(sync: Sync, product_id: number, job_id: number): Decision {
  const { mirror, policy } = sync;
  if (!mirror.catalogue.products.isVisible(product_id)) return 'gone';
  const absent = mirror.catalogue.removals.one(product_id);
  const job = mirror.schedule.jobs.find(job_id);
  if (job === null || isRemovalHeld(sync)) return 'there';
  const requested_at = instant(job.requested_at);
  if (absent === null || absent.answered_at === null || absent.answered_at < requested_at)
    return awaitRead(sync, absenceReads(policy)[0], { product_id, job_id, requested_at });
  if (absent.answer === 'there') return 'there';
  if (absent.missing_walks > 0) return 'gone';
  // The list of the same job may still be under way.
  const list = mirror.schedule.records.find({ ...walkKinds(policy.extent).primary, product_id: 0 });
  return list?.job_id === job_id ? 'waits' : 'there';
}

/**
 * Returns whether a job waits for the read that decides whether a product is on sale, because the answer for its dates
 * contradicts the mirror.
 */
export function awaitsSaleStatus(sync: Sync, product_id: number, job_id: number): boolean {
  const { mirror, policy } = sync;
  const job = mirror.schedule.jobs.find(job_id);
  if (job === null) return false;
  const requested_at = instant(job.requested_at);
  const [own] = ownReads(policy);
  if (own !== undefined) return awaitRead(sync, own, { product_id, job_id, requested_at }) === 'waits';
  return mirror.schedule.records.find({ ...walkKinds(policy.extent).primary, product_id: 0 })?.job_id === job_id;
}

/**
 * Makes the job wait for a read, unless it was read since the job was requested, or has no record, or is in quarantine.
 */
function awaitRead(
  { mirror, clock }: Sync,
  kind: RecordKind | undefined,
  { product_id, job_id, requested_at }: { product_id: number; job_id: number; requested_at: Instant },
): 'there' | 'waits' {
  const record = kind === undefined ? null : mirror.schedule.records.find({ ...kind, product_id });
  if (record === null || record.failures >= quarantineAfter || (record.fetched_at ?? 0) >= requested_at) return 'there';
  mirror.schedule.jobs.waitFor(record, job_id, clock.now());
  return 'waits';
}

/**
 * Returns the instant of the last walk of a list, by default the primary one; null: never walked. Walks that ended
 * short count too, since they cost as many calls.
 */
export function walkedAt({ mirror, policy }: Sync, list: KindKey = walkKinds(policy.extent).primary): number | null {
  const whole = mirror.schedule.records.find({ ...list, product_id: 0 })?.fetched_at ?? null;
  const short = mirror.schedule.shortLists.find(list)?.walked_at ?? null;
  return whole === null || short === null ? (whole ?? short) : Math.max(whole, short);
}

/** Makes the primary list and some other lists due at an instant. Returns the number of records brought forward. */
export function walkAgain({ mirror, policy }: Sync, at: Instant, reason: DueReason, others: Reads = []): number {
  const kinds = [walkKinds(policy.extent).primary, ...others];
  return mirror.schedule.records.bringForward({ kinds, product_ids: [0] }, at, reason);
}

/**
 * Makes the list due soon, at most once an hour, because a doubt may concern any product. `known`: a product is known to
 * be missing from the mirror, so a walk may be closer to the last one.
 */
export function walkListSoon(sync: Sync, reason: 'suspected' | 'known' = 'suspected'): void {
  const { primary, further } = walkKinds(sync.policy.extent);
  const apart = reason === 'known' ? walkApartMs(sync, primary) : undefined;
  const { language } = splitListEdition(primary.edition);
  // Further currencies have lists of their own.
  const prices = further.filter(
    ({ resource, edition }) => resource === 'products' && splitListEdition(edition).language === language,
  );
  walkAgain(sync, instant(suspicionDueAt(walkedAt(sync), sync.clock.now(), apart)), 'suspicion', prices);
}
