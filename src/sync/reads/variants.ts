import { instant } from '../../clock.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { judgeVariants } from '../evidence/answers.ts';
import { pathAnswered } from '../evidence/reach.ts';
import type { ReadLane } from '../records/context.ts';
import { cadenceOfRecord } from '../records/reschedule.ts';
import { lostOf, type Refreshed, settleFailure, settleKept, settleStored } from '../records/settle.ts';

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
      const lost = lostOf(sync, record, reading);
      if (lost !== null) return lost;
      const variants = reading.kind === 'read' ? reading.value.variants : null;
      const verdict = judgeVariants(sync, record, variants, read);
      if (verdict.kind === 'keep') return settleKept(sync, record, { sent_at, cadence, due: verdict.next });
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
