import type { Instant } from '../../clock.ts';
import type { KindKey, LearnedRecord, RecordKey } from '../../domain/schedule/record.ts';
import { usualLane } from '../../domain/schedule/resources.ts';
import { type SiblingKind, type SiblingSubject, siblingKinds } from '../../domain/schedule/siblings.ts';
import { either, type Looks, signalTier } from '../../domain/schedule/signal.ts';
import { priorVolatility, type Volatility } from '../../domain/schedule/volatility.ts';
import type { KnownProduct } from '../../mirror/catalogue/product-reads.ts';
import type { Sync } from './context.ts';

/** Returns the estimated rate of change of a record: learned from its reads, or the usual rate of its kind. */
export function believed(record: LearnedRecord): Volatility {
  const { shape, exposure } = record;
  return shape === null || exposure === null ? priorOf(record) : { shape, exposure };
}

/** Returns the estimated rate of change of a record that was never read. */
export function priorOf({ resource, part }: KindKey): Volatility {
  return priorVolatility(usualLane(resource, part));
}

/**
 * Returns the change that the product list showed after a read at `read_at`, up to `at`. Null: it showed none, or a
 * wrong clock wrote the instant.
 */
export function signalOf({ signal_at, signal_before_at }: KnownProduct, read_at: Instant, at: Instant): Looks | null {
  if (signal_at === null || signal_before_at === null || signal_at <= read_at || signal_at > at) return null;
  return { before_at: signal_before_at, at: signal_at };
}

/** One of the groups of a record, and the subject of the estimate about it. */
export interface SiblingGroup {
  readonly kind: SiblingKind;
  readonly id: number | string;
  readonly name: string;
  readonly subject: SiblingSubject;
}

/** Returns the groups that a record's product belongs to: the products of its venue, of its supplier … Their dates may change together. */
export function siblingGroups({ mirror }: Sync, { product_id, edition, part }: RecordKey): SiblingGroup[] {
  const ids = mirror.schedule.siblings.groupsOf(product_id);
  return siblingKinds.flatMap((kind): SiblingGroup[] => {
    const id = ids[kind];
    if (id === null) return [];
    return [{ kind, id, name: `${kind} ${id} ${edition} ${part}`, subject: `${kind} ${signalTier(part)}` }];
  });
}

/** Returns the probability that a record has changed together with its siblings since a read at `read_at`. */
export function siblingJump(sync: Sync, record: RecordKey, read_at: Instant): number {
  const { mirror, siblings } = sync;
  if (siblings.areQuiet()) return 0;
  const groups = siblingGroups(sync, record).filter(({ name }) => siblings.isOpen(name));
  return either(groups.map(({ name, subject }) => siblings.jump(name, read_at, mirror.schedule.signals.of(subject))));
}
