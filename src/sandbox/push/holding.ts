import type { SandboxProduct } from '../world/catalogue.ts';
import type { ProductChange, SandboxChangeType } from '../world/mutations.ts';

/** The changes of a product that wait to be announced, only the last of each type (specification §6 rule 3). */
export interface Held {
  readonly product: SandboxProduct;
  /** Instant by the monotonic clock at which they are due: the hold time after the first of them. */
  readonly ripe_at: number;
  /** The changes by type, in the order in which they were made, each with its number. */
  readonly changes: ReadonlyMap<SandboxChangeType, { readonly number: number; readonly change: ProductChange }>;
}

export interface Holding {
  /** Returns the number of the last held change. */
  last(): number;
  add(product: SandboxProduct, change: ProductChange, now: number): void;
  /** Returns the instant at which the next product is due; null: none is held. */
  nextAt(): number | null;
  /** Removes and returns the products that are due. */
  ripe(now: number): Held[];
  all(): Held[];
}

export function holding(hold_ms: number): Holding {
  // Every product is held for the same time, so the first one in is the first one out.
  const held = new Map<number, Held & { changes: Map<SandboxChangeType, { number: number; change: ProductChange }> }>();
  let number = 0;
  return {
    last: () => number,
    add: (product, change, now) => {
      number += 1;
      const known = held.get(product.id) ?? { product, ripe_at: now + hold_ms, changes: new Map() };
      held.set(product.id, known);
      known.changes.delete(change.change_type);
      known.changes.set(change.change_type, { number, change });
    },
    nextAt: () => held.values().next().value?.ripe_at ?? null,
    ripe: (now) => {
      const found: Held[] = [];
      for (const each of held.values()) {
        if (each.ripe_at > now) break;
        held.delete(each.product.id);
        found.push(each);
      }
      return found;
    },
    all: () => [...held.values()],
  };
}
