import { type Clock, DeadlineExceeded, instant } from '../../src/clock.ts';
import { asMeasured } from '../../src/sandbox/virtual-clock.ts';

/** A clock that a test moves by hand. `jump` moves the wall clock only. */
export interface ManualClock extends Clock {
  /** Lets what was begun take effect, then fires what falls due on the way, in order, and lets each take effect. */
  advance(ms: number): Promise<void>;
  jump(ms: number): void;
  /** How many timers are outstanding. */
  pending(): number;
}

export function manualClock(start = Date.UTC(2026, 10, 21)): ManualClock {
  let wall = start;
  let elapsed = 0;
  const timers = new Set<{ at: number; fire: () => void }>();
  const schedule = (ms: number, fire: () => void) => {
    const timer = { at: elapsed + ms, fire };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const moveTo = (at: number) => {
    wall += at - elapsed;
    elapsed = at;
  };
  return {
    now: () => instant(wall),
    monotonic: () => asMeasured(elapsed),
    boot: () => asMeasured(elapsed),
    bootId: () => 'manual',
    sleep: (ms, signal) => {
      if (signal?.aborted) return Promise.reject(signal.reason);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const cancel = schedule(ms, resolve);
      signal?.addEventListener('abort', () => {
        cancel();
        reject(signal.reason);
      });
      return promise;
    },
    deadline: (ms, parent) => {
      const own = new AbortController();
      const cancel = schedule(ms, () => own.abort(new DeadlineExceeded(ms)));
      return {
        signal: parent ? AbortSignal.any([own.signal, parent]) : own.signal,
        [Symbol.dispose]: () => void cancel(),
      };
    },
    advance: async (ms) => {
      const end = elapsed + ms;
      await new Promise(setImmediate);
      for (;;) {
        const [first] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (first === undefined) break;
        timers.delete(first);
        moveTo(first.at);
        first.fire();
        await new Promise(setImmediate);
      }
      moveTo(end);
      await new Promise(setImmediate);
    },
    jump: (ms) => {
      wall += ms;
    },
    pending: () => timers.size,
  };
}
