import { type Instant, instant } from '../../clock.ts';
import type { StoredProduct } from '../../mirror/catalogue/product-reads.ts';
import { believed } from '../records/beliefs.ts';
import { dueAfterRead } from '../records/call-value.ts';
import type { Sync } from '../records/context.ts';
import { cadenceOfRecord } from '../records/reschedule.ts';

/**
 * Called when an entry of the primary list was stored. A new price or sale status signals that the product's dates may
 * have changed too. Brings forward the dates for which a call is now worth its price.
 */
export function noteSignal(
  sync: Sync,
  { product_id, sent_at }: { readonly product_id: number; readonly sent_at: Instant },
  { before_at, was, is, repriced }: StoredProduct,
): void {
  const { mirror, clock, policy } = sync;
  if (policy.adaptive === null || before_at === null || before_at >= sent_at || (was === is && !repriced)) return;
  mirror.catalogue.products.signalled(product_id, { before_at, at: sent_at });
  const product = mirror.catalogue.products.find(product_id);
  if (product === null || !product.sellable) return;
  for (const waiting of mirror.schedule.records.waiting(product_id)) {
    const record = waiting.resource === 'availability' ? mirror.schedule.records.find(waiting) : null;
    if (record?.fetched_at == null) continue;
    const cadence = cadenceOfRecord(policy.of(product.category), record, product);
    const read = { fetched_at: instant(record.fetched_at), cadence, product };
    const due = dueAfterRead(sync, record, read, believed(record));
    if (due.reason === 'likely-changed' && due.at < record.due_at)
      mirror.schedule.records.setDue(record, { ...due, at: instant(Math.max(due.at, clock.now())) });
  }
}
