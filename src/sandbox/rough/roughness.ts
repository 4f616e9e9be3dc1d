import type { Clock } from '../../kernel/clock.ts';
import { type Throttle, throttle } from '../throttle.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import { createPast, type Past } from '../world/past.ts';
import { FaultScript } from './faults.ts';
import { type AnswerShape, type HostileValues, hostileValuesOf, longestTitle, roughProduct } from './product.ts';
import { kind, type Quirks } from './quirks.ts';

/** The current fault profile of a sandbox, and the state that it needs. */
export interface Roughness {
  readonly seed: number;
  readonly past: Past;
  quirks(): Quirks;
  set(quirks: Partial<Quirks>): void;
  /** Returns the number of answered reads, which the counters use. */
  reads(): number;
  /** Returns the number of walks of the list that were begun. */
  walks(): number;
  /** Counts a read. The first page of a list also counts as a walk. */
  count(page: number | null): void;
  /**
   * Returns a product as a read shows it now: from a cache, if that still has the state before its last change, and
   * distorted by the quirks.
   */
  shown(product: SandboxProduct, read: AnswerShape, cache: 'product' | 'dates' | 'none'): SandboxProduct;
  hostile(product: SandboxProduct): HostileValues | null;
  /** The faults of answers: those among the quirks, and those added by a test. */
  readonly faults: FaultScript;
  limit(): Throttle | null;
  /** Returns the cached answer for an address of the list, or makes and caches one. */
  page<Answer>(address: string, make: () => Answer): Answer;
}

export function roughness(
  given: Partial<Quirks>,
  { seed, clock, products }: { seed: number; clock: Clock; products: readonly SandboxProduct[] },
): Roughness {
  let quirks: Quirks = { ...kind, ...given };
  let longest = longestTitle(products, seed, quirks);
  let limit = limitOf(quirks);
  let reads = 0;
  let walks = 0;
  const faults = new FaultScript(clock, seed);
  faults.set(quirks.faults);
  const past = createPast(clock, () => quirks.cached_ms);
  const pages = new Map<string, { readonly at: number; readonly answer: unknown }>();

  function limitOf({ limit: per_second }: Quirks): Throttle | null {
    return per_second === null ? null : throttle({ per_second }, clock);
  }

  return {
    seed,
    past,
    quirks: () => quirks,
    set: (more) => {
      const before = quirks;
      quirks = { ...quirks, ...more };
      longest = longestTitle(products, seed, quirks);
      if (quirks.limit !== before.limit) limit = limitOf(quirks);
      if (more.faults !== undefined) faults.set(more.faults);
      pages.clear();
    },
    reads: () => reads,
    walks: () => walks,
    count: (page) => {
      reads += 1;
      if (page === 1) walks += 1;
    },
    shown: (product, read, cache) => {
      const { cached_ms, counters } = quirks;
      const ago = { product: cached_ms / 2, dates: cached_ms, none: 0 }[cache];
      const shown = roughProduct(ago === 0 ? product : past.before(product, ago), read, { seed, quirks, longest });
      return counters === 'none' ? shown : { ...shown, views_today: reads };
    },
    hostile: (product) => hostileValuesOf(product, seed, quirks),
    faults,
    limit: () => limit,
    page: (address, make) => {
      if (quirks.cached_ms === 0) return make();
      const known = pages.get(address);
      if (known !== undefined && clock.now() - known.at < quirks.cached_ms) return known.answer as never;
      const answer = make();
      pages.set(address, { at: clock.now(), answer });
      return answer;
    },
  };
}
