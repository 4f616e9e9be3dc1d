import { productKinds, type RecordKind, walkKinds } from '../../domain/schedule/record-kinds.ts';
import { allProducts, assignCategories, replan } from './categories.ts';
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
    const walks = [primary, ...further];
    if (mirror.records.madeFor() === kindsOf(policy, walks)) replan(ports, moved);
    else makeRecords(ports, walks, inUse);
    for (const product_id of policy.included) includeProduct({ mirror, policy }, product_id);
    // The rest of a large catalogue is left to the chores.
    if (mirror.promises.write(policy, policy.daysPerRequest)) replanNext(ports);
    else for (const product_id of moved) reschedule(ports, product_id);
    mirror.writeZones(clock.now());
  });
}

/** What decides which records a product has, by its category. */
function kindsOf(policy: Ports['policy'], walks: readonly RecordKind[]): string {
  const categories = [...policy.categories.map(({ name }) => name), null];
  return JSON.stringify([walks, categories.map((name) => [name, productKinds(policy.of(name).extent)])]);
}

/** Goes through all products: creates what is missing of their records, and drops what is not wanted any more. */
function makeRecords(
  { mirror, policy }: Pick<Ports, 'mirror' | 'policy'>,
  walks: readonly RecordKind[],
  inUse: readonly string[],
): void {
  const wanted = [...inUse, null].map((category) => ({ category, kinds: productKinds(policy.of(category).extent) }));
  for (const { category, kinds } of wanted) {
    mirror.records.createFor(category, kinds);
    mirror.records.dropBeyondFor(category, Math.max(0, ...kinds.map(({ part }) => part)));
  }
  mirror.records.dropOthers([...walks, ...wanted.flatMap(({ kinds }) => kinds)]);
  mirror.records.noteMadeFor(kindsOf(policy, walks));
}

/** Adds a product that the list's filter leaves out: its own read finds it, if the profile has one. */
function includeProduct({ mirror, policy }: Pick<Ports, 'mirror' | 'policy'>, product_id: number): void {
  // Its other records come with the first read that finds it.
  if (mirror.products.find(product_id) === null) mirror.records.create(ownReads(policy), [product_id]);
}
