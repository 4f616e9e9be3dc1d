import { type Clock, minuteMs } from '../kernel/clock.ts';

export interface ThrottleOptions {
  readonly per_second: number;
  /** 429 as documented, or 403 as seen in practice. */
  readonly status?: 429 | 403;
  readonly retry_after?: 'seconds' | 'date' | 'none' | 'zero' | 'absurd';
}

export interface Throttle {
  /**
   * Returns null if the call may pass, else the status and headers of the refusal. `about`: the subject of the call, a
   * product or a path.
   */
  admit(about: string): { status: number; headers: Record<string, string> } | null;
  /**
   * Returns the number of calls that a polite client would not make. Within the first minute of a pause that an answer
   * asked for: every call. Later in the pause: calls about a subject that itself has to wait, and more than one call in
   * two minutes about other subjects. One such call may test whether the pause concerns all.
   */
  violations(): number;
}

/**
 * Politeness in a pause, in milliseconds: no call in the first minute, then one call per interval, as a test whether
 * the pause concerns all.
 */
const polite = { afterMs: minuteMs, everyMs: 2 * minuteMs - 1000 };

/**
 * Creates a throttle that passes `per_second` calls in each second of the clock, and asks the caller of any further
 * call to wait, by default two seconds.
 */
export function throttle(
  { per_second, status = 429, retry_after = 'seconds' }: ThrottleOptions,
  clock: Clock,
): Throttle {
  let second = 0;
  let calls = 0;
  let violations = 0;
  let told_until = 0;
  /** `next_at`: the next instant at which a call is polite. `waiting`: the end of the pause of each subject. */
  let next_at = 0;
  const waiting = new Map<string, number>();
  const waitMs = 2000;
  return {
    admit: (about) => {
      const now = clock.now();
      const told = now < told_until;
      const isPolite = !told || (now >= next_at && now >= (waiting.get(about) ?? 0));
      if (!isPolite) violations += 1;
      if (told) next_at = Math.max(next_at, now + polite.everyMs);
      if (Math.floor(now / 1000) !== second) [second, calls] = [Math.floor(now / 1000), 0];
      calls += 1;
      if (calls <= per_second && !told) return null;
      const [wait, value] = advice(retry_after, now, waitMs);
      // Deferred: calls already under way when this answer is sent are not violations.
      setImmediate(() => {
        if (now >= told_until) next_at = now + Math.min(wait, polite.afterMs);
        if (!told || !isPolite) told_until = Math.max(told_until, now + wait);
        waiting.set(about, now + wait);
      });
      return { status, headers: value === null ? {} : { 'retry-after': value } };
    },
    violations: () => violations,
  };
}

function advice(
  kind: ThrottleOptions['retry_after'],
  now: number,
  waitMs: number,
): [wait: number, header: string | null] {
  switch (kind) {
    case 'date':
      return [waitMs - 1000, new Date(now + waitMs).toUTCString()];
    case 'none':
      return [0, null];
    case 'zero':
      return [0, '0'];
    case 'absurd':
      return [3_600_000, '99999999999'];
    default:
      return [waitMs, String(waitMs / 1000)];
  }
}
