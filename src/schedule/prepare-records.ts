import { allProducts, assignCategories } from './categories.ts';
import { ownReads } from './deciding-reads.ts';
import { productKinds, type RecordKind, walkKinds } from './record.rules.ts';
import { beginReplanning, replanSome } from './replan-products.ts';
import type { Sync } from './sync.ts';

/**
 * Adapts the mirror's plan to the configuration: missing records, records no longer wanted, categories, freshness
 * targets, due instants after a changed cadence, time zones. Run at every start.
 */
export function prepareRecords(sync: Sync): void {
  const { mirror, clock, policy, log } = sync;
  const { primary, further } = walkKinds(policy.extent);
  mirror.transaction(() => {
    mirror.catalogue.languages.write(policy.extent.languages);
    mirror.schedule.records.createWalk(primary);
    const walked = mirror.schedule.walks.find(primary)?.next_page === 0;
    // A further walk adds to products that the first primary walk has stored, so it waits for the end of that walk.
    for (const walk of further) if (walked || walk.resource !== 'products') mirror.schedule.records.createWalk(walk);
    const moved = assignCategories(sync, allProducts);
    const inUse = mirror.catalogue.categories.inUse();
    for (const { name } of mirror.filledAt() === null ? [] : policy.categories)
      if (!inUse.includes(name)) log.warn({ category: name }, 'no product belongs to this category');
    const other = noteKinds(sync, [primary, ...further]);
    if (policy.listTotal === 'ignore') ignoreTotals(sync);
    for (const product_id of policy.included) includeProduct(sync, product_id);
    for (const product_id of policy.excluded) excludeProduct(sync, product_id);
    if (mirror.schedule.targets.write(policy, policy.daysPerRequest) || other) beginReplanning(sync);
    else replanSome(sync, moved);
    mirror.catalogue.zones.write(clock.now());
  });
}

/** The kinds of record that exist: of the lists, and of products by category (null: products without a category). */
type Kinds = readonly [walks: readonly RecordKind[], products: readonly (readonly [string | null, RecordKind[]])[]];

/**
 * Stores the kinds of record that this configuration needs, and drops records of other kinds. Returns whether the kinds
 * differ from the stored ones.
 */
function noteKinds({ mirror, policy }: Sync, walks: readonly RecordKind[]): boolean {
  const categories = [...policy.categories.map(({ name }) => name), null];
  const kinds: Kinds = [walks, categories.map((name) => [name, productKinds(policy.of(name).extent)])];
  const before = mirror.schedule.records.madeFor();
  const after = JSON.stringify(kinds);
  if (before === after) return false;
  // If kinds were only added, no record is of another kind, and the many records need not be searched.
  const wanted = allOf(kinds);
  const named = new Set(wanted.map(nameOf));
  if (before === null || !allOf(JSON.parse(before) as Kinds).every((kind) => named.has(nameOf(kind))))
    mirror.schedule.records.dropOthers(wanted);
  mirror.schedule.records.noteMadeFor({ made_for: after });
  return true;
}

function allOf([walks, products]: Kinds): RecordKind[] {
  return [...walks, ...products.flatMap(([, kinds]) => kinds)];
}

function nameOf({ resource, edition, part }: RecordKind): string {
  return [resource, edition, part].join();
}

/**
 * Withdraws a mirrored product that the configuration excludes now. Its own read cannot decide that: it would say that
 * it exists.
 */
function excludeProduct({ mirror, clock, log }: Sync, product_id: number): void {
  if (!mirror.catalogue.products.isVisible(product_id)) return;
  const now = clock.now();
  mirror.catalogue.removals.withdraw(product_id, 'excluded by the configuration', now, {
    sent_at: now,
    reason: 'requested',
  });
  log.info({ product_id }, 'product withdrawn: service.select excludes it');
}

/** Adds a product that the list's filter leaves out. Its own read finds it, if the profile has one. */
function includeProduct({ mirror, policy }: Sync, product_id: number): void {
  // Its other records come with the first read that finds it.
  if (!mirror.catalogue.products.isVisible(product_id)) mirror.schedule.records.create(ownReads(policy), [product_id]);
}

/**
 * Accepts lists that lacked only rows counted by their totals, and walks all lists again that are shorter than their
 * totals.
 */
function ignoreTotals({ mirror, clock }: Sync): void {
  for (const { resource, edition, met, counted, unusable } of mirror.schedule.shortLists.all()) {
    if (met + unusable >= counted) continue;
    if (unusable === 0) mirror.schedule.shortLists.end({ resource, edition });
    const kinds = [{ resource, edition, part: 0 }];
    mirror.schedule.records.bringForward({ kinds, product_ids: [0] }, clock.now(), 'suspicion');
  }
}
