import { liveTogether, type TogetherRun, togetherWorlds } from './freshness/together.ts';
import { count, type Line, optionsOf } from './measure.ts';

/*
 * The share of shoppers' time in which something shown is outdated, in worlds whose products change together: as
 * shipped, beside the optimum that knows every rate and all sales, and reads each record alone with the same calls.
 * `npm run bench -- together --worlds 11` measures the worlds that no target names.
 */

/** The default's calls at 7,500 products, as a multiple of those that the freshness target needs. */
const times = 4.3;
/** Most that siblings may cost where nothing is shared. */
const costs = 1.01;

export async function togetherLines(args: readonly string[]): Promise<Line[]> {
  const given = optionsOf('together', args, { products: 500, days: 10, seeds: 1, first: 0, worlds: 2 });
  const seeds = Array.from({ length: given.seeds }, (_, seed) => seed + 1);
  return togetherWorlds.slice(given.first, given.first + given.worlds).map((world): Line => {
    const mean = (knows: TogetherRun['knows'], siblings: TogetherRun['siblings']) => {
      const runs = seeds.map((seed) => liveTogether({ ...given, world, seed, times, knows, siblings }));
      const of = (value: (run: (typeof runs)[number]) => number) =>
        runs.reduce((sum, run) => sum + value(run), 0) / runs.length;
      return {
        stale: of(({ stale }) => stale),
        calls: of(({ calls }) => calls),
        brought: of(({ brought }) => brought),
      };
    };
    const said = ({ stale, calls }: { stale: number; calls: number }) =>
      `${(100 * stale).toFixed(2)} % (${calls.toFixed(0)})`;
    const [fixed, best] = [mean('a fixed interval', 'unused'), mean('every rate', 'unused')];
    const [nothing, orders, weights] = (['nothing', 'orders', 'weights'] as const).map((knows) => ({
      unused: mean(knows, 'unused'),
      used: mean(knows, 'used'),
    })) as [Told, Told, Told];
    const beside = world.share === 0 ? weights.used.stale / weights.unused.stale : weights.used.stale / best.stale;
    return {
      what: `outdated (calls a day), ${count(given.products)} products, ${world.what}: fixed; told nothing, orders, all sales, each without and with siblings; optimum alone`,
      value: `${said(fixed)}; ${[nothing, orders, weights].map(({ unused, used }) => `${said(unused)}, ${said(used)}`).join('; ')}; ${said(best)}: ${beside.toFixed(3)} ×`,
      target: world.share === 0 ? `with / without ≤ ${costs} ×` : 'all sales with siblings / optimum < 1 ×',
      met: world.share === 0 ? beside <= costs : beside < 1,
    };
  });
}

type Measured = ReturnType<typeof liveTogether>;
type Told = { readonly unused: Measured; readonly used: Measured };
