import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { number } from '../../../src/format.ts';
import { measuredWorlds } from '../truth.ts';
import { type Asked, percent, progress, say, withMargin } from './story.ts';

/** What random reads say beside the truth, a week of each world: at 7,500 products within 0.3 points in 9 of 10 of them. */
export async function truthStory(asked: Asked): Promise<number> {
  const products = asked.number('products', 7500);
  const seeds = asked.number('seeds', 2);
  const worlds = await measuredWorlds(
    seeds,
    { products, times: asked.number('times', 4.3) },
    availableParallelism(),
    ({ scenario, seed }) => progress(`${scenario}, seed ${seed}`),
  );
  const off = ({ share, truth: untrue }: (typeof worlds)[number]) => Math.abs((share ?? 1) - untrue);
  const rows = worlds.map((world) => [
    world.scenario,
    String(world.seed),
    percent(world.truth),
    world.share === null ? 'cannot tell' : percent(world.share),
    world.margin === null ? '-' : `± ${percent(world.margin)}`,
    number(world.audited),
    `${(100 * off(world)).toFixed(2)} points`,
    withMargin(world.wrong, world.ordered),
  ]);
  say(
    `${table(['world', 'seed', 'untrue', 'measured', 'margin', 'random reads', 'off by', 'wrong at checkout, at most'], rows)}\n\n`,
  );
  say(
    `Wrong at checkout: of 500 orders a day, as if each change were of the very date ordered; --shoppers asks the real engine.\n`,
  );
  const near = worlds.filter((world) => off(world) <= 0.003).length;
  const covered = worlds.filter((world) => off(world) <= (world.margin ?? 0)).length;
  const told = worlds.filter(({ share }) => share !== null).length;
  say(
    `${near} of ${worlds.length} worlds within 0.3 points; the margin covers ${covered} of ${told} that could tell\n`,
  );
  return covered >= 0.9 * told && (products < 7500 || near >= 0.9 * worlds.length) ? 0 : 1;
}
