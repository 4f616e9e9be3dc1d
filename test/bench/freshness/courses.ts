import { roll } from '../../../src/sandbox/random.ts';

/*
 * Worlds in which products change at known rates: what a scheduler is measured in. Hours throughout.
 */

export const scenarios = [
  'steady, σ 1.5',
  'steady, σ 2',
  'tenfold jumps',
  'rising as the date nears',
  'arrivals',
] as const;
export type Scenario = (typeof scenarios)[number];

export interface Course {
  readonly id: number;
  /** The share of all sales: the weights of a world sum to 1. */
  readonly weight: number;
  readonly arrives: number;
  /** Changes an hour, at an hour of the simulation. */
  rate(hour: number): number;
}

const week = 168;
const season = 30 * 24;

/**
 * Change rates lognormal (median one change in 48 hours), sales Zipf with exponent 0.9 over products in a random order.
 * Jumps: each product's rate is multiplied or divided by ten once a week, at an hour of its own. Nearing: the rate
 * rises nineteenfold towards an event every thirty days. Arrivals: three products in ten appear after the fourteenth day.
 */
export function coursesOf(seed: number, scenario: Scenario, products: number): Course[] {
  const order = Array.from({ length: products }, (_, id) => id).sort(
    (a, b) => roll(seed, a, 'rank') - roll(seed, b, 'rank'),
  );
  const total = order.reduce((sum, _, rank) => sum + 1 / (rank + 1) ** 0.9, 0);
  return order.map((id, rank) => {
    const base = Math.exp(sigmaOf(scenario) * gauss(seed, id)) / 48;
    const [phase, up] = [roll(seed, id, 'phase'), roll(seed, id, 'up') < 0.5];
    const late = scenario === 'arrivals' && roll(seed, id, 'late') < 0.3;
    return {
      id,
      weight: 1 / (rank + 1) ** 0.9 / total,
      arrives: late ? 14 * 24 * (1 + 0.9 * roll(seed, id, 'when')) : 0,
      rate: rateOf(scenario, base, phase, up),
    };
  });
}

function rateOf(scenario: Scenario, base: number, phase: number, up: boolean): (hour: number) => number {
  switch (scenario) {
    case 'tenfold jumps':
      return (hour) => ((Math.floor(hour / week + phase) % 2 === 0) === up ? 10 * base : base);
    case 'rising as the date nears':
      return (hour) => {
        const days = (season - ((hour + phase * season) % season)) / 24;
        return base * (0.5 + 9.5 * Math.exp(-days / 3));
      };
    default:
      return () => base;
  }
}

function sigmaOf(scenario: Scenario): number {
  return scenario === 'steady, σ 2' ? 2 : 1.5;
}

function gauss(seed: number, id: number): number {
  return Math.sqrt(-2 * Math.log(1 - roll(seed, id, 'u'))) * Math.cos(2 * Math.PI * roll(seed, id, 'v'));
}

/** When a course changes first after `from` and before `to`; null where it does not. Chance is drawn hour by hour. */
export function firstChange(course: Course, from: number, to: number, chance: () => number): number | null {
  for (let at = from; at < to; ) {
    const end = Math.min(to, Math.floor(at + 1e-9) + 1);
    const change = at - Math.log(1 - chance()) / course.rate(at);
    if (change < end) return change;
    at = end;
  }
  return null;
}
