import type { Window } from '../dates/availability.rules.ts';
import { dayMs } from '../kernel/clock.ts';
import { besideAudits, type ExtraLimits, extraCalls } from '../service/extra-calls.rules.ts';
import { type Lane, type LaneShares, lanes, reservedFor } from './lanes.rules.ts';
import type { Offered } from './record.rules.ts';
import { readsPerPeriod } from './record.rules.ts';
import {
  type Cadences,
  coveredCadence,
  isCovered,
  isDynamic,
  isUntiered,
  type ListResource,
  listResources,
  productResources,
  resources,
  type TextResource,
} from './resources.rules.ts';

/*
 * Computes the cost of keeping a catalogue fresh, in calls a day: pure arithmetic over counts, cadences and the budget.
 */

/** Products with one policy: those of one category, or of none. */
export interface Group {
  /** Number of products on sale and off sale. */
  readonly on_sale: number;
  readonly off_sale: number;
  /** Number of products with dynamic prices, on sale or off. */
  readonly dynamic: number;
  /**
   * Number of products covered by a working, trusted subscription, on sale or off, and of those among them with dynamic
   * prices.
   */
  readonly covered: number;
  readonly covered_dynamic: number;
  readonly windows: readonly Window[];
  /** Milliseconds. */
  readonly cadence: Cadences;
}

export interface Catalogue {
  readonly groups: readonly Group[];
  readonly experiences: number;
  readonly tags: number;
  readonly languages: number;
  readonly currencies: number;
  readonly page_size: number;
  readonly resources: Offered;
  /** Milliseconds between two walks of each list. */
  readonly walks: Readonly<Record<ListResource, number>>;
  /**
   * Limits of availability reads beyond those of the cadences, at a `rate` in calls a day. At most `most` times the
   * reads of the cadences are worth a call. Null if none are made.
   */
  readonly extra: (ExtraLimits & { readonly rate: number; readonly most: number }) | null;
  /** Milliseconds between two reads of an off-sale product. */
  readonly look: number;
  /** Share of all calls that are random reads, which measure how much of the data is correct. */
  readonly audit: number;
}

/** One line of a plan. */
export interface PlanLine {
  readonly lane: Lane;
  readonly what: string;
  readonly records: number;
  readonly calls_per_day: number;
}

type Add = (lane: Lane, what: string, records: number, every: number, calls?: number) => void;

/** Returns calls a day, line by line. */
export function planOf(catalogue: Catalogue): PlanLine[] {
  const { groups, resources: offered } = catalogue;
  const lines = new Map<string, PlanLine>();
  const datesOnSale = new Set<string>();
  const add: Add = (lane, what, records, every, calls = 1) => {
    if (records === 0) return;
    const known = lines.get(what) ?? { lane, what, records: 0, calls_per_day: 0 };
    const calls_per_day = known.calls_per_day + records * calls * readsPerPeriod(dayMs, every);
    lines.set(what, { ...known, records: known.records + records, calls_per_day });
  };
  const addOnSale: Add = (lane, what, ...rest) => {
    datesOnSale.add(what);
    add(lane, what, ...rest);
  };
  for (const group of groups) {
    for (const resource of productResources) {
      if (!isUntiered(resource)) addDates({ onSale: addOnSale, offSale: add }, group, catalogue);
      else if (!offered.has(resource)) continue;
      else if (resources[resource].edition === 'prices') addOwnReads(add, resource, group, catalogue);
      else addTexts(add, resource, group, catalogue);
    }
  }
  const rows = { products: productsOf(groups), experiences: catalogue.experiences, tags: catalogue.tags };
  for (const resource of listResources) if (offered.has(resource)) addList(add, resource, rows[resource], catalogue);
  const cadences = [...lines.values()];
  const dates = cadences.filter(({ what }) => datesOnSale.has(what));
  const scheduled = callsPerDay(cadences);
  const needed = callsPerDay(dates);
  const idle = extraReads(catalogue, scheduled, needed);
  const share = besideAudits(idle, scheduled, catalogue.audit) / Math.max(1, needed);
  const extra = dates.map(({ lane, what, calls_per_day }) => ({
    lane,
    what: `${what}, where a change is likely`,
    records: 0,
    calls_per_day: calls_per_day * share,
  }));
  const audits: PlanLine = {
    lane: 'audit',
    what: 'random reads that measure what is true',
    records: 0,
    calls_per_day: catalogue.audit * (scheduled + idle),
  };
  return [...cadences, ...extra, audits]
    .filter(({ records, calls_per_day }) => records > 0 || calls_per_day > 0)
    .sort((a, b) => lanes.indexOf(a.lane) - lanes.indexOf(b.lane));
}

/**
 * Returns the extra availability reads a day. `needed` is the number of calls for the cadences, `dates` the part of
 * them for dates.
 */
function extraReads({ extra }: Catalogue, needed: number, dates: number): number {
  return extra === null ? 0 : Math.min(extraCalls(extra, needed, extra.rate), extra.most * dates);
}

function addDates(
  add: Record<'onSale' | 'offSale', Add>,
  { on_sale, off_sale, windows, cadence }: Group,
  { currencies }: Catalogue,
): void {
  for (const { part, every, beyond } of windows) {
    const lane = part === 0 ? 'near' : 'far';
    const what = part === 0 ? 'near and middle dates' : beyond === true ? 'dates beyond the far ones' : 'far dates';
    add.onSale(lane, what, on_sale * currencies, every);
    add.offSale(lane, 'dates of products off sale', off_sale * currencies, cadence.products);
  }
}

/**
 * Adds reads by language. Covered products and those with dynamic prices have cadences of their own, if the resource
 * has them.
 */
function addTexts(add: Add, resource: TextResource, group: Group, { languages }: Catalogue): void {
  const { cadence, dynamic } = group;
  const { label, lane } = resources[resource];
  const often = isDynamic(resource) ? dynamic : 0;
  const announced = !isCovered(resource) ? 0 : group.covered - (isDynamic(resource) ? group.covered_dynamic : 0);
  add(lane, label, (productsOf([group]) - often - announced) * languages, cadence[resource]);
  if (isCovered(resource)) add(lane, label, announced * languages, coveredCadence(cadence, resource));
  if (isDynamic(resource)) add(lane, label, often * languages, cadence.dynamic_pricing[resource]);
}

/** Adds a product's own reads, which also check products that are off sale, and bring prices in further currencies. */
function addOwnReads(add: Add, resource: TextResource, group: Group, catalogue: Catalogue): void {
  const { off_sale, dynamic, cadence } = group;
  const { languages, currencies, look } = catalogue;
  const { label, lane } = resources[resource];
  const every = cadence[resource];
  const daily = Math.min(cadence.dynamic_pricing.products, every);
  const products = productsOf([group]);
  add('reopening', 'looks at products off sale', off_sale, Math.min(look, every) * period);
  const read = products * languages - off_sale;
  const often = Math.round(dynamic * languages * (read / Math.max(1, products * languages)));
  add(lane, label, read - often, every);
  add(lane, label, often, daily);
  const further = currencies - 1;
  add(lane, 'prices in further currencies', (products - dynamic) * further, every);
  add(lane, 'prices in further currencies', dynamic * further, daily);
}

function addList(add: Add, resource: ListResource, rows: number, catalogue: Catalogue): void {
  const { languages, currencies, page_size, walks } = catalogue;
  const { edition, label, lane } = resources[resource];
  const walked = { primary: 1, language: languages, further: languages + currencies - 1 }[edition];
  add(lane, label, walked, walks[resource], Math.max(1, Math.ceil(rows / page_size)));
}

/** Returns the number of products in some groups. */
export function productsOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { on_sale, off_sale }) => sum + on_sale + off_sale, 0);
}

/** Factor that makes reads of closed products exactly daily, without the small margin of the cadences. */
const period = readsPerPeriod(1, 1);

export function callsPerDay(lines: readonly PlanLine[]): number {
  return lines.reduce((sum, { calls_per_day }) => sum + calls_per_day, 0);
}

/** Calls of a lane: how many it needs, and how many of the rate it gets. */
export interface LaneSupply {
  readonly lane: Lane;
  /** Calls a day. */
  readonly wanted: number;
  readonly got: number;
}

/** Divides a rate (calls a second): each lane first gets its reserved share, then the rest goes in the lanes' order. */
export function shareOut(lines: readonly PlanLine[], shares: LaneShares, rate: number): LaneSupply[] {
  const perDay = (rate * dayMs) / 1000;
  const wanted = lanes.map((lane) => callsPerDay(lines.filter((line) => line.lane === lane)));
  const got = lanes.map((lane, index) => Math.min(wanted[index] ?? 0, reservedFor(lane, shares) * perDay));
  let left = perDay - got.reduce((sum, calls) => sum + calls, 0);
  for (const [index] of lanes.entries()) {
    const more = Math.min(left, (wanted[index] ?? 0) - (got[index] ?? 0));
    got[index] = (got[index] ?? 0) + more;
    left -= more;
  }
  return lanes.map((lane, index) => ({ lane, wanted: wanted[index] ?? 0, got: got[index] ?? 0 }));
}
