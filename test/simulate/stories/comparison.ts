import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { number } from '../../../src/format.ts';
import { type Compared, compareAll } from '../compare.ts';
import { scenarios } from '../courses.ts';
import { type Asked, percent, progress, say } from './story.ts';

export async function comparisonStory(asked: Asked): Promise<number> {
  say(`Sales-weighted staleness of availability: the share of shoppers' time in which something shown was no longer true.
${number(asked.number('products', 2000))} products, sales Zipf 0.9, nothing older than 6 h, ${asked.number('times', 2)} times the calls that needs; days 15 to 28, ${asked.number('seeds', 5)} seeds.\n\n`);
  let done = 0;
  const all = scenarios.length * asked.number('seeds', 5);
  const results = await compareAll(
    asked.number('seeds', 5),
    { products: asked.number('products', 2000), times: asked.number('times', 2) },
    availableParallelism(),
    () => {
      done += 1;
      progress(`${done} of ${all} worlds`);
    },
  );
  const rows = scenarios.map((scenario) => {
    const of = results.filter((each) => each.scenario === scenario);
    const mean = (value: (each: Compared) => number) => of.reduce((sum, each) => sum + value(each), 0) / of.length;
    const ratio = mean(({ adaptive, oracle }) => adaptive.stale / oracle.stale);
    const target = scenario.startsWith('steady') ? 1.05 : 1.15;
    const share = mean(({ adaptive, fixed }) => adaptive.stale / fixed.stale);
    return {
      met: ratio <= target && share <= 0.6 && of.every(({ adaptive }) => adaptive.oldest <= 6),
      cells: [
        scenario,
        percent(mean(({ fixed }) => fixed.stale)),
        percent(mean(({ adaptive }) => adaptive.stale)),
        percent(mean(({ oracle }) => oracle.stale)),
        `${ratio.toFixed(3)} (at most ${target})`,
        Math.max(...of.map(({ adaptive, oracle }) => adaptive.stale / oracle.stale)).toFixed(3),
        `${share.toFixed(3)} (at most 0.6)`,
        `${(100 * (mean(({ adaptive, fixed }) => adaptive.calls / fixed.calls) - 1)).toFixed(2)} %`,
        `${Math.max(...of.map(({ adaptive }) => adaptive.oldest)).toFixed(2)} h`,
      ],
    };
  });
  const head = [
    'world',
    'fixed',
    'adaptive',
    'oracle',
    'adaptive / oracle',
    'worst seed',
    'adaptive / fixed',
    'calls, adaptive over fixed',
    'oldest',
  ];
  say(
    `${table(
      head,
      rows.map(({ cells }) => cells),
    )}\n`,
  );
  return rows.every(({ met }) => met) ? 0 : 1;
}
