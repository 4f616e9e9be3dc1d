import { instant } from '../../clock.ts';
import { dueAfterNewCadence } from '../../domain/schedule/cadence.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import { isCovered, isDynamic, isUntiered, resources } from '../../domain/schedule/resources.ts';
import type { KnownProduct } from '../../mirror/catalogue/product/reads.ts';
import type { Ports, ProductPolicy } from './context.ts';

/** Replans the records of a product that wait for their cadence, after that has changed; 0: those of the lists. */
export function reschedule(
  { mirror, clock, policy }: Pick<Ports, 'mirror' | 'clock' | 'policy'>,
  product_id: number,
): void {
  for (const record of mirror.records.waiting(product_id)) {
    const every = cadenceOf(policy.of(record.category), record, {
      has_dynamic_pricing: record.dynamic === 1,
      covered: record.covered === 1,
    });
    const due = dueAfterNewCadence(record, record.fetched_at, every, clock.now());
    mirror.records.reschedule(record, due, instant(record.fetched_at + every));
  }
}

/** The facts on which a product's cadences depend, beside its category. */
export type CadenceFacts = Pick<KnownProduct, 'has_dynamic_pricing' | 'covered'>;

/** Returns the cadence of the list, which is also walked as often as images have to be confirmed. */
export function listCadence({ products, images }: ProductPolicy['cadence']): number {
  return Math.min(products, images);
}

/** Returns the cadence of a record of such a product; null: nothing is known about it yet. */
export function cadenceOf(
  { cadence, extent }: ProductPolicy,
  { resource, part }: Omit<RecordKey, 'edition'>,
  standing: CadenceFacts | null,
): number {
  if (resource === 'products') return listCadence(cadence);
  const dynamic = standing?.has_dynamic_pricing === true;
  if (!isUntiered(resource))
    return extent.windows.find((window) => window.part === part)?.every ?? cadence.availability.far.every;
  if (dynamic && isDynamic(resource)) return cadence.dynamic_pricing[resource];
  // The list is walked once a week for everything; in between, a product's own read brings its dynamic price.
  if (dynamic && resources[resource].dynamic === 'prices')
    return Math.min(cadence.dynamic_pricing.products, cadence[resource]);
  if (standing?.covered === true && isCovered(resource)) return Math.max(cadence.covered[resource], cadence[resource]);
  return cadence[resource];
}
