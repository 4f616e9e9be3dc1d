import type { afterAnswer } from '../domain/budget/outcomes.ts';
import { type LaneEntry, laneEntries } from '../domain/schedule/lanes.ts';
import type { OutcomeSubject } from './outcome-history.ts';

/** Demand of a call: whether it had to wait for its turn. */
export type CallDemand = Parameters<typeof afterAnswer>[1];

/** Subject of a call. */
export interface CallSubject {
  /** A product by its id, or a list or another resource by its path; null: nothing that can be throttled by itself. */
  readonly subject: OutcomeSubject;
  /** That of the service profile, without a product's id. */
  readonly path: string | null;
}

/** One call that waits for its turn. */
export interface Turn {
  /** Resolves when it may start. Rejects with the reason of its signal, and where all are sent away. */
  readonly demand: Promise<CallDemand>;
  /** Called where it could not start at once: from then on it had to wait, and its signal ends that. */
  waits(): void;
}

/** Calls that wait for their turn, first come first served within an entry of a lane. */
export interface LaneWaiters {
  /** `left`: called when its signal has ended its waiting. */
  add(entry: LaneEntry, signal: AbortSignal, about: CallSubject, left: () => void): Turn;
  waiting(entry: LaneEntry): number;
  allWaiting(): number;
  /** Starts the first of an entry. */
  start(entry: LaneEntry): void;
  /** Starts the first call, of the most urgent lane, that may; returns where it waited, or null where there is none. */
  startFirst(may: (about: CallSubject) => boolean): LaneEntry | null;
  rejectAll(reason: unknown): void;
}

interface Waiter {
  readonly about: CallSubject;
  start(): void;
  reject(reason: unknown): void;
}

export function laneWaiters(): LaneWaiters {
  const waiters = Object.fromEntries(laneEntries.map((entry) => [entry, []])) as unknown as Record<LaneEntry, Waiter[]>;
  return {
    add: (entry, signal, about, left) => addTo(waiters[entry], signal, about, left),
    waiting: (entry) => waiters[entry].length,
    allWaiting: () => laneEntries.reduce((sum, entry) => sum + waiters[entry].length, 0),
    start: (entry) => waiters[entry].shift()?.start(),
    startFirst: (may) => {
      for (const entry of laneEntries) {
        const index = waiters[entry].findIndex(({ about }) => may(about));
        if (index === -1) continue;
        for (const waiter of waiters[entry].splice(index, 1)) waiter.start();
        return entry;
      }
      return null;
    },
    rejectAll: (reason) => {
      for (const entry of laneEntries) for (const waiter of waiters[entry].splice(0)) waiter.reject(reason);
    },
  };
}

/** Adds a waiter. Events, not a clock, decide whether the call had to wait: a fine clock would see every call wait. */
function addTo(others: Waiter[], signal: AbortSignal, about: CallSubject, left: () => void): Turn {
  const { promise, resolve, reject } = Promise.withResolvers<CallDemand>();
  let stays = true;
  let demand: CallDemand = 'none';
  const abort = () => {
    others.splice(others.indexOf(waiter), 1);
    left();
    reject(signal.reason);
  };
  const leave = () => {
    stays = false;
    signal.removeEventListener('abort', abort);
  };
  const waiter: Waiter = {
    about,
    start: () => {
      leave();
      resolve(demand);
    },
    reject: (reason) => {
      leave();
      reject(reason);
    },
  };
  others.push(waiter);
  return {
    demand: promise,
    waits: () => {
      // Most calls start at once when the rate is high: no listener for them.
      if (!stays) return;
      demand = 'waiting';
      signal.addEventListener('abort', abort, { once: true });
    },
  };
}
