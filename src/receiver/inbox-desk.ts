import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { writeTroubleOf } from '../kernel/sqlite/fault.ts';
import { anyNumber, GroupCommit } from '../kernel/sqlite/group-commit.ts';
import type { Refused } from './admission.ts';
import { InboxFull } from './byte-budget.store.ts';
import type { Received } from './delivery.ts';

/** Takes what a receiver has admitted, and hears of what it has refused. */
export interface Desk {
  /** Stores a delivery durably; rejects if it cannot be stored now. */
  keep(delivery: Received): Promise<void>;
  /** Hears of a refused request, unless it was a test of our own address. */
  refused?(refusal: Refused): void;
}

/**
 * Milliseconds for which a lock of another program is waited for, and the interval of attempts. The sender still waits
 * then.
 */
const lockPatience = { ms: 1000, every: 20 } as const;

/**
 * Keeps deliveries in the inbox: those that came together in one commit. Waits for locks. Logs the beginning and the end of
 * a failure.
 */
export class InboxDesk implements Desk {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #commits: GroupCommit<Received>;
  #failing = false;

  /** `store` stores all of them in one durable commit, or none. */
  constructor(store: (received: readonly Received[]) => void, clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    const keep = (group: readonly Received[]) => {
      store(group);
      if (this.#failing) log.info('deliveries are stored again');
      this.#failing = false;
    };
    const tryAgain = (error: unknown, waited_ms: number) => this.#wait(error, waited_ms);
    this.#commits = new GroupCommit(clock.monotonic, keep, { tryAgain, most: anyNumber });
  }

  keep(delivery: Received): Promise<void> {
    return this.#commits.add(delivery);
  }

  #wait(error: unknown, waited_ms: number): Promise<void> | null {
    if (!this.#failing && writeTroubleOf(error) === 'locked' && waited_ms < lockPatience.ms)
      return this.#clock.sleep(lockPatience.every);
    const problem = error instanceof InboxFull ? 'the inbox is full' : 'the inbox cannot be written';
    if (!this.#failing) this.#log.error({ err: error }, `${problem}: deliveries are answered 503`);
    this.#failing = true;
    return null;
  }
}
