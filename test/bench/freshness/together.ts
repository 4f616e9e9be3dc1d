import { instant } from '../../../src/kernel/clock.ts';
import { sequence } from '../../../src/sandbox/random.ts';
import {
  addDemand,
  clearingPrice,
  noDemand,
  noExtraCalls,
  pricesAround,
} from '../../../src/schedule/call-price.rules.ts';
import { dueByWorth, isStillWorth } from '../../../src/schedule/record.rules.ts';
import { priorSiblings, type SiblingKind, Siblings, siblingKinds } from '../../../src/schedule/siblings.rules.ts';
import { afterVisitSignalled, either, priorSignal, type SignalBelief } from '../../../src/schedule/signal.rules.ts';
import { priorVolatility, stillTrue, type Volatility } from '../../../src/schedule/volatility.rules.ts';
import { type Course, coursesOf } from './courses.ts';
import { learning } from './measure.ts';
import { bound, floor, hourMs, knownIntervals, type Weigh } from './schedulers.ts';

/*
 * Worlds in which products change together, read in the order of time: what siblings are measured in. Hours throughout.
 * The decisions are those that ship: the price, `dueByWorth`, `isStillWorth`, and the class `Siblings`.
 */

interface TogetherWorld {
  readonly what: string;
  /** Share of all changes that come to the products of a group at one instant, and the kind of group. */
  readonly share: number;
  readonly by: SiblingKind;
  /** Probability with which a product of the group takes part. */
  readonly joins: number;
  /** Products of a venue; a supplier has four venues. */
  readonly size: number;
  /** Share of the groups whose products change together. */
  readonly groups: number;
  /** Factor of all rates in one hour of each day. */
  readonly rush: number;
}

const usual = { by: 'venue', joins: 1, size: 10, groups: 1, rush: 1 } as const;
export const togetherWorlds: readonly TogetherWorld[] = [
  { what: 'none shared', ...usual, share: 0 },
  { what: '25 % shared by venue', ...usual, share: 0.25 },
  { what: '50 % shared by venue', ...usual, share: 0.5 },
  { what: '25 % shared by supplier', ...usual, share: 0.25, by: 'supplier' },
  { what: '50 % shared by supplier', ...usual, share: 0.5, by: 'supplier' },
  { what: '25 % shared by half of a venue', ...usual, share: 0.25, joins: 0.5 },
  { what: '25 % shared, venues of three', ...usual, share: 0.25, size: 3 },
  { what: '25 % shared, venues of forty', ...usual, share: 0.25, size: 40 },
  { what: '50 % shared in a fifth of the venues', ...usual, share: 0.5, groups: 0.2 },
  { what: 'none shared, thirty times the changes from nine to ten', ...usual, share: 0, rush: 30 },
  { what: '25 % shared, and the same rush', ...usual, share: 0.25, rush: 30 },
];

export interface TogetherRun {
  readonly world: TogetherWorld;
  readonly products: number;
  readonly days: number;
  readonly seed: number;
  /** Calls, as a multiple of those that the freshness target needs. */
  readonly times: number;
  readonly knows: 'a fixed interval' | 'nothing' | 'orders' | 'weights' | 'every rate';
  readonly siblings: 'used' | 'unused';
}

/** Share of shoppers' time in which something shown was outdated, and the calls a day, in the second half of the run. */
export interface TogetherMeasured {
  readonly stale: number;
  readonly calls: number;
  /** Reads a day that siblings brought forward. */
  readonly brought: number;
}

interface Product {
  readonly course: Course;
  readonly groups: Readonly<Record<SiblingKind, string>>;
  /** Changes an hour, with those that are shared. */
  readonly rate: number;
  /** Instants of its changes, in order, and how many of them lie before the last read. */
  readonly changes: readonly number[];
  seen: number;
  last: number | null;
  next: number;
  /** True: siblings have brought the next read forward. */
  brought: boolean;
  /** The interval after which it is read if nothing is known of siblings. */
  alone: number;
  volatility: Volatility;
  weight: number;
}

function productsOf({ world, products, days, seed }: TogetherRun): Product[] {
  const chance = sequence(seed * 999 + 1);
  const { share, by, joins, size, groups, rush } = world;
  const instants = (rate: number) => {
    const most = rate * rush;
    const found: number[] = [];
    for (let at = 0; ; ) {
      at -= Math.log(1 - chance()) / most;
      if (at >= days * 24) return found;
      if (Math.floor(at) % 24 === 9 || chance() < 1 / rush) found.push(at);
    }
  };
  const named = coursesOf(seed, 'steady, σ 1.5', products).map((course) => {
    const venue = Math.floor(course.id / size);
    return { course, groups: { venue: `venue ${venue}`, supplier: `supplier ${Math.floor(venue / 4)}` } };
  });
  return [...Map.groupBy(named, ({ groups }) => groups[by]).values()].flatMap((members) => {
    const mean = members.reduce((sum, { course }) => sum + course.rate(0), 0) / members.length;
    const shared = chance() < groups ? share : 0;
    const events = shared === 0 ? [] : instants((shared * mean) / joins);
    return members.map((member): Product => {
      const own = member.course.rate(0) * (1 - shared);
      const changes = [...instants(own), ...events.filter(() => chance() < joins)].sort((a, b) => a - b);
      const next = chance() * (bound / 2);
      const rate = (own + shared * mean) * (1 + (rush - 1) / 24);
      const volatility = priorVolatility('near');
      return {
        ...member,
        rate,
        changes,
        seen: 0,
        last: null,
        next,
        brought: false,
        alone: bound,
        volatility,
        weight: 1,
      };
    });
  });
}

/** Products in the order of their next reads. A read that was moved stays in it, and is left out when it comes. */
class Agenda {
  readonly #heap: { readonly at: number; readonly product: Product }[] = [];

  add(product: Product): void {
    const heap = this.#heap;
    const entry = { at: product.next, product };
    let place = heap.push(entry) - 1;
    for (let above = (place - 1) >> 1; place > 0 && (heap[above]?.at ?? 0) > entry.at; above = (place - 1) >> 1) {
      heap[place] = heap[above] ?? entry;
      place = above;
    }
    heap[place] = entry;
  }

  take(): Product | null {
    for (let first = this.#first(); first !== null; first = this.#first())
      if (first.at === first.product.next) return first.product;
    return null;
  }

  #first() {
    const heap = this.#heap;
    const [first, last] = [heap[0], heap.pop()];
    if (first === undefined || last === undefined) return null;
    if (heap.length === 0) return first;
    const at = (place: number) => heap[place]?.at ?? Number.POSITIVE_INFINITY;
    let place = 0;
    for (;;) {
      const below = at(2 * place + 1) < at(2 * place + 2) ? 2 * place + 1 : 2 * place + 2;
      const entry = heap[below];
      if (entry === undefined || entry.at >= last.at) break;
      heap[place] = entry;
      place = below;
    }
    heap[place] = last;
    return first;
  }
}

/** Between two surveys of the demand. */
const surveyEvery = 6;

/** Lives through a world, and measures its second half. */
export function liveTogether(run: TogetherRun): TogetherMeasured {
  const { products: count, days, seed, times, knows, siblings: use } = run;
  const [budget, warmUp, end] = [(times / bound) * count, days * 12, days * 24];
  const products = productsOf(run);
  const scheduler = new Scheduler(products, budget, weighOf(knows, seed));
  const known = new Map(products.map(({ course }, index) => [course.id, index]));
  const best =
    knows === 'every rate'
      ? knownIntervals(
          products.map((each) => ({ rate: each.rate, weight: each.course.weight })),
          budget,
        )
      : null;
  const adapts = best === null && knows !== 'a fixed interval';
  const agenda = new Agenda();
  for (const product of products) agenda.add(product);
  const found = { stale: 0, lived: 0, calls: 0, brought: 0 };
  let surveyed = 0;
  for (let product = agenda.take(); product !== null && product.next < end; product = agenda.take()) {
    const at = product.next;
    for (; adapts && surveyed <= at; surveyed += surveyEvery) scheduler.survey(surveyed);
    if (product.brought && scheduler.mayWait(product)) {
      agenda.add(product);
      continue;
    }
    const { last, course } = product;
    const change = last === null ? null : changeUntil(product, at);
    if (at >= warmUp && last !== null) {
      found.calls += 1;
      if (product.brought) found.brought += 1;
      found.lived += course.weight * (at - Math.max(warmUp, last));
      if (change !== null) found.stale += course.weight * (at - Math.max(warmUp, change));
    }
    const moved = adapts ? scheduler.read(product, at, change !== null, use) : [];
    while ((product.changes[product.seen] ?? end) < at) product.seen += 1;
    product.last = at;
    product.brought = false;
    if (adapts) scheduler.plan(product);
    else product.next = at + (best?.[known.get(course.id) ?? 0] ?? count / budget);
    for (const each of [product, ...moved]) agenda.add(each);
  }
  const perDay = 24 / (end - warmUp);
  return { stale: found.stale / found.lived, calls: found.calls * perDay, brought: found.brought * perDay };
}

function changeUntil({ changes, seen }: Product, at: number): number | null {
  const change = changes[seen];
  return change === undefined || change >= at ? null : change;
}

function weighOf(knows: TogetherRun['knows'], seed: number): Weigh {
  if (knows === 'orders') return learning(seed);
  return () => (course) => (knows === 'nothing' ? 1 : course.weight);
}

/** The decisions of the daemon. */
class Scheduler {
  readonly #products: readonly Product[];
  readonly #budget: number;
  readonly #weigh: Weigh;
  readonly #siblings = new Siblings(0);
  readonly #beliefs: Record<SiblingKind, SignalBelief> = { venue: priorSiblings, supplier: priorSiblings };
  readonly #members: Readonly<Record<SiblingKind, Map<string, Product[]>>>;
  #price: number | null = null;

  constructor(products: readonly Product[], budget: number, weigh: Weigh) {
    [this.#products, this.#budget, this.#weigh] = [products, budget, weigh];
    const by = (kind: SiblingKind) => Map.groupBy(products, ({ groups }) => groups[kind]);
    this.#members = { venue: by('venue'), supplier: by('supplier') };
  }

  survey(hour: number): void {
    const products = this.#products;
    const weight = this.#weigh(
      hour,
      products.map(({ course }) => course),
    );
    for (const product of products) product.weight = weight(product.course);
    const cap = bound * hourMs * 0.99;
    const priced = products.map(({ volatility, weight }) => ({ volatility, weight, cap, floor: floor * hourMs }));
    const demand = addDemand(noDemand(pricesAround(this.#price)), priced);
    const extra = this.#budget / hourMs - this.#siblings.takeSpent(hour * hourMs) - demand.needed;
    this.#price = clearingPrice(demand, extra);
  }

  plan(product: Product): void {
    product.next = this.#due(product, 0).at / hourMs;
    product.alone = product.next - (product.last ?? 0);
  }

  /** Returns whether a read that siblings brought forward is no longer worth a call, and if so plans it again. */
  mayWait(product: Product): boolean {
    const due = this.#due(product, this.#jump(product));
    if (isStillWorth(due, (product.last ?? 0) * hourMs, product.next * hourMs)) return false;
    product.next = Math.max(due.at / hourMs, product.next + second);
    product.brought = false;
    return true;
  }

  /** Learns from a read. Returns the siblings whose next reads are brought forward. */
  read(product: Product, at: number, changed: boolean, use: TogetherRun['siblings']): Product[] {
    const { last, volatility } = product;
    if (last === null) return [];
    const read = { before_at: last * hourMs, at: at * hourMs, changed };
    if (this.#jump(product) > 0) this.#siblings.readEarly(at - last, product.alone);
    const otherwise = 1 - stillTrue(volatility, read.at - read.before_at);
    const others = new Set<Product>();
    const shared = (use === 'used' ? siblingKinds : []).map((kind) => {
      const othersReadAt = () => {
        const found = (this.#members[kind].get(product.groups[kind]) ?? []).filter((each) => each !== product);
        for (const each of found) others.add(each);
        return found.flatMap((each) => (each.last === null ? [] : each.last * hourMs));
      };
      const of = this.#siblings.afterRead(
        product.groups[kind],
        { ...read, otherwise },
        othersReadAt,
        this.#beliefs[kind],
      );
      this.#beliefs[kind] = of.belief;
      return of.shared;
    });
    const watched = { ...read, signal: null, looked_at: null };
    product.volatility = afterVisitSignalled(volatility, watched, priorSignal, priorVolatility('near'), either(shared));
    return [...others].filter((each) => {
      const jump = this.#jump(each);
      const next = jump === 0 ? each.next : Math.max(this.#due(each, jump).at / hourMs, at + second);
      if (next >= each.next) return false;
      [each.next, each.brought] = [next, true];
      return true;
    });
  }

  #jump({ groups, last }: Product): number {
    if (last === null) return 0;
    return either(siblingKinds.map((kind) => this.#siblings.jump(groups[kind], last * hourMs, this.#beliefs[kind])));
  }

  #due({ course, last, volatility, weight }: Product, jump: number) {
    const key = { resource: 'availability', product_id: course.id, edition: 'EUR', part: 0 } as const;
    const signal = { watch: { precision: 0, recall: 0, every: bound * hourMs }, jump };
    const worth = { volatility, weight, price: this.#price ?? noExtraCalls, floor: floor * hourMs, signal };
    return dueByWorth(key, instant(Math.round((last ?? 0) * hourMs)), bound * hourMs, worth);
  }
}

const second = 1 / 3600;
