import {
  addDemand,
  clearingPrice,
  noDemand,
  noExtraCalls,
  pricesAround,
} from '../../../src/schedule/call-price.rules.ts';
import { dueByWorth } from '../../../src/schedule/record.rules.ts';
import { afterVisit, priorVolatility, type Volatility } from '../../../src/schedule/volatility.rules.ts';
import type { Course } from './courses.ts';

/** The near tier is never older than this, and nothing is read again earlier than the floor; hours. */
export const bound = 6;
export const floor = 1 / 12;

export const hourMs = 3_600_000;

/** Decides when to read again. Hours; `budget` is in calls an hour for all products together. */
export interface Scheduler {
  /** Once an hour, with the products that are there. */
  hourly(hour: number, courses: readonly Course[], budget: number): void;
  /** After a visit at `at`, `elapsed` after the last one (null: the first): the next one. */
  next(course: Course, at: number, elapsed: number | null, changed: boolean): number;
  /** Where a plan may be brought forward or put off without a visit (only the oracle knows why it would). */
  replanned?(course: Course, last: number): number;
}

/** The same interval for everybody. */
export function fixedScheduler(products: number, budget: number): Scheduler {
  return { hourly: () => undefined, next: (_, at) => at + products / budget };
}

/** Says every three hours what each product weighs, as far as a scheduler knows. */
export type Weigh = (hour: number, courses: readonly Course[]) => (course: Course) => number;

/** The decisions of the daemon: `dueByWorth`, `afterVisit` and the price, called with nothing but visits and weights. */
export function adaptiveScheduler(weigh: Weigh = () => (course) => course.weight): Scheduler {
  const prior = priorVolatility('near');
  const believed = new Map<number, Volatility>();
  const of = (id: number) => believed.get(id) ?? prior;
  let price: number | null = null;
  let weightOf: ReturnType<Weigh> = () => 1;
  return {
    hourly: (hour, courses, budget) => {
      if (hour % 3 !== 0) return;
      weightOf = weigh(hour, courses);
      const priced = courses.map((course) => ({
        volatility: of(course.id),
        weight: weightOf(course),
        cap: bound * hourMs * 0.99,
        floor: floor * hourMs,
      }));
      const demand = addDemand(noDemand(pricesAround(price)), priced);
      price = clearingPrice(demand, budget / hourMs - demand.needed);
    },
    next: (course, at, elapsed, changed) => {
      const { id } = course;
      if (elapsed !== null) believed.set(id, afterVisit(of(id), elapsed * hourMs, changed, prior));
      const key = { resource: 'availability', product_id: id, edition: 'EUR', part: 0 } as const;
      const worth = {
        volatility: of(id),
        weight: weightOf(course),
        price: price ?? noExtraCalls,
        floor: floor * hourMs,
      };
      return dueByWorth(key, at * hourMs, bound * hourMs, worth).at / hourMs;
    },
  };
}

/**
 * The optimum for Poisson change with every rate of the hour known: one multiplier over all, intervals within the same
 * bound and floor, the same calls (Cho and Garcia-Molina 2003). Shares no code with the scheduler under test.
 */
export function oracleScheduler(): Scheduler {
  let multiplier: number | null = null;
  let now = 0;
  const interval = ({ weight, rate }: Course) => knownInterval(rate(now), (multiplier ?? 1) / weight);
  return {
    hourly: (hour, courses, budget) => {
      now = hour;
      const rates = courses.map(({ rate, weight }) => ({ rate: rate(hour), weight }));
      const asked = (candidate: number) =>
        rates.reduce((sum, { rate, weight }) => sum + 1 / knownInterval(rate, candidate / weight), 0);
      let [low, high] = multiplier === null ? [1e-12, 10] : [multiplier / 3, multiplier * 3];
      for (let step = 0; step < (multiplier === null ? 50 : 14); step += 1) {
        const middle = Math.sqrt(low * high);
        if (asked(middle) > budget) low = middle;
        else high = middle;
      }
      multiplier = Math.sqrt(low * high);
    },
    next: (course, at) => at + interval(course),
    replanned: (course, last) => last + interval(course),
  };
}

function knownInterval(rate: number, wanted: number): number {
  const value = (time: number) => {
    const x = rate * time;
    return (x < 1e-4 ? x * x * (0.5 - x / 3) : 1 - Math.exp(-x) * (1 + x)) / rate;
  };
  if (value(bound) <= wanted) return bound;
  if (value(floor) >= wanted) return floor;
  let [low, high] = [floor, bound];
  for (let step = 0; step < 14; step += 1) {
    const middle = Math.sqrt(low * high);
    if (value(middle) < wanted) low = middle;
    else high = middle;
  }
  return Math.sqrt(low * high);
}

/** Returns the best interval of each record, in hours, if all true rates are known and `budget` calls an hour may be made. */
export function knownIntervals(
  records: readonly { readonly rate: number; readonly weight: number }[],
  budget: number,
): number[] {
  const at = (multiplier: number) => records.map(({ rate, weight }) => knownInterval(rate, multiplier / weight));
  let [low, high] = [1e-12, 10];
  for (let step = 0; step < 50; step += 1) {
    const middle = Math.sqrt(low * high);
    if (at(middle).reduce((sum, every) => sum + 1 / every, 0) > budget) low = middle;
    else high = middle;
  }
  return at(Math.sqrt(low * high));
}
