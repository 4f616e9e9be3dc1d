import { type Instant, instant } from '../../clock.ts';
import {
  type DirectAnswer,
  isThere,
  mustBeAsked,
  suspicionDueAt,
  walkAgainAfter,
  withdrawal,
} from '../../domain/sale/absence.ts';
import { contradictedLook } from '../../domain/sale/off-sale.ts';
import type { Due, DueReason, RecordFacts } from '../../domain/schedule/record.ts';
import { walkKinds } from '../../domain/schedule/record.ts';
import type { CompleteWalk } from '../../mirror/catalogue/removals.ts';
import type { ClaimVerdict, Sync } from './context.ts';
import {
  absenceReads,
  decidesAbsence,
  hasOwnReads,
  isRemovalHeld,
  ownReads,
  walkAgain,
  walkedAt,
} from './deciding-reads.ts';

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
  if (mirror.catalogue.removals.one(product_id) === null) return;
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
  const absent = mirror.catalogue.removals.one(product_id);
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
  const look = contradictedLook(dates.off_sale_at ?? now, now, every);
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
  const absent = mirror.catalogue.removals.one(product_id);
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
