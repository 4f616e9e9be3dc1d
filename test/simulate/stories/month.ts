import { table } from '../../../src/commands/terminal/table.ts';
import { duration, number } from '../../../src/format.ts';
import { liveMonth, type Month, type MonthOptions } from '../month.ts';
import { type Asked, progress, say } from './story.ts';

/** A month of the real engine: how old things became, what it cost, and what differs at the end. */
export async function monthStory(asked: Asked): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const month = await liveMonth(
    {
      days: asked.number('days', 30),
      products: asked.number('products', 2000),
      seed: asked.number('seed', 1),
      scheduling: asked.is('fixed') ? 'fixed' : 'adaptive',
      ...(asked.is('faults') ? badMonth(asked.number('days', 30)) : { quiet_from: asked.number('days', 30) - 1 }),
      progress,
    },
    stack,
  );
  print(month, asked.number('days', 30));
  const late = month.ages
    .filter(({ tier }) => !asked.is('faults') || tier === 'images')
    .filter(({ worst_ms, promise_ms }) => worst_ms > promise_ms + 60_000);
  const broken = asked.is('faults') ? 0 : Object.keys(month.broken).length;
  return late.length + broken + month.differences === 0 ? 0 : 1;
}

/**
 * A fifth of the answers fail, the service is away for two days three times, and throttles at half of our ceiling. All
 * of it ends 7.1 days before the end: one cadence later the mirror must equal the service.
 */
function badMonth(days: number): Pick<MonthOptions, 'quiet_from' | 'sandbox' | 'config' | 'hourly'> {
  const quiet_from = days - 7.1;
  const outages = [4, 10, 17].map((day) => Math.min(day, quiet_from - 3));
  return {
    quiet_from,
    sandbox: { fault_share: 0.2, throttle: { per_second: 5 } },
    config: { budget: { requests_per_second: 10, concurrency: 4, share: 0.25 } },
    hourly: async ({ sandbox }, hour) => {
      const day = hour / 24;
      if (day >= quiet_from) sandbox.setFaultShare(0);
      await sandbox.setReachable(outages.some((from) => from <= day && day < from + 2) ? 'no' : 'yes');
    },
  };
}

function print({ ages, calls, predicted, fill, broken, feed, seconds, differences, first }: Month, days: number): void {
  const rows = ages.map(({ tier, promise_ms, records, reads, worst_ms, stale_share }) => [
    tier,
    duration(promise_ms),
    number(records),
    hours(worst_ms),
    `${(100 * stale_share).toFixed(3)} %`,
    number(reads),
  ]);
  say(`\n${table(['resource, tier', 'promise', 'products', 'worst age', 'time stale', 'reads'], rows)}\n\n`);
  const off = (100 * (calls - predicted)) / predicted;
  say(
    `${number(calls)} calls in ${days} days after a fill of ${number(fill)}; plan predicted ${number(Math.round(predicted))} (${off >= 0 ? '+' : ''}${off.toFixed(1)} %)\n`,
  );
  say(
    `change feed: ${number(feed.lines)} lines and ${number(feed.bytes)} bytes on the day that told most (at most 60,000 and 15 MB at 7,500 products)\n`,
  );
  const hoursBroken = Object.entries(broken).map(([name, count]) => `${name}, ${count} times`);
  say(
    `view freshness, asked every eleven hours: ${hoursBroken.length === 0 ? 'every promise kept' : `broken: ${hoursBroken.join('; ')}`}\n`,
  );
  say(
    `${number(differences)} differences between the mirror and the service at the end\n${first.map((line) => `  ${line}\n`).join('')}`,
  );
  say(`${seconds.toFixed(0)} s of real time\n`);
}

function hours(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${(minutes / 1440).toFixed(2)} d`;
}
