/*
 * Services that limit calls, as they are met: the shape of a limit is theirs to choose, and so is what they say about it.
 * Every instant is in milliseconds of one clock that never jumps.
 */

/** How a service counts. */
export type Shape =
  /** So many in each second of its clock. */
  | 'fixed window'
  /** So many in any second. */
  | 'sliding window'
  /** A bucket that holds a second's worth, or a single call and a half (nginx without `burst`, nearly). */
  | 'bucket'
  | 'tight bucket';
export const shapes: readonly Shape[] = ['fixed window', 'sliding window', 'bucket', 'tight bucket'];

/** What it says of the wait: a whole number of seconds, or nothing. */
export type Told = 'retry-after' | 'nothing';

/** Whether a call that arrives at `at` is let through, and counts it. */
export interface Limit {
  admits(at: number): boolean;
  set(per_second: number): void;
}

/** `Infinity` lets everything through. */
export function limitOf(shape: Shape, per_second: number): Limit {
  let limit = per_second;
  const set = (to: number) => {
    limit = to;
  };
  switch (shape) {
    case 'fixed window': {
      let [second, calls] = [-1, 0];
      return {
        set,
        admits: (at) => {
          const now = Math.floor(at / 1000);
          if (now !== second) [second, calls] = [now, 0];
          calls += 1;
          return calls <= limit;
        },
      };
    }
    case 'sliding window': {
      let recent: number[] = [];
      return {
        set,
        admits: (at) => {
          recent = recent.filter((each) => each > at - 1000);
          if (recent.length >= limit) return false;
          recent.push(at);
          return true;
        },
      };
    }
    case 'bucket':
    case 'tight bucket': {
      const holds = () => (shape === 'bucket' ? limit : Math.max(1.5, limit / 20));
      let [tokens, at_last] = [Number.POSITIVE_INFINITY, 0];
      return {
        set,
        admits: (at) => {
          if (limit === Number.POSITIVE_INFINITY) return true;
          tokens = Math.min(holds(), tokens + ((at - at_last) * limit) / 1000);
          at_last = at;
          if (tokens < 1) return false;
          tokens -= 1;
          return true;
        },
      };
    }
  }
}
