import type { Window } from '../catalogue/availability.ts';
import { readsPerPeriod } from './cadence.ts';
import { type Lane, type LaneShares, lanes } from './lanes.ts';
import type { Resources } from './record-kinds.ts';

/*
 * What keeping a catalogue fresh costs, in calls a day: pure arithmetic over counts, cadences and the budget.
 */

/** Products that are read alike: those of one category (or of none). */
export interface Group {
  /** On sale and off sale, in products. */
  readonly on_sale: number;
  readonly off_sale: number;
  /** Of both, those with dynamic prices. */
  readonly dynamic: number;
  /** Of both, those that a working, trusted subscription covers, and of these the ones with dynamic prices. */
  readonly covered: number;
  readonly covered_dynamic: number;
  readonly windows: readonly Window[];
  /** Milliseconds. */
  readonly cadence: {
    readonly products: number;
    readonly product_detail: number;
    readonly checkout_information: number;
    readonly variants: number;
    readonly dynamic_pricing: { readonly products: number; readonly checkout_information: number };
    readonly covered: { readonly checkout_information: number; readonly variants: number };
  };
}

export interface Catalogue {
  readonly groups: readonly Group[];
  readonly experiences: number;
  readonly languages: number;
  readonly currencies: number;
  readonly page_size: number;
  readonly resources: Resources;
  /** Milliseconds between two walks over the lists. */
  readonly walks: { readonly products: number; readonly experiences: number };
  /** Availability reads beyond what the cadences need, as a share of them. */
  readonly extra: number;
  /** How often an off-sale product is looked at, in milliseconds. */
  readonly look: number;
}

/** One line of a plan. */
export interface PlanLine {
  readonly lane: Lane;
  readonly what: string;
  readonly records: number;
  readonly calls_per_day: number;
}

const dayMs = 86_400_000;

/** Calls a day, line by line. */
export function planOf(catalogue: Catalogue): PlanLine[] {
  const { groups, languages, currencies, resources } = catalogue;
  const lines = new Map<string, PlanLine>();
  const add = (lane: Lane, what: string, records: number, every: number, calls = 1) => {
    if (records === 0) return;
    const known = lines.get(what) ?? { lane, what, records: 0, calls_per_day: 0 };
    const calls_per_day = known.calls_per_day + records * calls * readsPerPeriod(dayMs, every);
    lines.set(what, { ...known, records: known.records + records, calls_per_day });
  };
  const all = groups.reduce((sum, { on_sale, off_sale }) => sum + on_sale + off_sale, 0);
  for (const { on_sale, off_sale, dynamic, covered, covered_dynamic, windows, cadence } of groups) {
    for (const { part, every } of windows) {
      const lane = part === 0 ? 'near' : 'far';
      add(lane, part === 0 ? 'near and middle dates' : 'far dates', on_sale * currencies, every);
      add(lane, 'dates of products off sale', off_sale * currencies, cadence.products);
    }
    const products = on_sale + off_sale;
    const steady = products - dynamic;
    if (resources.has('checkout_information')) {
      const announced = covered - covered_dynamic;
      add('weekly', 'checkout information', (steady - announced) * languages, cadence.checkout_information);
      add('weekly', 'checkout information', announced * languages, cadence.covered.checkout_information);
      add('weekly', 'checkout information', dynamic * languages, cadence.dynamic_pricing.checkout_information);
    }
    if (resources.has('variants')) {
      add('weekly', 'variants', (products - covered) * languages, cadence.variants);
      add('weekly', 'variants', covered * languages, cadence.covered.variants);
    }
    if (resources.has('product_detail')) {
      const looks = Math.min(catalogue.look, cadence.product_detail);
      add('reopening', 'looks at products off sale', off_sale, looks * period);
      const read = products * languages - off_sale;
      const daily = Math.min(cadence.dynamic_pricing.products, cadence.product_detail);
      const often = Math.round(dynamic * languages * (read / Math.max(1, products * languages)));
      add('weekly', 'single products', read - often, cadence.product_detail);
      add('weekly', 'single products', often, daily);
      const further = currencies - 1;
      add('weekly', 'prices in further currencies', (products - dynamic) * further, cadence.product_detail);
      add('weekly', 'prices in further currencies', dynamic * further, daily);
    }
  }
  const pages = (rows: number) => Math.max(1, Math.ceil(rows / catalogue.page_size));
  add('weekly', 'product list', languages + currencies - 1, catalogue.walks.products, pages(all));
  if (resources.has('experiences'))
    add('weekly', 'experiences', 1, catalogue.walks.experiences, pages(catalogue.experiences));
  const cadences = [...lines.values()];
  const dates = cadences.filter(({ what }) => what.endsWith(' dates'));
  const extra = dates.map(({ lane, what, calls_per_day }) => ({
    lane,
    what: `${what}, where a change is likely`,
    records: 0,
    calls_per_day: calls_per_day * catalogue.extra,
  }));
  return [...cadences, ...extra.filter(({ calls_per_day }) => calls_per_day > 0)].sort(
    (a, b) => lanes.indexOf(a.lane) - lanes.indexOf(b.lane),
  );
}

/** Looks at closed products come by the day, not a little sooner. */
const period = readsPerPeriod(1, 1);

export function callsPerDay(lines: readonly PlanLine[]): number {
  return lines.reduce((sum, { calls_per_day }) => sum + calls_per_day, 0);
}

/** What a lane gets of a rate. */
export interface LaneSupply {
  readonly lane: Lane;
  /** Calls a day. */
  readonly wanted: number;
  readonly got: number;
}

/** How a rate (calls a second) is shared out: each lane its reserved share first, what is left in the lanes' order. */
export function shareOut(lines: readonly PlanLine[], shares: LaneShares, rate: number): LaneSupply[] {
  const perDay = (rate * dayMs) / 1000;
  const wanted = lanes.map((lane) => callsPerDay(lines.filter((line) => line.lane === lane)));
  const got = lanes.map((lane, index) => Math.min(wanted[index] ?? 0, shares[lane] * perDay));
  let left = perDay - got.reduce((sum, calls) => sum + calls, 0);
  for (const [index] of lanes.entries()) {
    const more = Math.min(left, (wanted[index] ?? 0) - (got[index] ?? 0));
    got[index] = (got[index] ?? 0) + more;
    left -= more;
  }
  return lanes.map((lane, index) => ({ lane, wanted: wanted[index] ?? 0, got: got[index] ?? 0 }));
}
