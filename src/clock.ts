import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Time as an argument. Everything that reads the time, waits or limits a wait takes a `Clock`,
 * so that the daemon, the sandbox and the tests can share one that does not pass by itself.
 */
export interface Clock {
  /** Epoch milliseconds, UTC: the wall clock, which may jump. */
  now(): number;
  /** Milliseconds since some fixed moment, for durations: never jumps. */
  monotonic(): number;
  /** Milliseconds since the machine was booted, to a hundredth of a second: never jumps, and goes on while it is suspended. */
  boot(): number;
  /** Names this boot of the machine, so that a later process can tell; null where it has no name. */
  bootId(): string | null;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A signal that aborts with a `DeadlineExceeded` after `ms`, or with the parent's reason before; dispose it when done. */
  deadline(ms: number, parent?: AbortSignal): Deadline;
}

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

/** A number in [0, 1). */
export type Chance = () => number;

export const systemChance: Chance = Math.random;

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  constructor(ms: number) {
    super(`no complete answer within ${ms} ms`);
  }
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  boot: () => uptime() * 1000,
  bootId: () => {
    try {
      return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    } catch {
      return null;
    }
  },
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    try {
      await delay(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
  deadline(ms, parent) {
    const own = new AbortController();
    const timer = setTimeout(() => own.abort(new DeadlineExceeded(ms)), ms);
    return {
      signal: parent ? AbortSignal.any([own.signal, parent]) : own.signal,
      [Symbol.dispose]: () => clearTimeout(timer),
    };
  },
};
