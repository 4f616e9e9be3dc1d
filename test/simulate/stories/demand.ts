import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { number } from '../../../src/format.ts';
import { learnAll, tellings } from '../demand.ts';
import { type Asked, percent, progress, say } from './story.ts';

/** What is gained by knowing what shoppers look at. `--products` is 1,000 and `--seeds` 3, unless given. */
export async function demandStory(asked: Asked): Promise<number> {
  const [products, seeds] = [asked.number('products', 1000), asked.number('seeds', 3)];
  say(`Sales-weighted staleness by what a scheduler is told of sales, at equal calls: ${number(products)} products, nothing older than 6 h,
${asked.number('times', 2)} times the calls that needs; days 15 to 28, ${seeds} seeds. Behind it, beside what is told nothing.\n\n`);
  let done = 0;
  const results = await learnAll(seeds, { products, times: asked.number('times', 2) }, availableParallelism(), () => {
    done += 1;
    progress(`${done} of ${4 * seeds} worlds`);
  });
  const columns = (['uneven', 'alike'] as const).flatMap((sales) =>
    (['steady, σ 1.5', 'steady, σ 2'] as const).map((scenario) => ({ sales, scenario })),
  );
  const staleOf = (telling: string, { sales, scenario }: (typeof columns)[number]) => {
    const of = results.filter((one) => one.telling === telling && one.sales === sales && one.scenario === scenario);
    return of.reduce((sum, { stale }) => sum + stale, 0) / of.length;
  };
  const rows = Object.keys(tellings).map((telling) => [
    telling,
    ...columns.map((column) => {
      const stale = staleOf(telling, column);
      return `${percent(stale)}  ${(stale / staleOf('nothing', column)).toFixed(2)}`;
    }),
  ]);
  say(`${table(['told', ...columns.map(({ sales, scenario }) => `sales ${sales}, ${scenario.slice(8)}`)], rows)}\n\n`);
  const calls = results.map((each) => each.calls);
  say(`between ${number(Math.min(...calls))} and ${number(Math.max(...calls))} calls\n`);
  const gain = (column: (typeof columns)[number]) =>
    staleOf('a view a product a day', column) / staleOf('nothing', column);
  return columns.every((column) => gain(column) <= (column.sales === 'uneven' ? 0.73 : 1.02)) ? 0 : 1;
}
