import { addDemand, clearingPrice, noDemand, noExtraCalls, pricesAround } from '../../src/domain/schedule/price.ts';
import {
  addWalkCosts,
  afterVisitWatched,
  afterWatchedRead,
  bestWalkInterval,
  intervalAfterSignal,
  jumpOf,
  type Looks,
  noWalkCosts,
  planReads,
  precisionOf,
  priorSignal,
  recallOf,
  type SignalBelief,
  watchOf,
} from '../../src/domain/schedule/signal.ts';
import { afterVisit, priorVolatility, type Volatility } from '../../src/domain/schedule/volatility.ts';
import { type Course, chanceOf, coursesOf, firstChange } from './courses.ts';
import { bound, oracleScheduler } from './schedulers.ts';
import { asThread, inThreads } from './threads.ts';

/*
 * Worlds in which the product list shows a share of the changes of dates: what its walks save, at equal calls.
 */

/** What the list of a world shows. */
export interface ListWorld {
  readonly name: string;
  /** The share of the changes that it shows. */
  readonly recall: number;
  /** The share of its own changes that are about a change of dates. */
  readonly precision: number;
  /** Every entry differs at every walk. */
  readonly noise?: true;
}

export const listWorlds: readonly ListWorld[] = [
  { name: 'the list shows 60 %', recall: 0.6, precision: 0.8 },
  { name: 'the list shows 30 %', recall: 0.3, precision: 0.8 },
  { name: 'the list never changes', recall: 0, precision: 1 },
  { name: 'the list changes with nothing', recall: 0, precision: 0 },
  { name: 'every entry differs at every walk', recall: 0, precision: 0, noise: true },
];

export interface ListExtent {
  readonly products: number;
  readonly times: number;
}

export interface WithList {
  readonly world: ListWorld;
  readonly seed: number;
  /** The share of shoppers' time in which something shown was no longer true. */
  readonly optimum: number;
  readonly blind: number;
  readonly watching: number;
  readonly calls: { readonly optimum: number; readonly blind: number; readonly watching: number };
  readonly walks_a_day: number;
  readonly precision: number;
  readonly recall: number;
}

const warmUp = 7 * 24;
const end = 21 * 24;
const step = 1 / 12;
const hourMs = 3_600_000;
const floor = 5 * 60_000;
const cap = bound * hourMs * 0.99;
/** The cadence of the list, and how many entries it has a page. */
const listEvery = 7 * 24;
const pageSize = 100;

interface Change {
  readonly at: number;
  readonly shown: boolean;
}

/** A course with everything that happens to it, and what its list entry does. */
interface Life {
  readonly course: Course;
  /** Ascending. */
  readonly changes: readonly Change[];
  /** When its list entry changes, ascending. */
  readonly entry: readonly number[];
}

function livesOf(seed: number, world: ListWorld, products: number): Life[] {
  const chance = chanceOf(seed * 1000 + 13);
  const lives = coursesOf(seed, 'steady, σ 1.5', products).map((course) => {
    const changes: Change[] = [];
    for (let at = firstChange(course, 0, end, chance); at !== null; at = firstChange(course, at, end, chance))
      changes.push({ at, shown: chance() < world.recall });
    return { course, changes };
  });
  const shown = lives.reduce((sum, { changes }) => sum + changes.filter((each) => each.shown).length, 0);
  const right = world.recall > 0 ? shown : products * end * 0.02;
  // What else changes in the list does so at the same rate for every product.
  const wrong = world.recall > 0 ? (right * (1 - world.precision)) / world.precision : right * (1 - world.precision);
  return lives.map(({ course, changes }) => {
    const other = Array.from({ length: Math.round(wrong / products) }, () => chance() * end);
    const entry = [...changes.filter((each) => each.shown).map(({ at }) => at), ...other].sort((a, b) => a - b);
    return { course, changes, entry };
  });
}

/** Decides when to read; hours. */
interface Reader {
  /** At a walk over the list, which no product has seen before: the looks, and which entries differ. */
  walked?(looks: Looks, differs: (life: Life) => boolean): void;
  hourly(hour: number): void;
  walkEvery(): number;
  /** After a read at `at`, `before` which the last was. */
  next(course: Course, at: number, before: number | null, changed: boolean): number;
  replanned?(course: Course, last: number): number;
}

function measure(lives: readonly Life[], world: ListWorld, reader: Reader, seed: number) {
  const chance = chanceOf(seed * 1000 + 7);
  const states = lives.map((life) => ({
    life,
    last: null as number | null,
    next: chance() * (bound / 2),
    /** Index of the first change and entry after the last read. */
    change: 0,
    entry: 0,
  }));
  const found = { stale: 0, lived: 0, calls: 0, walks: 0 };
  let walked = 0;
  for (let now = 0; now < end; now += step) {
    if (Math.abs(now - Math.round(now)) < step / 2) reader.hourly(Math.round(now));
    if (now - walked >= reader.walkEvery() - 1e-6) {
      const looks = { before_at: walked * hourMs, at: now * hourMs };
      const differing = new Set<Life>();
      for (const state of states) {
        const from = state.entry;
        while ((state.life.entry[state.entry] ?? Number.POSITIVE_INFINITY) < now) state.entry += 1;
        if (world.noise === true || state.entry > from) differing.add(state.life);
      }
      reader.walked?.(looks, (life) => differing.has(life));
      walked = now;
      if (now >= warmUp) {
        found.calls += lives.length / pageSize;
        found.walks += 1;
      }
    }
    for (const state of states) {
      const { life, last } = state;
      if (last !== null) state.next = Math.max(now, reader.replanned?.(life.course, last) ?? state.next);
      while (state.next < now + step) {
        const [from, at] = [state.last, state.next];
        const first = life.changes[state.change]?.at ?? Number.POSITIVE_INFINITY;
        const changed = from !== null && first < at;
        while ((life.changes[state.change]?.at ?? Number.POSITIVE_INFINITY) < at) state.change += 1;
        if (at >= warmUp) {
          found.calls += 1;
          if (from !== null) {
            found.lived += life.course.weight * (at - Math.max(warmUp, from));
            if (changed) found.stale += life.course.weight * (at - Math.max(warmUp, first));
          }
        }
        state.next = reader.next(life.course, at, from, changed);
        state.last = at;
      }
    }
  }
  return { stale: found.stale / found.lived, calls: found.calls, walks: found.walks };
}

/** The optimum of who knows every rate and does not look at the list. */
function optimal(lives: readonly Life[], budget: number): Reader {
  const oracle = oracleScheduler();
  const courses = lives.map(({ course }) => course);
  return {
    walkEvery: () => listEvery,
    hourly: (hour) => oracle.hourly(hour, courses, budget),
    next: (course, at) => oracle.next(course, at, null, false),
    replanned: (course, last) => oracle.replanned?.(course, last) ?? 0,
  };
}

/** The daemon's decisions, with the list or (`blind`) without. */
function ours(lives: readonly Life[], budget: number, how: 'watching' | 'blind') {
  const prior = priorVolatility('near');
  const believed = new Map<number, Volatility>();
  const of = (id: number) => believed.get(id) ?? prior;
  const seen = new Map<number, { last: number; next: number; signal: Looks | null }>();
  let belief: SignalBelief = priorSignal;
  let price: number | null = null;
  let every = listEvery * hourMs;
  let looked_at = 0;
  const pages = lives.length / pageSize;
  const watch = () => (how === 'blind' ? null : watchOf(belief, every));
  const worth = (weight: number) => ({ weight, price: price ?? noExtraCalls, floor, cap });
  const reader: Reader = {
    walkEvery: () => every / hourMs,
    hourly: (hour) => {
      if (hour % 3 !== 0) return;
      const records = lives.map(({ course: { id, weight } }) => ({
        volatility: of(id),
        weight,
        cap,
        floor,
        watch: watch(),
      }));
      if (how === 'watching' && price !== null)
        every = bestWalkInterval(
          addWalkCosts(noWalkCosts(listEvery * hourMs, floor, belief), records, price),
          price,
          pages,
        );
      const demand = addDemand(
        noDemand(pricesAround(price)),
        records.map((each) => ({ ...each, watch: watch() })),
      );
      const walks = pages / every - pages / (listEvery * hourMs);
      price = clearingPrice(demand, budget / hourMs - demand.needed - walks);
    },
    walked: (looks, differs) => {
      looked_at = looks.at;
      const now = watch();
      if (now === null) return;
      for (const life of lives) {
        const { id, weight } = life.course;
        const state = seen.get(id);
        if (state === undefined || !differs(life)) continue;
        state.signal = looks;
        const jump = jumpOf(now, looks, state.last * hourMs);
        state.next = Math.min(state.next, state.last + intervalAfterSignal(of(id), worth(weight), now, jump) / hourMs);
      }
    },
    next: ({ id, weight }, at, before, changed) => {
      const state = seen.get(id);
      if (before !== null) {
        const read = { before_at: before * hourMs, at: at * hourMs, changed, signal: state?.signal ?? null, looked_at };
        const volatility = of(id);
        const learned =
          how === 'blind'
            ? afterVisit(volatility, (at - before) * hourMs, changed, prior)
            : afterVisitWatched(volatility, read, belief, prior);
        if (how === 'watching') belief = afterWatchedRead(belief, volatility, read);
        believed.set(id, learned);
      }
      const interval = planReads(of(id), worth(weight), watch()).every / hourMs;
      seen.set(id, { last: at, next: at + interval, signal: null });
      return at + interval;
    },
    replanned: ({ id }) => seen.get(id)?.next ?? 0,
  };
  return { reader, learned: () => ({ precision: precisionOf(belief), recall: recallOf(belief), every }) };
}

function compareOne(world: ListWorld, seed: number, { products, times }: ListExtent): WithList {
  const lives = livesOf(seed, world, products);
  const budget = (times / bound) * products;
  const watching = ours(lives, budget, 'watching');
  const [optimum, blind, seeing] = [optimal(lives, budget), ours(lives, budget, 'blind').reader, watching.reader].map(
    (reader) => measure(lives, world, reader, seed),
  ) as [ReturnType<typeof measure>, ReturnType<typeof measure>, ReturnType<typeof measure>];
  const { precision, recall } = watching.learned();
  return {
    world,
    seed,
    optimum: optimum.stale,
    blind: blind.stale,
    watching: seeing.stale,
    calls: { optimum: optimum.calls, blind: blind.calls, watching: seeing.calls },
    walks_a_day: (seeing.walks * 24) / (end - warmUp),
    precision,
    recall,
  };
}

/** Every world with every seed, on as many threads as there are cores. */
export function compareLists(
  seeds: readonly number[],
  extent: ListExtent,
  threads: number,
  done: (compared: WithList) => void,
): Promise<WithList[]> {
  const jobs = listWorlds.flatMap((world) => seeds.map((seed) => ({ world, seed, extent })));
  return inThreads(import.meta.url, jobs, threads, done);
}

await asThread(import.meta.url, ({ world, seed, extent }: { world: ListWorld; seed: number; extent: ListExtent }) =>
  compareOne(world, seed, extent),
);
