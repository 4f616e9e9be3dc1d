import type { Clock } from '../clock.ts';

/** Limits requests to the image host: its own rate and concurrency, independent of the service's budget. */
export interface ImagePace {
  /** Waits for a turn; rejects with the reason of an aborted signal. Dispose what it returns when the answer is read. */
  turn(signal: AbortSignal): Promise<Disposable>;
}

/** At most `concurrency` at a time, and no two starts nearer than the rate says. */
export function imagePace(clock: Clock, options: { requests_per_second: number; concurrency: number }): ImagePace {
  const apart = 1000 / options.requests_per_second;
  const waiting: (() => void)[] = [];
  let free = options.concurrency;
  let next_at = 0;

  function give(): void {
    const first = waiting.shift();
    if (first === undefined) free += 1;
    else first();
  }

  async function place(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) {
      free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      const at = waiting.indexOf(resolve);
      if (at < 0) return;
      waiting.splice(at, 1);
      reject(signal.reason);
    };
    waiting.push(resolve);
    signal.addEventListener('abort', leave, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  return {
    turn: async (signal) => {
      await place(signal);
      const now = clock.monotonic();
      const at = Math.max(now, next_at);
      next_at = at + apart;
      try {
        if (at > now) await clock.sleep(at - now, signal);
      } catch (error) {
        give();
        throw error;
      }
      return { [Symbol.dispose]: give };
    },
  };
}
