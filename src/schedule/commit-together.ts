import { writeTroubleOf } from '../kernel/sqlite/fault.ts';
import { GroupCommit } from '../kernel/sqlite/group-commit.ts';
import type { Commit, Sync } from './sync.ts';

/** An answer that changes nothing is stored within this many milliseconds. */
const soonMs = 100;
/** The first and the longest pause between attempts while the mirror cannot be written, in milliseconds. */
const againMs = { first: 100, longest: 5000 };
/** The most pieces of work that wait meanwhile, and the most stored in one turn of the event loop. */
const most = { waiting: 200, together: 10 };

/**
 * Stores answers that come together in one transaction, which waits for the disk once. If one piece of work throws,
 * only that one is rolled back. If the mirror cannot be written, storing is attempted again, or (`reject`) all that
 * came together is given up.
 */
export class CommitTogether {
  readonly #sync: Sync;
  readonly #together: GroupCommit<() => void>;

  constructor(sync: Sync, ifUnwritable: 'try again' | 'reject' = 'try again') {
    this.#sync = sync;
    const { mirror, clock } = sync;
    const store = (works: readonly (() => void)[]) =>
      mirror.transaction(() => {
        for (const run of works) run();
      });
    const tryAgain = (error: unknown, waited_ms: number) =>
      ifUnwritable === 'reject' || writeTroubleOf(error) === null
        ? null
        : clock.sleep(Math.min(Math.max(waited_ms, againMs.first), againMs.longest));
    this.#together = new GroupCommit(clock.monotonic, store, { tryAgain, most });
  }

  readonly commit: Commit = async (work, answer, late) => {
    const { mirror, clock } = this.#sync;
    // Each attempt sets it anew: only the last one's is durable.
    let outcome = (): ReturnType<typeof work> => {
      throw new Error('the work was not run');
    };
    const run = () => {
      try {
        const result = mirror.transaction(work);
        outcome = () => result;
      } catch (error) {
        // The error has rolled back the transaction of all of them.
        if (writeTroubleOf(error) !== null) throw error;
        outcome = () => {
          throw error;
        };
      }
    };
    const pause = answer === 'same' ? () => clock.sleep(soonMs) : undefined;
    await this.#together.add(run, { pause, late });
    return outcome();
  };

  /** Stores all waiting work now. */
  flush(): void {
    this.#together.flush();
  }

  /** Stores all waiting work for the last time. Work that cannot be stored is given up. */
  close(): void {
    this.#together.close();
  }
}
