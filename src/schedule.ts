import { Cron } from 'croner';

/**
 * Calls `tick` every second, never twice at once. Ticks are frequent and stupid: what is due is asked of the mirror
 * each time. Disposing waits for the tick that runs.
 */
export function everySecond(tick: () => Promise<void>): AsyncDisposable {
  let running: Promise<void> = Promise.resolve();
  const cron = new Cron('* * * * * *', { protect: true, timezone: 'UTC' }, () => {
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
