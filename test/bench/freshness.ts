import { availableParallelism } from 'node:os';
import { type Scenario, scenarios } from './freshness/courses.ts';
import { type Decider, type FreshnessWorld, measure, measureAll } from './freshness/measure.ts';
import { bound } from './freshness/schedulers.ts';
import { count, type Line, optionsOf } from './measure.ts';

/*
 * The share of shoppers' time in which something shown is outdated: as shipped, beside the optimum of who knows every
 * rate, at the same calls; and the calls that fixed cadences need for the same. `npm run bench -- freshness --worlds 5`
 * also measures the three worlds whose rates are not steady; `--products 7500` and `--seeds 1` are what it does alone.
 */

/** The default's calls at 7,500 products, as a multiple of those that the freshness target needs. */
const shipped = 4.3;
/** Most that may be outdated as shipped, where change rates are steady; the other worlds are measured only. */
const wanted: Partial<Record<Scenario, number>> = { 'steady, σ 1.5': 0.015, 'steady, σ 2': 0.025 };
const besideOptimum = 1.05;
/** Products of the second measure, and its calls. */
const [few, times] = [400, 2];

export async function freshnessLines(args: readonly string[]): Promise<Line[]> {
  const { products, worlds: many, seeds } = optionsOf('freshness', args, { products: 7500, worlds: 2, seeds: 1 });
  const lived = scenarios.slice(0, many);
  const worlds = lived.flatMap((scenario) =>
    Array.from({ length: seeds }, (_, seed) =>
      (['told orders', 'told the weights', 'optimum'] as const).map(
        (decider): FreshnessWorld => ({ scenario, times: shipped, decider, products, seed: seed + 1 }),
      ),
    ).flat(),
  );
  const measured = await measureAll(worlds, availableParallelism());
  const lines = lived.map((scenario): Line => {
    const of = measured.filter((each) => each.scenario === scenario);
    const stale = (decider: Decider) => {
      const by = of.filter((each) => each.decider === decider);
      return by.reduce((sum, each) => sum + each.stale, 0) / by.length;
    };
    const [orders, weights, best] = [stale('told orders'), stale('told the weights'), stale('optimum')];
    const oldest = Math.max(...of.filter(({ decider }) => decider !== 'optimum').map((each) => each.oldest));
    const most = wanted[scenario];
    return {
      what: `untrue as shipped, ${count(products)} products, ${scenario}: told orders; told what all sell, beside the optimum`,
      value: `${percent(orders)}; ${percent(weights)} / ${percent(best)} = ${(weights / best).toFixed(3)} ×`,
      target: most === undefined ? '-' : `≤ ${percent(most)}; ≤ ${besideOptimum} ×`,
      met: most === undefined ? null : weights <= besideOptimum * best && orders <= most && oldest <= bound,
    };
  });
  return [...lines, sameFreshness()];
}

/** The calls of fixed cadences that leave as little untrue as ours do, by halving. */
function sameFreshness(): Line {
  const stale = (calls: number, decider: Decider) =>
    measure({ scenario: 'steady, σ 1.5', seed: 1, products: few, times: calls, decider }).stale;
  const ours = stale(times, 'told the weights');
  let [low, high] = [times, 8 * times];
  for (let step = 0; step < 5; step += 1) {
    const middle = Math.sqrt(low * high);
    if (stale(middle, 'fixed') > ours) low = middle;
    else high = middle;
  }
  const share = times / Math.sqrt(low * high);
  return {
    what: `calls beside fixed cadences that are as fresh, ${few} products, steady, σ 1.5`,
    value: `${share.toFixed(2)} ×`,
    target: '≤ 0.6 ×',
    met: share <= 0.6,
  };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
