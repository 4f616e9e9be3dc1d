import type { CompleteWalk } from '../catalogue/removals.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { contradictedReread } from '../push/off-sale.rules.ts';
import { quarantineAfter } from '../service/backoff.rules.ts';
import {
  type DirectAnswer,
  isThere,
  mustBeAsked,
  suspicionDueAt,
  walkAgainAfter,
  withdrawal,
} from '../trust/absence.rules.ts';
import type { ClaimKey } from '../trust/evidence.store.ts';
import {
  type Due,
  type DueReason,
  type Extent,
  type KindKey,
  listEditionOf,
  productKinds,
  type RecordFacts,
  type RecordKey,
  type RecordKind,
  splitListEdition,
  walkKinds,
} from './record.rules.ts';
import type { RecordSelection } from './record-reads.store.ts';
import type { ClaimVerdict, Sync } from './sync.ts';

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
function isRemovalHeld({ mirror, policy }: Sync): boolean {
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
  const absent = mirror.catalogue.removals.one({ product_id });
  const job = mirror.schedule.jobs.find({ job_id });
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
  const job = mirror.schedule.jobs.find({ job_id });
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

/** Judges the products missing from a complete walk over the primary list. */
export function judgeAbsence(sync: Sync, walk: CompleteWalk): void {
  const { mirror, policy } = sync;
  const { evidence } = mirror;
  const { removals } = mirror.catalogue;
  removals.note({ ...walk, included: policy.included });
  const absent = removals.absent();
  const missing = new Set(absent.map(({ product_id }) => product_id));
  for (const { subject, ...claim } of evidence.claims('products', 'pending'))
    if (!missing.has(claim.product_id)) evidence.drop({ ...claim, subject });
  // A product shown by its own read since then exists, regardless of the list.
  for (const { product_id } of absent.filter((facts) => !isThere(facts)))
    claimAbsence(sync, product_id, { sent_at: walk.started_at, decides: false });
  const again = walkAgainAfter(absent, isRemovalHeld(sync) ? 'held' : 'free');
  if (again !== null) walkAgain(sync, instant(walk.started_at + again), 'suspicion');
  askMissing(sync);
  askIncluded(sync);
  for (const { product_id } of absent) withdrawIfGone(sync, product_id);
}

/** Passes on the claim that a product is missing: from a list, or (`decides`) from its own read too. */
function claimAbsence(
  sync: Sync,
  product_id: number,
  { sent_at, decides }: { readonly sent_at: Instant; readonly decides: boolean },
): ClaimVerdict {
  const { primary } = walkKinds(sync.policy.extent);
  const gone = { subject: 'products', shown: 1, said: 0 } as const;
  return sync.evidence.judge({ ...primary, product_id }, [gone], {
    sent_at,
    reason: 'missing-from-list',
    decides,
  });
}

/** Makes the reads due that decide about missing products. */
export function askMissing(sync: Sync): void {
  // While removals are held, a sample is asked.
  if (isRemovalHeld(sync)) return;
  const missing = mustBeAsked(sync.mirror.catalogue.removals.absent()).map(({ product_id }) => product_id);
  ask(sync, missing);
}

/**
 * Makes the own reads due of the configured products that the list's filter may leave out, as often as a list would
 * show them. Those that are not mirrored get a record first, since no list would show that the service has them.
 */
function askIncluded(sync: Sync): void {
  const { mirror, clock, policy } = sync;
  const hidden = policy.included.filter((product_id) => !mirror.catalogue.products.isVisible(product_id));
  if (hidden.length > 0) mirror.schedule.records.create(ownReads(policy), hidden);
  const isOld = (product_id: number) =>
    mirror.schedule.records.ofProduct(product_id).some((record) => {
      // Half the cadence, because lists come a little early or late.
      const since = clock.now() - policy.cadence.products / 2;
      return decidesAbsence(policy, record) && (record.fetched_at ?? 0) < since;
    });
  ask(sync, policy.included.filter(isOld));
}

/** Records that the read that decides about a product's absence was answered: it exists. */
export function noteThere({ mirror, clock, policy }: Sync, product_id: number): void {
  if (mirror.catalogue.removals.one({ product_id }) === null) return;
  mirror.catalogue.removals.answered({ product_id, answer: 'there', at: clock.now() });
  const { primary } = walkKinds(policy.extent);
  mirror.evidence.drop({ ...primary, product_id, subject: 'products' });
}

/** A read that decides about a product's absence and was refused with 404 or 410, and the reason for it. */
interface GoneSaid {
  readonly answer: Exclude<DirectAnswer, 'there'>;
  readonly reason: DueReason;
}

/**
 * Records that the read that decides about a product's absence was refused. The list decides about the withdrawal. Until
 * then the dates may be withheld. Returns the confirming read; null: none is needed.
 */
export function noteGone(sync: Sync, product_id: number, said: GoneSaid): Due | null {
  const { mirror, clock, policy, log } = sync;
  if (!mirror.catalogue.products.isVisible(product_id)) {
    // If it still exists, the next list makes it due again.
    mirror.schedule.records.dropProduct({ product_id });
    if (policy.included.includes(product_id))
      log.warn({ product_id }, 'service.select.include_product_ids names a product that the service does not have');
    return null;
  }
  const absent = mirror.catalogue.removals.one({ product_id });
  const now = clock.now();
  mirror.catalogue.removals.answered({ product_id, answer: said.answer, at: now });
  const listed = absent === null || absent.missing_walks === 0;
  if (!listed) claimAbsence(sync, product_id, { sent_at: now, decides: false });
  // A confirming read follows one that has brought the list forward.
  else if (said.reason !== 'claimed') walkAgain(sync, instant(suspicionDueAt(walkedAt(sync), now)), 'suspicion');
  withdrawIfGone(sync, product_id);
  return mirror.catalogue.products.isVisible(product_id) ? claimOffSale(sync, product_id, said) : null;
}

/**
 * Judges the claim of such an answer that the product is off sale. Once believed, it withholds the dates, unless these
 * were answered since it was first made. Returns the confirming read; null: none is needed.
 */
function claimOffSale(sync: Sync, product_id: number, { reason }: GoneSaid): Due | null {
  const { mirror, policy, clock } = sync;
  if (mirror.catalogue.products.find(product_id)?.sellable !== true) return null;
  const wasRead = mirror.schedule.records
    .ofProduct(product_id)
    .some((record) => decidesAbsence(policy, record) && record.fetched_at !== null);
  // A product may never have had checkout information.
  if (!hasOwnReads(policy) && !wasRead) return null;
  const sent_at = clock.now();
  const place = { ...walkKinds(policy.extent).primary, product_id };
  const subject = 'sale-status';
  const first_at = mirror.evidence.claim({ ...place, subject })?.first_at ?? null;
  const verdict = sync.evidence.judge(place, [{ subject, shown: 1, said: 0 }], { sent_at, reason });
  const dates = nearDates(sync, product_id);
  if (verdict.kind === 'keep') {
    if (dates !== null && first_at === null)
      mirror.schedule.records.bringForward(readsOf(dates), sent_at, 'sale-status-doubted');
    return verdict.next;
  }
  const isAnswered = dates?.failures === 0 && (dates.fetched_at ?? 0) >= (first_at ?? sent_at);
  if (reason === 'live-check' || !isAnswered) withholdDates(sync, product_id, reason);
  return null;
}

/**
 * Withholds the dates of a product that the service does not have. None counts as bookable until a read answers with
 * dates again. Such an answer may be a mistake, so the near dates are read again after a minute, then at growing
 * intervals.
 */
export function withholdDates(sync: Sync, product_id: number, reason: DueReason): void {
  const { mirror, policy, clock, log } = sync;
  const [product, dates] = [mirror.catalogue.products.find(product_id), nearDates(sync, product_id)];
  if (product === null || dates === null) return;
  const now = clock.now();
  const every = policy.of(product.category).extent.windows.find(({ part }) => part === dates.part)?.every ?? 0;
  mirror.schedule.records.missing({ ...dates, at: now });
  const look = contradictedReread(dates.off_sale_at ?? now, now, every);
  mirror.schedule.records.bringForward(readsOf(dates), look.at, look.reason);
  if (!product.sellable || product.dates_off_at !== null) return;
  mirror.changes.add({ product_id, kind: 'dates_withheld', detail: {} }, { sent_at: now, reason });
  log.warn({ product_id }, 'the service does not have a product: its dates are not offered until it has them again');
}

/** Returns the record of a product's near dates in the first currency; null: it has none. */
function nearDates({ mirror, policy }: Sync, product_id: number): RecordFacts | null {
  const [edition] = policy.extent.currencies;
  return mirror.schedule.records.find({ resource: 'availability', edition, part: 0, product_id });
}

function readsOf({ edition, part, product_id }: RecordFacts) {
  return { kinds: [{ resource: 'availability' as const, edition, part }], product_ids: [product_id] };
}

function withdrawIfGone(sync: Sync, product_id: number): void {
  const { mirror, clock, log } = sync;
  const absent = mirror.catalogue.removals.one({ product_id });
  const reason = absent === null ? null : withdrawal(absent);
  if (reason === null) return;
  const now = clock.now();
  if (claimAbsence(sync, product_id, { sent_at: now, decides: true }).kind === 'keep') return;
  mirror.catalogue.removals.withdraw(product_id, reason, now, { sent_at: now, reason: 'missing-from-list' });
  mirror.evidence.dropProduct({ product_id });
  log.info({ product_id, reason }, 'product withdrawn');
}

function ask({ mirror, clock, policy }: Sync, product_ids: readonly number[]): void {
  if (product_ids.length > 0)
    mirror.schedule.records.bringForward(
      { kinds: absenceReads(policy), product_ids },
      clock.now(),
      'missing-from-list',
    );
}
