import { setImmediate } from 'node:timers/promises';
import type { KnownProduct } from '../catalogue/product-reads.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { venueToday } from '../kernel/time/venue.ts';
import { dueAfterNewCadence, productKinds } from './record.rules.ts';
import { coveredCadence, isDynamic, isUntiered, type Resource, resources } from './resources.rules.ts';
import type { Policy, ProductPolicy, Sync } from './sync.ts';

/**
 * The number of products between two turns of the event loop. Each has half a dozen records, so they take about ten
 * milliseconds.
 */
const slice = 50;

/** Replans products: gives them the records of their category, at its cadences, and their dates its freshness. */
export function replan(sync: Sync, product_ids: readonly number[]): void {
  const { mirror, policy } = sync;
  const products = product_ids.map((product_id) => ({ product_id, known: mirror.catalogue.products.find(product_id) }));
  for (const [category, those] of Map.groupBy(products, ({ known }) => known?.category ?? null)) {
    const { extent, cadence } = policy.of(category);
    const kinds = productKinds(extent);
    const lastPart = Math.max(0, ...kinds.map(({ part }) => part));
    mirror.schedule.records.create(
      kinds,
      those.map(({ product_id }) => product_id),
    );
    for (const { product_id, known } of those) {
      mirror.schedule.records.dropBeyond({ product_id, last_part: lastPart });
      reschedule(sync, product_id);
      moveStaleAt(sync, product_id, known);
      const todayAt = (at: Instant) => venueToday(known?.timezone ?? null, at).earliest;
      mirror.catalogue.availability.moveStaleAt(product_id, cadence.availability, todayAt);
    }
  }
}

/** Replans these products. If they are more than a slice, replans all products instead, in slices. */
export function replanSome(sync: Sync, product_ids: readonly number[]): void {
  if (product_ids.length <= slice) replan(sync, product_ids);
  else beginReplanning(sync);
}

/**
 * Begins to replan all products: replans the first slice. The rest of a large catalogue is left to the job `chores`
 * (`replanRest`), because a million records take some seconds.
 */
export function beginReplanning(sync: Sync): void {
  sync.mirror.schedule.targets.markAllUnplanned();
  replanNext(sync);
}

function replanNext(sync: Sync): 'more' | 'done' {
  const { products } = sync.mirror.catalogue;
  const { targets, records } = sync.mirror.schedule;
  const after = targets.replannedTo();
  if (after === null) return 'done';
  return sync.mirror.transaction(() => {
    const next = records.productsAfter({ product_id: after, limit: slice });
    const visible = next.filter((product_id) => products.isVisible(product_id));
    replan(sync, visible);
    // Records without a visible product: the lists, products that were never found yet, and products being withdrawn.
    for (const product_id of next) if (!products.isVisible(product_id)) reschedule(sync, product_id);
    targets.replanned({ replanned_to: next.length < slice ? null : (next.at(-1) ?? null) });
    return next.length < slice ? 'done' : 'more';
  });
}

/** Replans all remaining products, in slices. */
export async function replanRest(sync: Sync, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && replanNext(sync) === 'more') await setImmediate();
}

/**
 * Replans the records of a product that wait for their cadence, after the cadence has changed. Product 0: the records
 * of the lists.
 */
export function reschedule({ mirror, clock, policy }: Sync, product_id: number): void {
  for (const record of mirror.schedule.records.waiting({ product_id })) {
    const every = cadenceOfRecord(policy.of(record.category), record, {
      has_dynamic_pricing: record.dynamic === 1,
      covered: record.covered === 1,
    });
    const due = dueAfterNewCadence(record, record.fetched_at, every, clock.now());
    mirror.schedule.records.reschedule(record, due, instant(record.fetched_at + every));
  }
}

/** Moves `stale_at` of a product's texts and prices after one of their cadences has changed. */
export function moveStaleAt({ mirror, policy }: Sync, product_id: number, known: KnownProduct | null): void {
  const of = policy.of(known?.category ?? null);
  mirror.schedule.targets.moveStaleAt(product_id, (resource) =>
    resource === 'products' ? productCadence(policy, known) : cadenceOfRecord(of, { resource, part: 0 }, known),
  );
}

/** The facts that a product's cadences depend on, besides its category. */
type CadenceFacts = Pick<KnownProduct, 'has_dynamic_pricing' | 'covered'>;

/**
 * Returns the cadence of the list in milliseconds. Images have to be confirmed by it too, so it is the shorter of both
 * cadences.
 */
export function listCadence({ products, images }: ProductPolicy['cadence']): number {
  return Math.min(products, images);
}

/** Returns the cadence of the product facts that the list shows, in milliseconds. */
export function productCadence({ of }: Policy, product: KnownProduct | null): number {
  const { cadence } = of(product?.category ?? null);
  return product?.has_dynamic_pricing ? cadence.dynamic_pricing.products : cadence.products;
}

/** Returns the cadence of a product's record in milliseconds. `facts` null: nothing is known about the product yet. */
export function cadenceOfRecord(
  { cadence, extent }: ProductPolicy,
  { resource, part }: { readonly resource: Resource; readonly part: number },
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
  return facts?.covered === true ? coveredCadence(cadence, resource) : cadence[resource];
}
