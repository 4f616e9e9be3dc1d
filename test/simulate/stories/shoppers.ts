import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { errorRateGoal } from '../../../src/domain/checks/error-rate.ts';
import { number } from '../../../src/format.ts';
import { type ShopperMonth, shopperMonths } from '../shoppers.ts';
import { type Asked, percent, progress, say, withMargin } from './story.ts';

/**
 * What shoppers met who chose from the mirror: 500 come a day. `--products` is 200 and `--seeds` 1 unless given. Says for
 * each seed the availability error rate at checkout as shipped, and whether the truth meter's margins cover the truth.
 */
export async function shoppersStory(asked: Asked): Promise<number> {
  const seeds = Array.from({ length: asked.number('seeds', 1) }, (_, index) => asked.number('seed', 1) + index);
  const months = await shopperMonths(
    { days: asked.number('days', 30), products: asked.number('products', 200), per_day: 500 },
    seeds,
    availableParallelism(),
    ({ seed, scheduling, check, seconds }) =>
      progress(`seed ${seed}, ${scheduling}, check ${check} the order: ${seconds.toFixed(0)} s`),
  );
  say(`\n${metBy(months)}\n\n`);
  const misjudged = months.reduce((sum, month) => sum + month.misjudged, 0);
  say(`${number(misjudged)} verdicts that the service contradicted at that instant\n\n`);
  const shipped = months.filter(({ scheduling }) => scheduling === 'adaptive');
  for (const { seed, check, counted } of shipped)
    say(
      `availability error rate at checkout as shipped, seed ${seed}, by ${check === 'before' ? 'checks' : 'orders without a check'}: ${withMargin(counted.wrong, counted.asked)} (goal: below ${percent(errorRateGoal)})\n`,
    );
  const covered = meterOf(shipped);
  // Where a product closed within a minute of its own read a check cannot tell (`sale-contradicted`), which counts neither
  // way and orders nothing. All else that was shown wrong is counted.
  const met = (month: ShopperMonth) =>
    month.counted.wrong + month.unknown === month.shown_wrong && (month.check === 'never' || month.refused === 0);
  const good = shipped.every(({ counted: { asked: of, wrong } }) => wrong < errorRateGoal * of);
  const shown = months.some(({ shown_wrong }) => shown_wrong > 0);
  return misjudged === 0 && shown && good && covered && months.every(met) ? 0 : 1;
}

function metBy(months: readonly ShopperMonth[]): string {
  const share = (part: number, of: number) => (of === 0 ? 'none' : percent(part / of));
  const rows = months.map((month) => [
    String(month.seed),
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
  const head = ['seed', 'cadences', 'check', 'chose', 'shown wrong', 'counted by the mirror'];
  return table([...head, 'turned away', 'unknown', 'orders', 'refused', 'calls'], rows);
}

/** Prints what the truth meter says of each tier beside what shoppers saw. Returns whether it is right 9 times in 10. */
function meterOf(months: readonly ShopperMonth[]): boolean {
  const lines = months.flatMap(({ seed, check, measured, looked }) =>
    looked.flatMap(({ tier, looks, untrue }) => {
      const said = measured.find((each) => each.tier === tier);
      if (said?.share == null || said.margin === null || looks === 0) return [];
      const off = Math.abs(said.share - untrue / looks);
      const cells = [
        String(seed),
        check,
        tier,
        percent(untrue / looks),
        percent(said.share),
        `± ${percent(said.margin)}`,
      ];
      return [{ covers: off <= said.margin, cells: [...cells, number(said.audited)] }];
    }),
  );
  const covered = lines.filter(({ covers }) => covers).length;
  const head = ['seed', 'check', 'tier', 'untrue', 'measured', 'margin', 'random reads', 'covered'];
  if (lines.length > 0)
    say(
      `\n${table(
        head,
        lines.map(({ cells, covers }) => [...cells, covers ? 'yes' : 'no']),
      )}\n`,
    );
  say(`\nthe margin of the truth meter covers ${covered} of ${lines.length} tiers that could tell\n`);
  return covered >= 0.9 * lines.length;
}
