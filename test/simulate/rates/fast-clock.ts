import { type Clock, DeadlineExceeded, instant } from '../../../src/clock.ts';
import { asMeasured } from '../../../src/sandbox/virtual-clock.ts';

/** A clock for millions of timers: a heap, moved by `run`. */
export interface FastClock extends Clock {
  at(ms: number, fire: () => void): void;
  /** Fires what falls due until `end`, and lets each take effect. */
  run(end: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  fire: (() => void) | null;
}

/** Promises that a timer may set off before the next one fires: an outcome passes through a handful of `await`s. */
const turns = 12;

export function fastClock(start: number): FastClock {
  const heap: Timer[] = [];
  let elapsed = 0;
  let order = 0;
  const before = (a: Timer | undefined, b: Timer | undefined) =>
    a !== undefined && b !== undefined && (a.at < b.at || (a.at === b.at && a.order < b.order));

  function push(timer: Timer): void {
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(heap[index], heap[parent])) break;
      [heap[index], heap[parent]] = [heap[parent] as Timer, heap[index] as Timer];
      index = parent;
    }
  }

  function pop(): Timer | undefined {
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    heap[0] = last;
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const least = before(heap[right], heap[left]) ? right : left;
      if (!before(heap[least], heap[index])) return top;
      [heap[index], heap[least]] = [heap[least] as Timer, heap[index] as Timer];
      index = least;
    }
  }

  function schedule(ms: number, fire: () => void): Timer {
    const timer = { at: elapsed + Math.max(0, ms), order: order++, fire };
    push(timer);
    return timer;
  }

  return {
    now: () => instant(start + elapsed),
    monotonic: () => asMeasured(elapsed),
    boot: () => asMeasured(elapsed),
    bootId: () => 'rates',
    sleep: (ms, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (signal?.aborted) return Promise.reject(signal.reason);
      const timer = schedule(ms, resolve);
      signal?.addEventListener(
        'abort',
        () => {
          timer.fire = null;
          reject(signal.reason);
        },
        { once: true },
      );
      return promise;
    },
    deadline: (ms, parent) => {
      const own = new AbortController();
      const timer = schedule(ms, () => own.abort(new DeadlineExceeded(ms)));
      return {
        signal: parent ? AbortSignal.any([own.signal, parent]) : own.signal,
        [Symbol.dispose]: () => {
          timer.fire = null;
        },
      };
    },
    at: (ms, fire) => void schedule(ms, fire),
    run: async (end) => {
      for (let turn = 0; turn < turns; turn += 1) await null;
      for (let timer = heap[0]; timer !== undefined && timer.at <= end; timer = heap[0]) {
        pop();
        if (timer.fire === null) continue;
        elapsed = Math.max(elapsed, timer.at);
        timer.fire();
        for (let turn = 0; turn < turns; turn += 1) await null;
      }
      elapsed = Math.max(elapsed, end);
    },
  };
}
