import type { Clock } from '../../clock.ts';

/** Counts the calls that each caller of checks has caused. */
export interface Callers {
  /**
   * Counts one more call for a caller. Returns `spent` without counting it if the caller has used up this minute's
   * calls.
   */
  take(caller: string): 'noted' | 'spent';
}

/** Live checks that one caller may cause in a minute. Checks that share another caller's call, or need none, cost nothing. */
const callsPerCaller = 30;
/**
 * Callers counted one by one in a minute, to bound memory. All further callers share one count with a limit a hundred
 * times as high.
 */
const mostCallers = 10_000;

export function countCallers(clock: Clock): Callers {
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
