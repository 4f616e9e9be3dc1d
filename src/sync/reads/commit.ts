import { writeTroubleOf } from '../../sqlite/fault.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';
import type { Commit, Sync } from '../records/context.ts';

export interface CommitTogether {
  readonly commit: Commit;
  /** Stores all waiting work now. */
  flush(): void;
  /** Stores all waiting work for the last time. Work that cannot be stored is given up. */
  close(): void;
}

/** An answer that changes nothing is stored within this many milliseconds. */
const soonMs = 100;
/** The first and the longest pause between attempts while the mirror cannot be written, in milliseconds. */
const againMs = { first: 100, longest: 5000 };
/** The most pieces of work that wait meanwhile, and the most stored in one turn of the event loop. */
const mostLate = { waiting: 200, together: 10 };

interface Work {
  run(): void;
  late(): void;
}

/**
 * Stores answers that come together in one transaction, which waits for the disk once. If one piece of work throws,
 * only that one is rolled back. If the mirror cannot be written, storing is attempted again, or (`reject`) all that
 * came together is given up.
 */
export function commitTogether(
  { mirror, clock }: Sync,
  ifUnwritable: 'try again' | 'reject' = 'try again',
): CommitTogether {
  const together = new GroupCommit<Work>({
    store: (works) =>
      mirror.transaction(() => {
        for (const { run } of works) run();
      }),
    tryAgain: (error, waited_ms) =>
      ifUnwritable === 'reject' || writeTroubleOf(error) === null
        ? null
        : clock.sleep(Math.min(Math.max(waited_ms, againMs.first), againMs.longest)),
    monotonic: clock.monotonic,
    soon: () => clock.sleep(soonMs),
    late: (work) => work.late(),
    mostLate,
  });
  return {
    flush: () => together.flush(),
    close: () => together.close(),
    commit: async (work, answer, late = () => undefined) => {
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
      await together.add({ run, late }, answer === 'same' ? 'soon' : 'now');
      return outcome();
    },
  };
}
