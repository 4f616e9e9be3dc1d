import type { Clock } from '../../clock.ts';

/** How many calls each caller of checks has caused. */
export interface Callers {
  /** Notes one more call for a caller; `spent`: it had all of this minute's already, and nothing is noted. */
  take(caller: string): 'noted' | 'spent';
}

/** Live checks that one caller may cause in a minute. Those that share a call with others cost nothing. */
const callsPerCaller = 30;
/** More callers in a minute than this are counted as one, with a hundred times as many calls: memory is bounded. */
const mostCallers = 10_000;

export function countCallers(clock: Pick<Clock, 'monotonic'>): Callers {
  let since = clock.monotonic();
  const calls = new Map<string, number>();
  return {
    take: (caller) => {
      const now = clock.monotonic();
      if (now - since >= 60_000) {
        since = now;
        calls.clear();
      }
      const own = calls.has(caller) || calls.size < mostCallers;
      const name = own ? caller : '';
      const made = calls.get(name) ?? 0;
      if (made >= (own ? callsPerCaller : 100 * callsPerCaller)) return 'spent';
      calls.set(name, made + 1);
      return 'noted';
    },
  };
}
