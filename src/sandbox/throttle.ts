import type { Clock } from '../clock.ts';

export interface ThrottleOptions {
  readonly per_second: number;
  /** 429 as documented, or 403 as seen in the wild (service-facts.md section 9). */
  readonly status?: 429 | 403;
  readonly retry_after?: 'seconds' | 'date' | 'none' | 'zero' | 'absurd';
}

export interface Throttle {
  /**
   * Null: let through. Else the answer's headers, and how long the caller was asked to wait. `about`: what the call reads,
   * a product or a path.
   */
  admit(about: string): { status: number; headers: Record<string, string> } | null;
  /**
   * Calls of an impolite client: within the first minute of a pause that an earlier answer asked for; later, about what
   * was asked to wait; and more than one in two minutes about anything else, to find out whether it has to wait.
   */
  violations(): number;
}

const minute = 60_000;
/** In the first minute of a pause no call is polite. Later one in so long is, as it may find out whether all have to wait. */
const polite = { afterMs: minute, everyMs: 2 * minute - 1000 };

/** So many calls in each second of the clock; whoever comes above that is told to wait two seconds. */
export function throttle(
  { per_second, status = 429, retry_after = 'seconds' }: ThrottleOptions,
  clock: Clock,
): Throttle {
  let second = 0;
  let calls = 0;
  let violations = 0;
  let told_until = 0;
  /** The next instant at which a call is polite, and until when each that was asked to wait has to. */
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
      // Calls already on their way when this answer is sent are no fault of the caller's.
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
