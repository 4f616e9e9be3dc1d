import type { Clock } from '../clock.ts';

export interface ThrottleOptions {
  readonly per_second: number;
  /** 429 as documented, or 403 as seen in the wild (service-facts.md section 9). */
  readonly status?: 429 | 403;
  readonly retry_after?: 'seconds' | 'date' | 'none' | 'zero' | 'absurd';
}

export interface Throttle {
  /** Null: let through. Else the answer's headers, and how long the caller was told to wait. */
  admit(): { status: number; headers: Record<string, string> } | null;
  /** Calls that came although an answer sent before had told to wait. */
  violations(): number;
}

/** So many calls in each second of the clock; whoever comes above that is told to wait two seconds. */
export function throttle(
  { per_second, status = 429, retry_after = 'seconds' }: ThrottleOptions,
  clock: Clock,
): Throttle {
  let second = 0;
  let calls = 0;
  let told_until = 0;
  let violations = 0;
  const waitMs = 2000;
  return {
    admit: () => {
      const now = clock.now();
      const told = now < told_until;
      if (told) violations += 1;
      if (Math.floor(now / 1000) !== second) [second, calls] = [Math.floor(now / 1000), 0];
      calls += 1;
      if (calls <= per_second && !told) return null;
      const [wait, value] = advice(retry_after, now, waitMs);
      // Calls already on their way when this answer is sent are no fault of the caller's.
      setImmediate(() => {
        told_until = Math.max(told_until, now + wait);
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
