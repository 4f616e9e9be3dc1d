import { type Clock, instant, systemClock } from '../../src/kernel/clock.ts';

/** A clock that runs so many times as fast as the machine's: what waits politely waits shortly. */
export function fastClock(times: number): Clock {
  const started = { now: systemClock.now(), monotonic: systemClock.monotonic() };
  const passed = () => (systemClock.monotonic() - started.monotonic) * times;
  return {
    now: () => instant(started.now + passed()),
    monotonic: passed,
    boot: passed,
    bootId: () => null,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
    deadline: (ms, parent) => systemClock.deadline(ms / times, parent),
  };
}
