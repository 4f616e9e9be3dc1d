import { type Clock, DeadlineExceeded, instant } from '../../src/kernel/clock.ts';

/** A clock that stands still until it is moved: days pass in milliseconds, and always in the same way. */
export interface VirtualClock extends Clock {
  /**
   * Moves to the next timer and fires it, or by `most` milliseconds if that timer is further away. Returns false if
   * there is no timer.
   */
  next(most?: number): boolean;
  /** Moves by `ms` milliseconds, fires all timers due on the way, and lets each take effect before the next. */
  advance(ms: number): Promise<void>;
  /** Returns the number of waiting timers. */
  pending(): number;
  /** Sets only the wall clock, as an operator or an empty battery does. */
  set(now: number): void;
  /** Moves only the wall clock, by `ms` milliseconds. */
  jump(ms: number): void;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  fire(): void;
}

/**
 * Returns the reading of a machine's monotonic clock: larger by a fraction of a millisecond that grows every second, so
 * that few instants and durations are whole numbers. The fractions are binary, so sums and differences are exact.
 */
function asMeasured(elapsed: number): number {
  return elapsed + 1 / 4 + Math.floor(elapsed / 1000) / 1024;
}

/** Returns the timer that fires next. Of several due at one instant, that is the one set first. */
function firstOf(timers: ReadonlySet<Timer>): Timer | undefined {
  let earliest: Timer | undefined;
  for (const timer of timers) {
    if (earliest === undefined || timer.at < earliest.at || (timer.at === earliest.at && timer.order < earliest.order))
      earliest = timer;
  }
  return earliest;
}

export function virtualClock(start: number): VirtualClock {
  let now = start;
  let elapsed = 0;
  let order = 0;
  const timers = new Set<Timer>();

  function schedule(ms: number, fire: () => void): Timer {
    const timer = { at: elapsed + Math.max(0, ms), order: order++, fire };
    timers.add(timer);
    return timer;
  }

  function moveTo(at: number): void {
    now += Math.max(0, at - elapsed);
    elapsed = Math.max(at, elapsed);
  }

  function next(most = Number.POSITIVE_INFINITY): boolean {
    const timer = firstOf(timers);
    if (timer === undefined) return false;
    if (timer.at - elapsed > most) {
      moveTo(elapsed + most);
      return true;
    }
    timers.delete(timer);
    moveTo(timer.at);
    timer.fire();
    return true;
  }

  return {
    now: () => instant(now),
    monotonic: () => asMeasured(elapsed),
    boot: () => asMeasured(elapsed),
    bootId: () => 'virtual',
    sleep: (ms, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (signal?.aborted) return Promise.reject(signal.reason);
      const abort = () => {
        timers.delete(timer);
        reject(signal?.reason);
      };
      const timer = schedule(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      signal?.addEventListener('abort', abort, { once: true });
      return promise;
    },
    deadline: (ms, parent) => {
      const own = new AbortController();
      const timer = schedule(ms, () => own.abort(new DeadlineExceeded(ms)));
      // Without `AbortSignal.any`: its signal outlives the deadline, and every call of a virtual month has a deadline.
      const abort = () => own.abort(parent?.reason);
      if (parent?.aborted) abort();
      else parent?.addEventListener('abort', abort, { once: true });
      return {
        signal: own.signal,
        [Symbol.dispose]: () => {
          timers.delete(timer);
          parent?.removeEventListener('abort', abort);
        },
      };
    },
    next,
    advance: async (ms) => {
      const end = elapsed + ms;
      for (let timer = firstOf(timers); timer !== undefined && timer.at <= end; timer = firstOf(timers)) {
        next();
        await new Promise(setImmediate);
      }
      moveTo(end);
    },
    pending: () => timers.size,
    set: (to) => {
      now = to;
    },
    jump: (ms) => {
      now += ms;
    },
  };
}
