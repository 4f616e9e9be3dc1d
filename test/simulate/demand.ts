import { faded } from '../../src/domain/catalogue/category.ts';
import {
  addInterest,
  interestIn,
  mostInterest,
  noInterest,
  viewsOfTicket,
} from '../../src/domain/schedule/interest.ts';
import { roll } from '../../src/sandbox/random.ts';
import { type Extent, measure } from './compare.ts';
import { type Course, chanceOf, type Scenario } from './courses.ts';
import { adaptiveScheduler, type Weigh } from './schedulers.ts';
import { asThread, inThreads } from './threads.ts';

/*
 * What it is worth to know what shoppers look at: the same scheduler, the same calls, and weights learned from what
 * storefronts tell. Nothing changes oftener because it sells: rates of change and sales are drawn apart.
 */

/** What a scheduler is told. Views and tickets of a day are so many for each product; places may be those of the sales. */
export interface Told {
  readonly views?: number;
  readonly tickets?: number;
  /** By sales, beside a chance that is as large; or by chance alone. */
  readonly places?: 'rough' | 'wrong';
  /** Somebody reloads the page of the product that sells least, so often for each view of a shopper. */
  readonly forged?: number;
}

/** Lines of the table, the first of which the others are compared with. */
export const tellings = {
  nothing: null,
  'places, rough': { places: 'rough' },
  'places, wrong': { places: 'wrong' },
  'a ticket a product in ten days': { tickets: 0.1 },
  'a view a product a day': { views: 1 },
  'a view a day, wrong places': { views: 1, places: 'wrong' },
  'ten views a day': { views: 10 },
  'ten views a day, one product forged': { views: 10, forged: 100 },
  everything: 'the weights',
} as const satisfies Readonly<Record<string, Told | 'the weights' | null>>;

type Telling = keyof typeof tellings;
const names = Object.keys(tellings) as Telling[];

export interface Learned {
  readonly sales: NonNullable<Extent['sales']>;
  readonly scenario: Scenario;
  readonly telling: Telling;
  readonly stale: number;
  readonly calls: number;
}

interface World {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly extent: Extent;
}

const dayMs = 86_400_000;

/** Learns as the daemon does: from sums of views that fade, and places, weighed beside all others once a survey. */
export function learning(told: Told, seed: number): Weigh {
  const chance = chanceOf(seed * 77 + 5);
  const views = new Map<number, number>();
  let places: ReadonlyMap<number, number> | null = null;
  return (hour, courses) => {
    places ??= placesOf(told, courses, seed);
    if (hour % 24 === 0) tellDay(told, courses, views, chance);
    const interest = new Map(
      courses.map(({ id }) => {
        const known = { list_place: places?.get(id) ?? null, views: views.get(id) ?? 0 };
        return [id, interestIn(known, courses.length)];
      }),
    );
    const most = mostInterest([...interest.values()].reduce(addInterest, noInterest));
    return ({ id }) => Math.min(interest.get(id) ?? 1, most);
  };
}

function tellDay(told: Told, courses: readonly Course[], views: Map<number, number>, chance: () => number): void {
  const { views: seen = 0, tickets = 0, forged = 0 } = told;
  const many = courses.length;
  const least = courses.reduce((one, other) => (other.weight < one.weight ? other : one)).id;
  for (const { id, weight } of courses) {
    const today =
      drawn(many * seen * weight, chance) +
      viewsOfTicket * drawn(many * tickets * weight, chance) +
      (id === least ? forged * seen * many : 0);
    views.set(id, faded(dayMs, views.get(id) ?? 0, 0) + today);
  }
}

function placesOf({ places }: Told, courses: readonly Course[], seed: number): ReadonlyMap<number, number> {
  if (places === undefined) return new Map();
  const luck = (id: number) => Math.log(roll(seed, id, 'place')) / 0.9;
  const score = ({ id, weight }: Course) => (places === 'wrong' ? 0 : -Math.log(weight)) - luck(id);
  return new Map(courses.toSorted((a, b) => score(a) - score(b)).map(({ id }, index) => [id, index + 1]));
}

/** A number of events of which so many are expected (Poisson; of many, the normal distribution beside it). */
function drawn(expected: number, chance: () => number): number {
  if (expected > 50) {
    const gauss = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
    return Math.max(0, Math.round(expected + gauss * Math.sqrt(expected)));
  }
  let count = 0;
  for (let left = chance(); left > Math.exp(-expected); left *= chance()) count += 1;
  return count;
}

function learnedIn({ scenario, seed, extent }: World): Learned[] {
  return names.map((telling) => {
    const told: Told | 'the weights' | null = tellings[telling];
    const scheduler = () => {
      if (told === 'the weights') return adaptiveScheduler();
      return adaptiveScheduler(told === null ? () => () => 1 : learning(told, seed));
    };
    const { stale, calls } = measure(scenario, seed, extent, scheduler);
    return { sales: extent.sales ?? 'uneven', scenario, telling, stale, calls };
  });
}

/** Both steady worlds, with sales by Zipf's law and with equal ones, with every seed. */
export async function learnAll(
  seeds: number,
  extent: Pick<Extent, 'products' | 'times'>,
  threads: number,
  done: () => void,
): Promise<Learned[]> {
  const worlds = (['uneven', 'alike'] as const).flatMap((sales) =>
    (['steady, σ 1.5', 'steady, σ 2'] as const).flatMap((scenario) =>
      Array.from({ length: seeds }, (_, seed) => ({ scenario, seed: seed + 1, extent: { ...extent, sales } })),
    ),
  );
  return (await inThreads<World, Learned[]>(import.meta.url, worlds, threads, done)).flat();
}

await asThread(import.meta.url, learnedIn);
