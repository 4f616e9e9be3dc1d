import { type DeclaredSubscription, inOrder, type WantedSubscription } from './subscription.ts';

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
  declared: Pick<DeclaredSubscription, 'id' | 'type' | 'change_types'>,
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
  const parts: { id: string; entities: number[] }[] = [];
  const names = partNames(id, taken);
  const partOf = new Map(before.map((part) => [part.subscription_id, part]));
  const last = Math.max(-1, ...before.map((part) => names.indexOf(part.subscription_id)));
  for (let index = 0; index <= last; index += 1) {
    const name = names.at(index);
    const entities = (partOf.get(name)?.entity_ids ?? []).filter((entity) => left.has(entity)).slice(0, most);
    for (const entity of entities) left.delete(entity);
    parts.push({ id: name, entities });
  }
  let free = 0;
  for (const entity of [...left].sort(ascending)) {
    while ((parts[free]?.entities.length ?? 0) >= most) free += 1;
    parts[free] ??= { id: names.at(free), entities: [] };
    parts[free]?.entities.push(entity);
  }
  return parts
    .filter(({ entities }) => entities.length > 0)
    .map((part) => wanted(part.id, part.entities.toSorted(ascending)));
}

/** Returns the names `id`, `id-2`, `id-3` …, without those of other declarations. */
function partNames(
  id: string,
  taken: ReadonlySet<string>,
): { at(index: number): string; indexOf(name: string): number } {
  const names = [id];
  const at = (index: number): string => {
    for (let number = numberOf(names.at(-1) ?? id, id) + 1; names.length <= index; number += 1)
      if (!taken.has(`${id}-${number}`)) names.push(`${id}-${number}`);
    return names[index] ?? id;
  };
  return {
    at,
    indexOf: (name) => {
      const number = numberOf(name, id);
      // A part's number is at least its position, so no further names are needed.
      at(number - 1);
      return names.indexOf(name);
    },
  };
}

function numberOf(name: string, id: string): number {
  const number = name.startsWith(`${id}-`) ? Number(name.slice(id.length + 1)) : 1;
  return Number.isSafeInteger(number) && number > 0 && number <= 100_000 ? number : 1;
}

function ascending(a: number, b: number): number {
  return a - b;
}
