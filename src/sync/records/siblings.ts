import { type Instant, instant } from '../../clock.ts';
import type { RecordFacts } from '../../domain/schedule/record.ts';
import { areTelling } from '../../domain/schedule/siblings.ts';
import { either } from '../../domain/schedule/signal.ts';
import { stillTrue } from '../../domain/schedule/volatility.ts';
import type { KnownProduct } from '../../mirror/catalogue/product-reads.ts';
import { believed, siblingGroups, siblingJump } from './beliefs.ts';
import { dueAfterRead } from './call-value.ts';
import type { Sync } from './context.ts';
import { cadenceOfRecord } from './reschedule.ts';

/** An answered read of a product's dates. */
interface AnsweredRead {
  readonly sent_at: Instant;
  /** A shopper would notice the change. */
  readonly changed: boolean;
  readonly cadence: number;
  /** The product, if extra calls may be made for it. */
  readonly product?: KnownProduct;
}

/**
 * Takes a stored read of dates as evidence about the other products of its venue and supplier. If it found a change,
 * brings forward those of them that are now worth a call. Returns the probability that the change was shared with
 * siblings. `record`: as it was before the read. Called in the transaction of the read.
 */
export function noteSiblings(sync: Sync, record: RecordFacts, read: AnsweredRead): number {
  const { mirror, policy, siblings } = sync;
  const { fetched_at } = record;
  const { sent_at: at, changed } = read;
  if (policy.adaptive === null || record.resource !== 'availability') return 0;
  if (fetched_at === null || fetched_at >= at) return 0;
  if (!changed && siblings.areQuiet()) return 0;
  countEarly(sync, record, read);
  const otherwise = 1 - stillTrue(believed(record), at - fetched_at);
  const others = new Map<number, RecordFacts>();
  const groups = siblingGroups(sync, record).filter(({ name }) => changed || siblings.isOpen(name));
  const shared = groups.map(({ kind, id, name, subject }) => {
    const before = mirror.schedule.signals.of(subject);
    const othersReadAt = () => {
      const found = mirror.schedule.siblings.of(record, kind, id);
      if (areTelling(before)) for (const other of found) others.set(other.product_id, other);
      return found.flatMap((other) => other.fetched_at ?? []);
    };
    const after = siblings.afterRead(name, { before_at: fetched_at, at, changed, otherwise }, othersReadAt, before);
    if (after.belief !== before) mirror.schedule.signals.save(subject, after.belief);
    return after.shared;
  });
  for (const other of others.values()) bringForward(sync, other);
  return either(shared);
}

/** Counts a read that was made before the record alone was worth one. */
function countEarly(sync: Sync, record: RecordFacts, { sent_at, cadence, product }: AnsweredRead): void {
  const fetched_at = instant(record.fetched_at ?? 0);
  if (product === undefined || record.due_reason !== 'likely-changed' || siblingJump(sync, record, fetched_at) === 0)
    return;
  const alone = dueAfterRead(sync, record, { fetched_at, cadence, product }, believed(record), 0);
  sync.siblings.readEarly(sent_at - fetched_at, alone.at - fetched_at);
}

function bringForward(sync: Sync, record: RecordFacts): void {
  const { mirror, clock, policy } = sync;
  const waits = record.due_reason === 'likely-changed' || record.due_reason === 'cadence-elapsed';
  if (record.fetched_at === null || record.failures > 0 || !waits) return;
  const fetched_at = instant(record.fetched_at);
  const shared = siblingJump(sync, record, fetched_at);
  if (shared === 0) return;
  const product = mirror.catalogue.products.find(record.product_id);
  if (product === null) return;
  const cadence = cadenceOfRecord(policy.of(product.category), record, product);
  const due = dueAfterRead(sync, record, { fetched_at, cadence, product }, believed(record), shared);
  const at = instant(Math.max(due.at, clock.now()));
  if (due.reason === 'likely-changed' && at < record.due_at) mirror.schedule.records.setDue(record, { ...due, at });
}
