import { table } from '../../../src/commands/terminal/table.ts';
import type { Results } from './start-readers.ts';

/** The longest that a read may wait for SQLite, in milliseconds. */
const longestWaitMs = 250;

/** What is not as it has to be; empty: nothing. */
export function problemsOf(results: Results): string[] {
  return [...results].flatMap(([language, { inconsistent, first, errors, blocked_ms }]) => [
    ...(inconsistent > 0 ? [`${language}: ${inconsistent} inconsistent reads, the first: ${first}`] : []),
    ...errors.map((error) => `${language}: failed twice: ${error}`),
    ...(blocked_ms > longestWaitMs ? [`${language}: a read was blocked for ${blocked_ms.toFixed(0)} ms`] : []),
  ]);
}

export function readsOf(...all: readonly Results[]): number {
  return all.flatMap((results) => [...results.values()]).reduce((sum, { reads }) => sum + reads, 0);
}

/** One line a reader. Longest: by the clock on the wall, with the processor shared; blocked: what it slept of one read. */
export function resultsTable(during: Readonly<Record<string, Results>>): string {
  const rows = Object.entries(during).flatMap(([name, results]) =>
    [...results].map(([language, { reads, inconsistent, retries, errors, blocked_ms, times_us }]) => {
      const times = times_us.toSorted((a, b) => a - b);
      const ms = (us: number | undefined) => ((us ?? 0) / 1000).toFixed(us !== undefined && us < 10_000 ? 2 : 0);
      const [p50, p99, longest] = [0.5, 0.99, 1].map((share) =>
        ms(times[Math.min(times.length - 1, Math.floor(times.length * share))]),
      );
      const counts = [reads, inconsistent, retries, errors.length].map((count) => count.toLocaleString('en'));
      return [name, language, ...counts, p50, p99, longest, blocked_ms.toFixed(1)].map(String);
    }),
  );
  const heads = [
    'during',
    'reader',
    'reads',
    'inconsistent',
    'retries',
    'errors',
    'p50 ms',
    'p99',
    'longest',
    'blocked',
  ];
  return table(heads, rows);
}

/** Says of lags in order, in milliseconds, how long they were. */
export function lagText(lags: readonly number[]): string {
  const [p50, p99, longest] = [0.5, 0.99, 1].map(
    (share) => lags[Math.min(lags.length - 1, Math.floor(lags.length * share))],
  );
  const ms = (value: number | undefined) => (value === undefined ? '-' : `${value.toFixed(0)} ms`);
  return `p50 ${ms(p50)}, p99 ${ms(p99)}, longest ${ms(longest)}, of ${lags.length.toLocaleString('en')} states`;
}
