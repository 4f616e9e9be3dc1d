import { type DeclaredSubscription, inOrder, type WantedSubscription } from './subscription.rules.ts';

/** A part that a subscription had before. Parts are in the order of their numbers. */
export interface Part {
  readonly subscription_id: string;
  readonly entity_ids: readonly number[];
}

/**
 * Returns a declaration as requests of at most `most` entities: `id`, `id-2`, `id-3` … An entity stays in its part, and
 * a new one takes the first free place, so an entity that comes or goes changes one part only. `taken` are ids of other
 * declarations, which no part may have. A part without entities is left out: the service requires at least one.
 */
export function wantedParts(
  declared: DeclaredSubscription,
  entity_ids: readonly number[] | null,
  { before, taken, most }: { before: readonly Part[]; taken: ReadonlySet<string>; most: number },
): WantedSubscription[] {
  const { id, type, change_types } = declared;
  const wanted = (subscription_id: string, entities: readonly number[] | null): WantedSubscription => ({
    subscription_id,
    declared_id: id,
    type,
    entity_ids: entities,
    change_types: inOrder(change_types),
  });
  if (entity_ids === null) return [wanted(id, null)];
  const left = new Set(entity_ids);
  const nameOf = (number: number) => (number === 1 ? id : `${id}-${number}`);
  const partOf = new Map(before.map((part) => [part.subscription_id, part.entity_ids]));
  const last = Math.max(1, ...before.map((part) => numberOf(part.subscription_id, id)));
  const parts: { name: string; entities: number[] }[] = [];
  for (let number = 1; number <= last; number += 1) {
    const name = nameOf(number);
    if (taken.has(name)) continue;
    const entities = (partOf.get(name) ?? []).filter((entity) => left.has(entity)).slice(0, most);
    for (const entity of entities) left.delete(entity);
    parts.push({ name, entities });
  }
  const coming = [...left].sort(ascending);
  for (const { entities } of parts) entities.push(...coming.splice(0, most - entities.length));
  for (let number = last + 1; coming.length > 0; number += 1)
    if (!taken.has(nameOf(number))) parts.push({ name: nameOf(number), entities: coming.splice(0, most) });
  return parts
    .filter(({ entities }) => entities.length > 0)
    .map(({ name, entities }) => wanted(name, entities.toSorted(ascending)));
}

function numberOf(name: string, id: string): number {
  const number = name.startsWith(`${id}-`) ? Number(name.slice(id.length + 1)) : 1;
  return Number.isSafeInteger(number) && number > 0 && number <= 100_000 ? number : 1;
}

function ascending(a: number, b: number): number {
  return a - b;
}
