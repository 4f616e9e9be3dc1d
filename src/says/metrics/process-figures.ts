import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Figures of the process itself. */
export interface ProcessFigures {
  /** Epoch milliseconds. */
  readonly started_at: number;
  readonly cpu_seconds: number;
  readonly resident_bytes: number;
  readonly heap_bytes: number;
  /** Delay of the event loop since the last reading, beyond the sampling interval. */
  readonly loop_delay_p99_seconds: number;
  readonly loop_delay_max_seconds: number;
}

/** Each sample wakes the process, and an idle one should sleep. */
const everyMs = 100;

/** Measures the event loop from now on; disposing ends that. */
export function processFigures(
  now: () => number,
): Disposable & { readonly started_at: number; look(): ProcessFigures } {
  const delay = monitorEventLoopDelay({ resolution: everyMs });
  delay.enable();
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - everyMs / 1000);
  return {
    started_at: now() - process.uptime() * 1000,
    look: () => {
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed } = process.memoryUsage();
      const figures = {
        started_at: now() - process.uptime() * 1000,
        cpu_seconds: (user + system) / 1e6,
        resident_bytes: rss,
        heap_bytes: heapUsed,
        loop_delay_p99_seconds: seconds(delay.percentile(99)),
        loop_delay_max_seconds: delay.count === 0 ? 0 : seconds(delay.max),
      };
      delay.reset();
      return figures;
    },
    [Symbol.dispose]: () => {
      delay.disable();
    },
  };
}
