import type { Clock } from '../kernel/clock.ts';

/** Live checks that one caller may cause in a minute. Checks that share another caller's call, or need none, cost nothing. */
const callsPerCaller = 30;
/**
 * Callers counted one by one in a minute, to bound memory. All further callers share one count with a limit a hundred
 * times as high.
 */
const mostCallers = 10_000;

/** Counts the calls that each caller of checks has caused in this minute. */
export class Callers {
  readonly #clock: Clock;
  readonly #calls = new Map<string, number>();
  /** Beginning of the minute, by the monotonic clock. */
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /**
   * Counts one more call for a caller. Returns `spent` without counting it if the caller has used up this minute's
   * calls.
   */
  take(caller: string): 'noted' | 'spent' {
    const now = this.#clock.monotonic();
    if (now - this.#since >= 60_000) {
      this.#since = now;
      this.#calls.clear();
    }
    const own = this.#calls.has(caller) || this.#calls.size < mostCallers;
    const name = own ? caller : '';
    const made = this.#calls.get(name) ?? 0;
    if (made >= (own ? callsPerCaller : 100 * callsPerCaller)) return 'spent';
    this.#calls.set(name, made + 1);
    return 'noted';
  }
}
