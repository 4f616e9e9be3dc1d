import { type Measured, measure } from './compare.ts';
import type { Scenario } from './courses.ts';
import { learning, type Told } from './demand.ts';
import { adaptiveScheduler, fixedScheduler, oracleScheduler, type Scheduler } from './schedulers.ts';
import { asThread, inThreads } from './threads.ts';

/*
 * Worlds at what the promises need, at what the default spends and at twice that: fixed cadences, the daemon's decisions
 * by what it is told of sales, and the optimum of who knows all rates and weights, at equal calls.
 */

/** Who decides; what is told of sales is of a catalogue in which a product is sold once in ten days, or seen once a day. */
export const deciders = [
  'fixed',
  'told nothing',
  'told places',
  'told checks and views',
  'told orders',
  'told the weights',
  'optimum',
] as const;
export type Decider = (typeof deciders)[number];

const told: Readonly<Record<Exclude<Decider, 'fixed' | 'told the weights' | 'optimum'>, Told>> = {
  'told nothing': {},
  // By nobody but the service: its own order of popularity, which follows sales roughly.
  'told places': { places: 'rough' },
  'told checks and views': { views: 1 },
  'told orders': { tickets: 0.1 },
};

export interface Shipped extends Measured {
  readonly scenario: Scenario;
  readonly seed: number;
  /** The calls, as a multiple of what the promises need. */
  readonly times: number;
  readonly decider: Decider;
}

export type ShippedWorld = Pick<Shipped, 'scenario' | 'seed' | 'times' | 'decider'> & { readonly products: number };

function schedulerOf({ decider, seed, products }: ShippedWorld): (budget: number) => Scheduler {
  if (decider === 'fixed') return (budget) => fixedScheduler(products, budget);
  if (decider === 'told the weights') return () => adaptiveScheduler();
  return decider === 'optimum' ? oracleScheduler : () => adaptiveScheduler(learning(told[decider], seed));
}

/** Lives in every world, on as many threads as there are cores. */
export function liveInWorlds(
  worlds: readonly ShippedWorld[],
  threads: number,
  done: (lived: Shipped) => void,
): Promise<Shipped[]> {
  return inThreads<ShippedWorld, Shipped>(import.meta.url, worlds, threads, done);
}

await asThread(import.meta.url, (world: ShippedWorld): Shipped => {
  const { products, ...which } = world;
  const { scenario, seed, times } = which;
  return { ...which, ...measure(scenario, seed, { products, times }, schedulerOf(world)) };
});
