import { instant } from '../../clock.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { textsSaid } from '../evidence/answers.ts';
import { soonest } from '../evidence/evidence.ts';
import { pathAnswered } from '../evidence/reach.ts';
import { lookForMembers } from '../notifications/looks.ts';
import { assignCategory } from '../records/categories.ts';
import type { ReadLane } from '../records/context.ts';
import { cadenceOfRecord, reschedule } from '../records/reschedule.ts';
import { lostOf, type Refreshed, settleFailure, settleKept, settleStored } from '../records/settle.ts';

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
      const lost = lostOf(sync, record, reading);
      if (lost !== null) return lost;
      const read = { ...by, product_id, language, stale_at: instant(sent_at + cadence) };
      const stored = mirror.catalogue.checkoutInformation.document(record);
      const document = (reading.kind === 'read' ? reading.value.document : stored) ?? '{}';
      const verdict = sync.evidence.judge(record, textsSaid(stored, document), by);
      if (verdict.kind === 'keep') return settleKept(sync, record, { sent_at, cadence, due: verdict.next });
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
        sooner: soonest([lookForMembers(sync, product_id, 'checkout_information', language), verdict.next]),
      });
    },
    reading.kind === 'unchanged' ? 'same' : 'changed',
  );
}
