import { type Clock, dayMs } from '../../kernel/clock.ts';
import { roll } from '../random.ts';

/**
 * The rates of change of the calendars: each product changes at the instants of a Poisson process with a lognormal
 * rate.
 */
export interface ChangeRates {
  readonly median_hours: number;
  readonly sigma: number;
  /** The instant after which nothing changes; absent: no end. */
  readonly until?: number;
}

/** The changes so far: a date of a product has a version, which starts at 0. */
export interface CalendarChanges {
  version(product_id: number, date: string): number;
}

interface Course {
  /** Instant of the next change, and the number of changes before it. */
  next_at: number;
  count: number;
  readonly versions: Map<string, number>;
}

/**
 * Creates the changes. A change hits one of the next 31 dates, the nearest most often. Deterministic in the seed and
 * the clock.
 */
export function calendarChanges(
  seed: number,
  clock: Clock,
  { median_hours, sigma, until = Number.POSITIVE_INFINITY }: ChangeRates,
): CalendarChanges {
  const courses = new Map<number, Course>();
  const started_at = clock.now();

  function pause(product_id: number, count: number): number {
    const [u, v, wait] = [1, 2, 3].map((which) => roll(seed, product_id, which === 3 ? count : 0, which, 'changes'));
    const normal = Math.sqrt(-2 * Math.log(1 - (u ?? 0))) * Math.cos(2 * Math.PI * (v ?? 0));
    const mean = (median_hours * 3_600_000) / Math.exp(sigma * normal);
    return -Math.log(1 - (wait ?? 0)) * mean;
  }

  return {
    version: (product_id, date) => {
      const course = courses.get(product_id) ?? {
        next_at: started_at + pause(product_id, 0),
        count: 0,
        versions: new Map<string, number>(),
      };
      courses.set(product_id, course);
      while (course.next_at <= Math.min(clock.now(), until)) {
        course.count += 1;
        const ahead = Math.floor(roll(seed, product_id, course.count, 'which date') ** 2 * 31);
        const hit = new Date(course.next_at + ahead * dayMs).toISOString().slice(0, 10);
        course.versions.set(hit, (course.versions.get(hit) ?? 0) + 1);
        course.next_at += Math.max(1000, pause(product_id, course.count));
      }
      return course.versions.get(date) ?? 0;
    },
  };
}
