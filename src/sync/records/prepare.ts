import { productKinds, walkKinds } from '../../domain/schedule/record-kinds.ts';
import { allProducts, assignCategories } from './categories.ts';
import type { Ports } from './context.ts';
import { ownReads } from './deciding-reads.ts';
import { replanNext, reschedule } from './reschedule.ts';

/**
 * Adapts the mirror's plan to the configuration: missing records, records no longer wanted, categories, promises and
 * due instants after a changed cadence, time zones. Run at every start.
 */
export function prepareRecords(ports: Pick<Ports, 'mirror' | 'clock' | 'policy' | 'log'>): void {
  const { mirror, clock, policy, log } = ports;
  const { primary, further } = walkKinds(policy.extent);
  mirror.transaction(() => {
    mirror.languages.write(policy.extent.languages);
    mirror.records.createWalk(primary);
    const walked = mirror.walks.find(primary)?.next_page === 0;
    // Before the first primary walk has ended there is nothing that a further one could add to.
    for (const walk of further) if (walked || walk.resource !== 'products') mirror.records.createWalk(walk);
    const moved = assignCategories(ports, allProducts);
    const inUse = mirror.categories.inUse();
    for (const { name } of mirror.filledAt() === null ? [] : policy.categories)
      if (!inUse.includes(name)) log.warn({ category: name }, 'no product belongs to this category');
    const wanted = [...inUse, null].map((category) => ({
      category,
      kinds: productKinds(policy.of(category).extent),
    }));
    for (const { category, kinds } of wanted) {
      mirror.records.createFor(category, kinds);
      mirror.records.dropBeyondFor(category, Math.max(0, ...kinds.map(({ part }) => part)));
    }
    mirror.records.dropOthers([primary, ...further, ...wanted.flatMap(({ kinds }) => kinds)]);
    for (const product_id of policy.included) includeProduct({ mirror, policy }, product_id);
    // The rest of a large catalogue is left to the chores.
    if (mirror.promises.write(policy, policy.daysPerRequest)) replanNext(ports);
    else for (const product_id of moved) reschedule(ports, product_id);
    mirror.writeZones(clock.now());
  });
}

/** Adds a product that the list's filter leaves out: its own read finds it, if the profile has one. */
function includeProduct({ mirror, policy }: Pick<Ports, 'mirror' | 'policy'>, product_id: number): void {
  // Its other records come with the first read that finds it.
  if (mirror.products.find(product_id) === null) mirror.records.create(ownReads(policy), [product_id]);
}
