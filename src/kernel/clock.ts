import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

declare const isInstant: unique symbol;

/**
 * A moment in whole epoch milliseconds, UTC. What arithmetic returns is a plain number, which may have a fraction: only
 * `instant` and a clock make an `Instant`, and columns and stores take nothing else.
 */
export type Instant = number & { readonly [isInstant]: true };

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Returns the whole millisecond nearest to `ms`; throws for what is no moment: NaN, or infinite. */
export function instant(ms: number): Instant {
  const whole = Math.round(ms);
  if (!Number.isSafeInteger(whole)) throw new RangeError(`${ms} is no instant`);
  return whole as Instant;
}

/**
 * The source of time, passed as an argument. Everything that reads the time, waits or limits a wait takes a `Clock`, so
 * that daemon, sandbox and tests can share a virtual one.
 */
export interface Clock {
  /** Returns the wall clock in epoch milliseconds, UTC; it may jump. */
  now(): Instant;
  /** Returns milliseconds since some fixed moment, for durations: never jumps. */
  monotonic(): number;
  /**
   * Returns milliseconds since the machine was booted, to a hundredth of a second: never jumps, and counts while the
   * machine is suspended.
   */
  boot(): number;
  /** Returns an id of this boot of the machine, which a later process can compare; null if there is none. */
  bootId(): string | null;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Returns a signal that aborts with a `DeadlineExceeded` after `ms`, or earlier with the parent's reason; dispose it
   * when done.
   */
  deadline(ms: number, parent?: AbortSignal): Deadline;
}

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

/** A number in [0, 1). */
export type Chance = () => number;

export const systemChance: Chance = Math.random;

/** So many bytes that nobody can foresee: what ids and tokens are made of. */
export type Entropy = (bytes: number) => Uint8Array;

export const systemEntropy: Entropy = randomBytes;

/** Returns a random UUID (version 4). */
export function newId(entropy: Entropy): string {
  const bytes = Buffer.from(entropy(16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  constructor(ms: number) {
    super(`no complete answer within ${ms} ms`);
  }
}

/** The wall clock and the monotonic one go apart by more than this where one jumped, or the machine was suspended. */
const apartMs = 20;

/** Milliseconds since boot. Asking the system opens a file, so it is asked again only where the clocks have gone apart. */
function sinceBoot(): () => number {
  let apart = Number.NaN;
  let ahead = Number.NaN;
  return () => {
    const monotonic = performance.now();
    const now = Date.now() - monotonic;
    if (!(Math.abs(now - apart) <= apartMs)) {
      apart = now;
      const found = uptime() * 1000 - monotonic;
      // The system tells hundredths of a second: what differs by less has not moved.
      if (!(Math.abs(found - ahead) <= apartMs)) ahead = found;
    }
    return monotonic + ahead;
  };
}

/** Does work once after `ms`, unless it is disposed of before; a program that has nothing else to do ends without it. */
export function later(work: () => void, ms: number): Disposable {
  const timer = setTimeout(work, ms).unref();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => instant(Date.now()),
  monotonic: () => performance.now(),
  boot: sinceBoot(),
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
      // A moment that has passed meanwhile: Node would warn of a negative number.
      await delay(Math.max(0, ms), undefined, signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
  deadline(ms, parent) {
    const own = new AbortController();
    const timer = setTimeout(() => own.abort(new DeadlineExceeded(ms)), Math.max(0, ms));
    // Of `AbortSignal.any` the collector has to find out what is still needed: this is a tenth of the price of a call.
    const end = () => own.abort(parent?.reason);
    if (parent?.aborted) end();
    else parent?.addEventListener('abort', end, { once: true });
    return {
      signal: own.signal,
      [Symbol.dispose]: () => {
        clearTimeout(timer);
        parent?.removeEventListener('abort', end);
      },
    };
  },
};
