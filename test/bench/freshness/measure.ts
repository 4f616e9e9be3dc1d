import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { faded } from '../../../src/catalogue/category.rules.ts';
import { sequence } from '../../../src/sandbox/random.ts';
import {
  addInterest,
  interestIn,
  mostInterest,
  noInterest,
  viewsOfTicket,
} from '../../../src/schedule/interest.rules.ts';
import { type Course, coursesOf, firstChange, type Scenario } from './courses.ts';
import { adaptiveScheduler, bound, fixedScheduler, oracleScheduler, type Scheduler, type Weigh } from './schedulers.ts';

/**
 * Who decides when to read: fixed cadences; the daemon's own decisions, which learn sales from orders or know them; and the
 * optimum, which knows every rate and all sales.
 */
export type Decider = 'fixed' | 'told orders' | 'told the weights' | 'optimum';

export interface FreshnessWorld {
  readonly scenario: Scenario;
  readonly decider: Decider;
  readonly products: number;
  /** The calls, as a multiple of those that the freshness target needs. */
  readonly times: number;
  readonly seed: number;
}

export interface Measured extends FreshnessWorld {
  /** The share of shoppers' time in which something shown was outdated. */
  readonly stale: number;
  /** The oldest copy, in hours. */
  readonly oldest: number;
}

const warmUp = 14 * 24;
const end = 28 * 24;

/** Lives through four weeks of one world under one decider, and measures the last two. */
export function measure(world: FreshnessWorld): Measured {
  const { scenario, seed, products, times } = world;
  const chance = sequence(seed * 1000 + 7);
  const perProduct = times / bound;
  const plan = schedulerOf(world, perProduct * products);
  const states = coursesOf(seed, scenario, products).map((course) => ({
    course,
    last: null as number | null,
    next: course.arrives + chance() * (bound / 2),
  }));
  const found = { stale: 0, lived: 0, oldest: 0 };
  for (let hour = 0; hour < end; hour += 1) {
    const there = states.filter(({ course }) => course.arrives <= hour);
    const courses = there.map(({ course }) => course);
    plan.hourly(hour, courses, perProduct * there.length);
    for (const state of there) {
      const { course } = state;
      if (state.last !== null) state.next = Math.max(hour, plan.replanned?.(course, state.last) ?? state.next);
      while (state.next < hour + 1) {
        const [from, at] = [state.last, state.next];
        const change = from === null ? null : firstChange(course, from, at, chance);
        if (at >= warmUp && from !== null) {
          found.lived += course.weight * (at - Math.max(warmUp, from));
          if (change !== null) found.stale += course.weight * (at - Math.max(warmUp, change));
          found.oldest = Math.max(found.oldest, at - from);
        }
        state.next = plan.next(course, at, from === null ? null : at - from, change !== null);
        state.last = at;
      }
    }
  }
  return { ...world, stale: found.stale / found.lived, oldest: found.oldest };
}

function schedulerOf({ decider, seed, products }: FreshnessWorld, budget: number): Scheduler {
  switch (decider) {
    case 'fixed':
      return fixedScheduler(products, budget);
    case 'told orders':
      return adaptiveScheduler(learning(seed));
    case 'told the weights':
      return adaptiveScheduler();
    case 'optimum':
      return oracleScheduler();
  }
}

/** A product is sold once in so many days, on average over the catalogue. */
const daysPerTicket = 10;

/** Learns sales as the daemon does: from tickets, whose sums fade and are weighed beside those of all others. */
export function learning(seed: number): Weigh {
  const chance = sequence(seed * 77 + 5);
  const views = new Map<number, number>();
  return (hour, courses) => {
    if (hour % 24 === 0)
      for (const { id, weight } of courses) {
        const today = viewsOfTicket * drawn((courses.length / daysPerTicket) * weight, chance);
        views.set(id, faded(86_400_000, views.get(id) ?? 0, 0) + today);
      }
    const interest = new Map(
      courses.map(({ id }: Course) => [
        id,
        interestIn({ list_place: null, views: views.get(id) ?? 0 }, courses.length),
      ]),
    );
    const most = mostInterest([...interest.values()].reduce(addInterest, noInterest));
    return ({ id }) => Math.min(interest.get(id) ?? 1, most);
  };
}

/** Draws a number of events of which so many are expected (Poisson; for many, the normal distribution beside it). */
function drawn(expected: number, chance: () => number): number {
  if (expected > 50) {
    const gauss = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
    return Math.max(0, Math.round(expected + gauss * Math.sqrt(expected)));
  }
  let count = 0;
  for (let left = chance(); left > Math.exp(-expected); left *= chance()) count += 1;
  return count;
}

/** Measures every world, on so many threads. */
export async function measureAll(worlds: readonly FreshnessWorld[], threads: number): Promise<Measured[]> {
  const results: Measured[] = [];
  await Promise.all(
    Array.from({ length: threads }, async (_, thread) => {
      const workerData = worlds.filter((__, index) => index % threads === thread);
      const worker = new Worker(new URL(import.meta.url), { workerData });
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      worker.on('message', (result: Measured) => void results.push(result));
      worker.on('error', reject).on('exit', () => resolve());
      await promise;
    }),
  );
  return results;
}

if (!isMainThread && Array.isArray(workerData))
  for (const world of workerData as FreshnessWorld[]) parentPort?.postMessage(measure(world));
