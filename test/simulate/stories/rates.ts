import { availableParallelism } from 'node:os';
import { number } from '../../../src/format.ts';
import { allCells, legend, quickCells, head as rateHead } from '../rates/table.ts';
import { rateLines } from '../rates/threads.ts';
import { type Asked, say, saying } from './story.ts';

/** What of a service's limit is used, by our rule and by the one before it. `--quick`: some sixty cells; `--seeds` is 3, from `--seed` on. */
export async function ratesStory(asked: Asked): Promise<number> {
  const cells = asked.is('quick') ? quickCells() : allCells();
  const seeds = Array.from({ length: asked.number('seeds', 3) }, (_, index) => asked.number('seed', 1) + index);
  say(`${legend.join('\n')}\n${number(cells.length)} cells, seeds ${seeds.join(', ')}\n\n${rateHead}\n`);
  const lines = await rateLines(cells, seeds, availableParallelism(), ({ line }) => saying(line));
  const missed = lines.filter((line) => line.missed).length;
  const old = lines.filter(({ old_missed }) => old_missed).length;
  say(
    `\n${number(cells.length)} cells, ${number(missed)} missed; by the old rule ${number(old)} use too little (control)\n`,
  );
  return missed === 0 && old > 0 ? 0 : 1;
}
