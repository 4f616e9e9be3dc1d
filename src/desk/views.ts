import { setImmediate } from 'node:timers/promises';
import { faded } from '../catalogue/category.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { Sync } from '../schedule/sync.ts';
import { noDate } from '../schedule/weights.ts';
import { windowOfDate } from '../schedule/window-of-date.rules.ts';
import { Callers } from './callers.ts';

/** A storefront's report of the products and dates that shoppers viewed. It identifies no shopper. */
export interface SeenReport {
  readonly seen: readonly SeenProduct[];
  /** An identifier of the viewer, chosen by the storefront; null: none. */
  readonly caller: string | null;
}

export interface SeenProduct {
  readonly product_id: number;
  /** The viewed date; null: no particular date. */
  readonly date: string | null;
  readonly count: number;
}

/** Number of views counted, and of views ignored: products that are not mirrored, and callers beyond their limit. */
export interface SeenCounted {
  readonly counted: number;
  readonly ignored: number;
}

interface Window {
  readonly product_id: number;
  readonly part: number;
}

/** The number of windows written in one transaction, which takes a few milliseconds. */
const slice = 300;

/** Counts views in memory and writes them once a minute: there are far more views than a disk should write one by one. */
export class ViewCounter {
  readonly #sync: Sync;
  readonly #viewers: Callers;
  /** Views not yet written. No larger than the mirror: it holds one entry for each window of a mirrored product. */
  readonly #waiting = new Map<string, Window & { readonly views: number }>();

  constructor(sync: Sync) {
    this.#sync = sync;
    this.#viewers = new Callers(sync.clock);
  }

  add({ product_id, part }: Window, views: number): void {
    const key = `${product_id} ${part}`;
    this.#waiting.set(key, { product_id, part, views: views + (this.#waiting.get(key)?.views ?? 0) });
  }

  /** Counts the views of shoppers. A date that is past, or later than the mirrored dates, counts for its product alone. */
  seen({ seen, caller }: SeenReport): SeenCounted {
    const all = seen.reduce((sum, { count }) => sum + count, 0);
    if (caller !== null && this.#viewers.take(caller) === 'spent') return { counted: 0, ignored: all };
    let counted = 0;
    for (const { product_id, date, count } of seen) {
      if (!this.#sync.mirror.catalogue.products.isVisible(product_id)) continue;
      counted += count;
      this.add({ product_id, part: date === null ? noDate : partOf(this.#sync, product_id, date) }, count);
    }
    return { counted, ignored: all - counted };
  }

  /** Writes the views counted since the last flush. Views that cannot be written now stay for the next flush. */
  async flush(): Promise<void> {
    const { mirror, clock } = this.#sync;
    const entries = [...this.#waiting];
    for (let from = 0; from < entries.length; from += slice) {
      if (from > 0) await setImmediate();
      const some = entries.slice(from, from + slice).flatMap(([key]) => this.#waiting.get(key) ?? []);
      mirror.transaction(() => {
        for (const { views, ...window } of some) countViews(mirror, window, views, clock.now());
      });
      for (const { product_id, part } of some) this.#waiting.delete(`${product_id} ${part}`);
    }
  }
}

/** Adds views of a window to what is left of earlier ones, which fade. Called in a transaction. */
export function countViews(mirror: Mirror, { product_id, part }: Window, more: number, now: Instant) {
  const known = mirror.schedule.interest.of(product_id).windows.find((window) => window.part === part);
  const views = more + (known === undefined ? 0 : faded(now, known.views, known.counted_at));
  mirror.schedule.interest.count({ product_id, part, views, counted_at: now });
}

function partOf({ mirror, clock, policy }: Sync, product_id: number, date: string) {
  const product = mirror.catalogue.products.find(product_id);
  const { windows } = policy.of(product?.category ?? null).extent;
  const where = windowOfDate(windows, { timezone: product?.timezone ?? null, date, now: clock.now() });
  return where.kind === 'within' ? where.part : noDate;
}
