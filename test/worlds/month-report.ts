import { table } from '../../src/commands/terminal/table.ts';
import { duration, number } from '../../src/kernel/format.ts';
import { liveMonth } from './month.ts';

interface MonthAsked {
  readonly days: number;
  readonly products: number;
  readonly seed: number;
  readonly silent: number;
  readonly faults?: true;
  readonly fixed?: true;
}

/** After so many days without faults, one cadence later, the mirror must equal the service; without any, after one. */
const calmDays = { many: 7.1, none: 1 };

/** Lives through a month, and prints how old things became, what it cost, and what differs. Returns the exit status. */
export async function monthWorld(asked: MonthAsked, say: (line: string) => void): Promise<number> {
  const faults = asked.faults === true ? 'many' : 'none';
  const began = performance.now();
  const month = await liveMonth({
    ...asked,
    faults,
    calm_days: calmDays[faults],
    silent_days: asked.silent,
    config: { scheduling: asked.fixed === true ? 'fixed' : 'adaptive' },
    progress: (text) => void process.stderr.write(process.stderr.isTTY ? `\r${text}\u001b[K` : `${text}\n`),
  });
  const { ages, calls, predicted, fill, shown, unlimited_ms, record, takedowns, failures } = month;
  const rows = ages.map(({ tier, target_ms, records, reads, worst_ms, stale_share }) => [
    tier,
    duration(target_ms),
    number(records),
    exactly(worst_ms),
    `${(100 * stale_share).toFixed(3)} %`,
    number(reads),
  ]);
  say(`\n${table(['resource, tier', 'target', 'products', 'worst age', 'time outdated', 'reads'], rows)}\n`);
  const off = (100 * (calls - predicted)) / predicted;
  say(
    `${number(calls)} calls in ${asked.days} days after a fill of ${number(fill)}; plan predicted ${number(Math.round(predicted))} (${off >= 0 ? '+' : ''}${off.toFixed(1)} %)\n`,
  );
  const images = shown
    .map(
      (each, index) => [index === 0 ? `${asked.days} days` : `${asked.silent} days without any answer`, each] as const,
    )
    .filter(([, { minutes }]) => minutes > 0)
    .map(([what, { minutes, oldest_ms, least, most }]) => [
      what,
      number(minutes),
      exactly(oldest_ms),
      number(least),
      number(most),
    ]);
  say(`${table(['images', 'minutes asked', 'oldest visible', 'fewest', 'most'], images)}\n`);
  if (asked.silent > 0) say(`without the limit in the view the oldest would be ${exactly(unlimited_ms)} (control)`);
  if (asked.faults)
    say(
      `${number(record.compared)} images compared with the service's own record of its newest answers: ${number(record.differing)} products differ (control: ${number(record.behind)} from what the service has by then and no answer has shown); ${number(takedowns)} takedowns`,
    );
  say(`${failures.length} rules broken; ${duration(performance.now() - began)} of real time`);
  for (const failure of failures) say(`  ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

/** 13 d 23 h 59 min, never rounded up. */
function exactly(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
  return `${days > 0 ? `${days} d ` : ''}${hours} h ${minutes % 60} min`;
}
