import { faded } from '../catalogue/category.rules.ts';
import type { Tier } from '../dates/availability.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { Sync } from '../schedule/sync.ts';
import { type CheckCounts, countNames } from './checks.store.ts';
import type { Rating } from './error-rate.rules.ts';

const dayMs = 86_400_000;

/** The result of one check: its rating of the mirror, or `unanswered` if the service did not answer. */
export type Counted = Rating | 'unanswered';

/**
 * Counts checks in memory and writes them together: no shopper waits for the write, and a kill loses one second of
 * counts.
 */
export class CheckCounter {
  readonly #sync: Sync;
  readonly #waiting = new Map<string, { product_id: number; tier: Tier; day: number; counts: CheckCounts }>();

  constructor(sync: Sync) {
    this.#sync = sync;
  }

  add({ product_id, tier }: { readonly product_id: number; readonly tier: Tier }, found: Counted): void {
    const day = dayOf(this.#sync.clock.now());
    const key = `${product_id} ${tier} ${day}`;
    const { counts } = this.#waiting.getOrInsertComputed(key, () => ({ product_id, tier, day, counts: noCounts() }));
    for (const name of namesOf('check', found)) counts[name] += 1;
  }

  /** Writes the counts since the last flush. */
  flush(): void {
    if (this.#waiting.size === 0) return;
    const { mirror, clock } = this.#sync;
    mirror.transaction(() => {
      for (const { counts, ...key } of this.#waiting.values()) mirror.checks.count({ ...key, ...counts });
      for (const [product_id, of] of Map.groupBy(this.#waiting.values(), (each) => each.product_id))
        countAsked(
          mirror,
          product_id,
          of.reduce((sum, { counts }) => sum + counts.checks + counts.unknown + counts.unanswered, 0),
          clock.now(),
        );
    });
    this.#waiting.clear();
  }
}

/** Counts checks of a product for the ranking of search results. They fade over time like sales. */
function countAsked(mirror: Mirror, product_id: number, checks: number, now: Instant): void {
  const known = mirror.catalogue.categories.asked({ product_id });
  if (known === null) return;
  mirror.catalogue.categories.countAsked({
    product_id,
    asked: faded(now, known.asked, known.asked_at) + checks,
    asked_at: now,
  });
}

/** Counts an order. A null rating says nothing about availability. */
export function countOrder(
  mirror: Mirror,
  { product_id, tier, at }: { readonly product_id: number; readonly tier: Tier; readonly at: Instant },
  { rating, tickets }: { readonly rating: Rating | null; readonly tickets: number },
): void {
  const counts = noCounts();
  counts.tickets = tickets;
  for (const name of rating === null ? [] : namesOf('order', rating)) counts[name] += 1;
  mirror.checks.count({ product_id, tier, day: dayOf(at), ...counts });
}

/** Deletes the counts before the (UTC) day of an instant. */
export function pruneCounts(mirror: Mirror, before: Instant): number {
  return mirror.checks.prune({ day: dayOf(before) });
}

function namesOf(kind: 'check' | 'order', found: Counted): (keyof CheckCounts)[] {
  const [all, wrong] = kind === 'check' ? (['checks', 'wrong'] as const) : (['orders', 'orders_wrong'] as const);
  switch (found) {
    case 'right':
      return [all];
    case 'unknown':
    case 'unanswered':
      return [found];
    default:
      return [all, wrong, found.replaceAll('-', '_') as keyof CheckCounts];
  }
}

function noCounts(): CheckCounts {
  return Object.fromEntries(countNames.map((name) => [name, 0])) as CheckCounts;
}

function dayOf(at: Instant): number {
  return Math.floor(at / dayMs);
}
