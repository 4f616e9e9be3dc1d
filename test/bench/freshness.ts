import { availableParallelism } from 'node:os';
import { measure } from '../simulate/compare.ts';
import { adaptiveScheduler, fixedScheduler } from '../simulate/schedulers.ts';
import { liveInWorlds, type ShippedWorld } from '../simulate/worlds.ts';
import type { Line } from './line.ts';
import { optionsOf } from './options.ts';

/*
 * How much is untrue as shipped, beside the optimum of who knows every rate, at the same calls; and the calls that fixed
 * cadences need for the same. `npm run bench -- freshness [--products 7500]`; all worlds: `npm run simulate -- --worlds`
 */

/** The default's calls at 7,500 products, as a multiple of what the promises need. */
const shipped = 4.3;
const wanted = { 'steady, σ 1.5': 0.015, 'steady, σ 2': 0.025 } as const;
/** Products of the second measure, and its calls. */
const [few, times] = [400, 2];

export async function freshnessLines(args: readonly string[]): Promise<Line[]> {
  const { products } = optionsOf('freshness', args, { products: 7500 });
  const scenarios = Object.keys(wanted) as (keyof typeof wanted)[];
  const worlds = scenarios.flatMap((scenario) =>
    (['told orders', 'told the weights', 'optimum'] as const).map(
      (decider): ShippedWorld => ({ scenario, times: shipped, decider, products, seed: 1 }),
    ),
  );
  const lived = await liveInWorlds(worlds, availableParallelism(), () => undefined);
  const lines = scenarios.map((scenario): Line => {
    const stale = (decider: ShippedWorld['decider']) =>
      lived.find((each) => each.scenario === scenario && each.decider === decider)?.stale ?? Number.NaN;
    const [orders, weights, best] = [stale('told orders'), stale('told the weights'), stale('optimum')];
    return {
      what: `untrue as shipped, ${products.toLocaleString('en-US')} products, ${scenario}: told orders; told what all sell, beside the optimum`,
      value: `${percent(orders)}; ${percent(weights)} / ${percent(best)} = ${(weights / best).toFixed(3)} ×`,
      target: `≤ ${percent(wanted[scenario])}; ≤ 1.05 ×`,
      met: weights <= 1.05 * best && orders <= wanted[scenario],
    };
  });
  return [...lines, sameFreshness()];
}

/** The calls of fixed cadences that leave as little untrue as ours do, by halving. */
function sameFreshness(): Line {
  const stale = (calls: number, how: 'ours' | 'fixed') =>
    measure('steady, σ 1.5', 1, { products: few, times: calls }, (budget) =>
      how === 'ours' ? adaptiveScheduler() : fixedScheduler(few, budget),
    ).stale;
  const ours = stale(times, 'ours');
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
