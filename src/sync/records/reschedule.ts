import { instant } from '../../clock.ts';
import { dueAfterNewCadence } from '../../domain/schedule/cadence.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import { isCovered, isDynamic, isUntiered, resources } from '../../domain/schedule/resources.ts';
import type { KnownProduct } from '../../mirror/catalogue/product-reads.ts';
import type { ProductPolicy, Sync } from './context.ts';

/**
 * Replans the records of a product that wait for their cadence, after the cadence has changed. Product 0: the records
 * of the lists.
 */
export function reschedule({ mirror, clock, policy }: Sync, product_id: number): void {
  for (const record of mirror.schedule.records.waiting(product_id)) {
    const every = cadenceOfRecord(policy.of(record.category), record, {
      has_dynamic_pricing: record.dynamic === 1,
      covered: record.covered === 1,
    });
    const due = dueAfterNewCadence(record, record.fetched_at, every, clock.now());
    mirror.schedule.records.reschedule(record, due, instant(record.fetched_at + every));
  }
}

/** The facts that a product's cadences depend on, besides its category. */
export type CadenceFacts = Pick<KnownProduct, 'has_dynamic_pricing' | 'covered'>;

/**
 * Returns the cadence of the list in milliseconds. Images have to be confirmed by it too, so it is the shorter of both
 * cadences.
 */
export function listCadence({ products, images }: ProductPolicy['cadence']): number {
  return Math.min(products, images);
}

/** Returns the cadence of a product's record in milliseconds. `facts` null: nothing is known about the product yet. */
export function cadenceOfRecord(
  { cadence, extent }: ProductPolicy,
  { resource, part }: RecordKey,
  facts: CadenceFacts | null,
): number {
  if (resource === 'products') return listCadence(cadence);
  const dynamic = facts?.has_dynamic_pricing === true;
  if (!isUntiered(resource))
    return extent.windows.find((window) => window.part === part)?.every ?? cadence.availability.far.every;
  if (dynamic && isDynamic(resource)) return cadence.dynamic_pricing[resource];
  // The list is walked at the same cadence for all products. In between, a product's own read brings its dynamic price.
  if (dynamic && resources[resource].dynamic === 'prices')
    return Math.min(cadence.dynamic_pricing.products, cadence[resource]);
  if (facts?.covered === true && isCovered(resource)) return Math.max(cadence.covered[resource], cadence[resource]);
  return cadence[resource];
}
