import { expectedReopening } from '../catalogue/product.ask.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import type { Dates } from '../kernel/time/venue.ts';
import { venueToday } from '../kernel/time/venue.ts';
import { contradictedReread, isOwnReadDoubted, judgeOffSale } from '../push/off-sale.rules.ts';
import { askDecidingReads, awaitsSaleStatus, hasOwnReads } from '../schedule/deciding-reads.ts';
import { settleStored, settleUnstored } from '../schedule/next-read.ts';
import type { Due, RecordFacts } from '../schedule/record.rules.ts';
import { reopeningReread } from '../schedule/record.rules.ts';
import type { ReadLane, Sync } from '../schedule/sync.ts';
import { judgeDates } from '../trust/claims-of-answers.ts';

/** The meaning of an off-sale answer. `contradicted`: the product's own read says that it is on sale. */
export interface OffSaleSaid {
  readonly sale: 'on' | 'off' | 'contradicted';
  readonly sent_at: Instant;
  /** Set if nothing was stored: the answer must be confirmed, or is held. */
  readonly kept?: true;
}

interface Answered {
  readonly sent_at: Instant;
  /** The requested window, and its cadence. */
  readonly window: Dates & { readonly every: number };
  /** Called with the answer if the mirror cannot be written: the answer is stored later. */
  readonly late: (said: OffSaleSaid & { readonly dates: null }) => void;
}

/**
 * Handles an answer that says "not on sale", or does not say "on sale". Changes no day row. If the product's own read
 * agrees, one read a week is enough until the product is back. If that read says on sale, both are read again soon, and
 * until they agree none of its dates counts as fresh or bookable.
 */
export async function notOnSale(
  { sync, commit }: ReadLane,
  record: RecordFacts,
  { sent_at, window, late }: Answered,
): Promise<OffSaleSaid> {
  const { mirror, policy, clock, log } = sync;
  const { product_id } = record;
  const { every } = window;
  const store = (): OffSaleSaid => {
    // The product's own read may have been stored while this one was under way.
    const product = mirror.catalogue.products.find(product_id);
    if (product === null) throw new Error(`no product ${product_id}`);
    const { earliest } = venueToday(product.timezone, clock.now());
    const judged = judgeDates(sync, record, window, 'off-sale', { sent_at });
    if (judged.kind === 'keep') {
      doubtSaleStatus(sync, product_id);
      settleUnstored(sync, record, { sent_at, cadence: every, due: judged.next });
      return { sale: 'on', sent_at, kept: true };
    }
    mirror.catalogue.availability.prune({ product_id, currency: record.edition }, earliest);
    const { cadence, extent } = policy.of(product.category);
    dropUnsold(sync, record, sent_at);
    const current = mirror.schedule.records.find(record) ?? record;
    const since_at = current.off_sale_at ?? sent_at;
    const settle = (settled: { cadence: number; sooner: Due | null }) =>
      settleStored(sync, record, {
        sent_at,
        changed: false,
        body_hash: null,
        teaches: 'nothing',
        off_sale_at: instant(since_at),
        ...settled,
      });
    const verdict = judgeOffSale(product);
    if (verdict === 'contradicted') {
      if (isOwnReadDoubted(product.read_at, since_at, sent_at, every)) doubtSaleStatus(sync, product_id);
      // If the product was closed a moment ago, its own read says so too. The job waits for that read before it counts
      // anything as failed.
      if (current.job_id !== null && !awaitsSaleStatus(sync, product_id, current.job_id))
        mirror.schedule.jobs.giveUp(record, current.job_id);
      settle({ cadence: every, sooner: contradictedReread(since_at, sent_at, every) });
      // A later answer may have been stored: then this one withholds nothing.
      if (product.dates_off_at === null && mirror.catalogue.products.datesOffAt({ product_id }) !== null) {
        const by = { sent_at, reason: record.due_reason };
        mirror.changes.add({ product_id, kind: 'dates_withheld', detail: {} }, by);
        log.warn({ product_id }, 'a product is on sale by its own read, but its dates are answered as not on sale');
      }
    } else {
      // Without a single-product read, the near dates show the reopening.
      const announced = verdict !== 'confirmed' || mirror.push.closures.inForce({ product_id })?.confirmed_at != null;
      const expected = expectedReopening(sync, product_id);
      const looks = verdict === 'confirmed' && record.part === 0 && !hasOwnReads({ extent });
      settle({
        cadence: verdict === 'confirmed' ? cadence.products : every,
        // Only an announced closure is believed for longer than a day.
        sooner: looks || !announced ? reopeningReread(expected, sent_at, cadence.products) : null,
      });
    }
    return { sale: verdict === 'contradicted' ? 'contradicted' : 'off', sent_at };
  };
  return commit(store, 'changed', () => {
    const product = mirror.catalogue.products.find(product_id);
    const sale = product !== null && judgeOffSale(product) === 'contradicted' ? 'contradicted' : 'off';
    late({ sent_at, sale, dates: null });
  });
}

/** Drops the variants that only dates before the venue's today have sold. */
function dropUnsold({ mirror, policy }: Sync, { product_id, due_reason }: RecordFacts, sent_at: Instant): void {
  const [language] = policy.extent.languages;
  const read = { product_id, language, sent_at, stale_at: sent_at, reason: due_reason };
  mirror.catalogue.variants.forget(
    { ...read, source: 'availability' },
    mirror.catalogue.availability.variantIds(product_id),
  );
}

/** Makes the deciding read due, because two reads contradict each other about whether the product is on sale. */
export function doubtSaleStatus(sync: Sync, product_id: number): void {
  askDecidingReads(sync, [product_id], 'sale-status-doubted');
}

/**
 * Called when the service answers with dates again: makes the product's other withheld dates due. After the last of
 * them was read, all are bookable.
 */
export function release(
  { mirror, clock }: Sync,
  { product_id, due_reason: reason }: RecordFacts,
  { sent_at, off_before }: { sent_at: Instant; off_before: number | null },
): void {
  if (off_before === null) return;
  const now = mirror.catalogue.products.find(product_id);
  if (now === null || !now.sellable) return;
  if (now.dates_off_at !== null) mirror.schedule.records.askOffSale(product_id, clock.now(), null);
  else mirror.changes.add({ product_id, kind: 'dates_released', detail: {} }, { sent_at, reason });
}
