import { Cron } from 'croner';

const patterns = { second: '* * * * * *', minute: '0 * * * * *', hour: '0 0 * * * *' } as const;

/**
 * Calls `tick` every second, minute or hour, never twice at once. Ticks are frequent and stupid: what is due is asked
 * of the mirror each time. Disposing waits for the tick that runs.
 */
export function every(unit: keyof typeof patterns, tick: () => Promise<void>): AsyncDisposable {
  let running: Promise<void> = Promise.resolve();
  const cron = new Cron(patterns[unit], { protect: true, timezone: 'UTC' }, () => {
    running = tick();
    return running;
  });
  return {
    async [Symbol.asyncDispose]() {
      cron.stop();
      await running;
    },
  };
}
