import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { number } from '../../../src/format.ts';
import { compareLists, listWorlds } from '../signals.ts';
import { type Asked, percent, progress, say } from './story.ts';

/** What the walks over the list save where it shows some of the changes, and cost where it shows none. `--products` is 1000 unless given. */
export async function listsStory(asked: Asked): Promise<number> {
  const products = asked.number('products', 1000);
  say(`Sales-weighted staleness of availability at equal calls, the walks among them; rates steady, σ 1.5.
${number(products)} products, ${asked.number('times', 2)} times the calls that 6 h need; days 8 to 21, ${asked.number('seeds', 5)} seeds.\n\n`);
  const seeds = Array.from({ length: asked.number('seeds', 5) }, (_, index) => asked.number('seed', 1) + index);
  const extent = { products, times: asked.number('times', 2) };
  const results = await compareLists(seeds, extent, availableParallelism(), ({ world, seed }) =>
    progress(`${world.name}, seed ${seed}`),
  );
  const rows = listWorlds.map((world) => {
    const of = results.filter((each) => each.world.name === world.name);
    const mean = (value: (each: (typeof of)[number]) => number) =>
      of.reduce((sum, each) => sum + value(each), 0) / of.length;
    const beside = mean(({ watching, blind }) => watching / blind);
    const ratio = mean(({ watching, optimum }) => watching / optimum);
    const met = world.recall === 0 ? beside <= 1.01 : ratio <= (world.recall >= 0.6 ? 0.75 : 1);
    return {
      met,
      cells: [
        world.name,
        percent(mean(({ optimum }) => optimum)),
        percent(mean(({ blind }) => blind)),
        percent(mean(({ watching }) => watching)),
        ratio.toFixed(3),
        beside.toFixed(3),
        `${(100 * (mean(({ calls }) => calls.watching / calls.optimum) - 1)).toFixed(1)} %`,
        mean(({ walks_a_day }) => walks_a_day).toFixed(0),
        mean(({ precision }) => precision).toFixed(2),
        mean(({ recall }) => recall).toFixed(2),
        met ? 'yes' : 'no',
      ],
    };
  });
  const head = ['world', 'optimum without the list', 'without', 'with', 'with / optimum', 'with / without'];
  const learned = ['calls, with over optimum', 'walks a day', 'precision', 'recall', 'met'];
  say(
    `${table(
      [...head, ...learned],
      rows.map(({ cells }) => cells),
    )}\n`,
  );
  return rows.every(({ met }) => met) ? 0 : 1;
}
