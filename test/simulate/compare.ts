import { type Course, chanceOf, coursesOf, firstChange, type Scenario, scenarios } from './courses.ts';
import { adaptiveScheduler, bound, fixedScheduler, oracleScheduler, type Scheduler } from './schedulers.ts';
import { asThread, inThreads } from './threads.ts';

/** Sales-weighted staleness of availability after the warm-up, and what it cost. */
export interface Measured {
  /** The share of shoppers' time in which something shown was no longer true. */
  readonly stale: number;
  readonly calls: number;
  /** The oldest copy, in hours. */
  readonly oldest: number;
}

/** How many products there are, and how many times the calls that the bound needs may be made. */
export interface Extent {
  readonly products: number;
  readonly times: number;
  readonly sales?: 'uneven' | 'alike';
}

export interface Compared {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly fixed: Measured;
  readonly adaptive: Measured;
  readonly oracle: Measured;
}

const warmUp = 14 * 24;
const end = 28 * 24;

/** Courses that sell alike, instead of by Zipf's law. */
const alike = (courses: readonly Course[]) => courses.map((course) => ({ ...course, weight: 1 / courses.length }));

/** One world, one scheduler: `times` the calls that the bound needs, over four weeks, measured over the last two. */
export function measure(
  scenario: Scenario,
  seed: number,
  { products, times, sales = 'uneven' }: Extent,
  scheduler: (budget: number) => Scheduler,
): Measured {
  const chance = chanceOf(seed * 1000 + 7);
  const perProduct = times / bound;
  const plan = scheduler(perProduct * products);
  const courses = coursesOf(seed, scenario, products);
  const states = (sales === 'alike' ? alike(courses) : courses).map((course) => ({
    course,
    last: null as number | null,
    next: course.arrives + chance() * (bound / 2),
  }));
  const found = { stale: 0, lived: 0, calls: 0, oldest: 0 };
  for (let hour = 0; hour < end; hour += 1) {
    const there = states.filter(({ course }) => course.arrives <= hour);
    plan.hourly(
      hour,
      there.map(({ course }) => course),
      perProduct * there.length,
    );
    for (const state of there) {
      const { course } = state;
      if (state.last !== null) state.next = Math.max(hour, plan.replanned?.(course, state.last) ?? state.next);
      while (state.next < hour + 1) {
        const [from, at] = [state.last, state.next];
        const change = from === null ? null : firstChange(course, from, at, chance);
        if (at >= warmUp) {
          found.calls += 1;
          if (from !== null) {
            found.lived += course.weight * (at - Math.max(warmUp, from));
            if (change !== null) found.stale += course.weight * (at - Math.max(warmUp, change));
            found.oldest = Math.max(found.oldest, at - from);
          }
        }
        state.next = plan.next(course, at, from === null ? null : at - from, change !== null);
        state.last = at;
      }
    }
  }
  return { stale: found.stale / found.lived, calls: found.calls, oldest: found.oldest };
}

function compareOne(scenario: Scenario, seed: number, extent: Extent): Compared {
  const { products } = extent;
  return {
    scenario,
    seed,
    fixed: measure(scenario, seed, extent, (budget) => fixedScheduler(products, budget)),
    adaptive: measure(scenario, seed, extent, () => adaptiveScheduler()),
    oracle: measure(scenario, seed, extent, oracleScheduler),
  };
}

/** Every scenario with every seed, on as many threads as there are cores. */
export function compareAll(
  seeds: number,
  extent: Extent,
  threads: number,
  done: (compared: Compared) => void,
): Promise<Compared[]> {
  const jobs = scenarios.flatMap((scenario) =>
    Array.from({ length: seeds }, (_, seed) => ({ scenario, seed: seed + 1, extent })),
  );
  return inThreads(import.meta.url, jobs, threads, done);
}

await asThread(import.meta.url, ({ scenario, seed, extent }: { scenario: Scenario; seed: number; extent: Extent }) =>
  compareOne(scenario, seed, extent),
);
