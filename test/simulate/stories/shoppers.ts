import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { number } from '../../../src/format.ts';
import { type ShopperMonth, shopperMonths } from '../shoppers.ts';
import { type Asked, percent, progress, say } from './story.ts';

/** What shoppers met who chose from the mirror. `--products` is 200 unless given, and 500 shoppers come a day. */
export async function shoppersStory(asked: Asked): Promise<number> {
  const months = await shopperMonths(
    {
      days: asked.number('days', 30),
      products: asked.number('products', 200),
      seed: asked.number('seed', 1),
      per_day: 500,
    },
    availableParallelism(),
    ({ scheduling, check, seconds }) => progress(`${scheduling}, check ${check} the order: ${seconds.toFixed(0)} s`),
  );
  const share = (part: number, of: number) => (of === 0 ? 'none' : percent(part / of));
  const rows = months.map((month) => [
    month.scheduling,
    month.check,
    number(month.chose),
    share(month.shown_wrong, month.chose),
    share(month.counted.wrong, month.counted.asked),
    number(month.turned_away),
    number(month.unknown),
    number(month.orders),
    share(month.refused, month.orders),
    number(month.calls),
  ]);
  const head = [
    'cadences',
    'check',
    'chose',
    'shown wrong',
    'counted by the mirror',
    'turned away',
    'unknown',
    'orders',
    'refused',
    'calls',
  ];
  say(`\n${table(head, rows)}\n\n`);
  const misjudged = months.reduce((sum, month) => sum + month.misjudged, 0);
  say(`${number(misjudged)} verdicts that the service contradicted at that instant\n`);
  // Where a product closed within a minute of its own read a check cannot tell (`sale-contradicted`), which counts neither
  // way and orders nothing. All else that was shown wrong is counted.
  const met = (month: ShopperMonth) =>
    month.counted.wrong + month.unknown === month.shown_wrong &&
    (month.check === 'never' ? month.shown_wrong > 0 : month.refused === 0);
  return misjudged === 0 && months.every(met) ? 0 : 1;
}
