import { writeTroubleOf } from '../../sqlite/fault.ts';
import { groupCommit } from '../../sqlite/group-commit.ts';
import type { Ports } from '../records/context.ts';

/**
 * Runs work in a transaction and resolves to its result when that is durable. Soon: nobody waits for it, and it may share
 * the transaction of what comes a little later. Where the mirror cannot be written, `late` is called, and the work is stored
 * when it can be.
 */
export type Commit = <Result>(work: () => Result, when: 'now' | 'soon', late?: () => void) => Promise<Result>;

export interface CommitTogether {
  readonly commit: Commit;
  /** Stores what waits, now. */
  flush(): void;
  /** The same for the last time: what cannot be stored is given up. */
  close(): void;
}

/** What nobody waits for is stored within this time. */
const soonMs = 100;
/** While the mirror cannot be written it is tried less and less often. */
const againMs = { first: 100, longest: 5000 };
/** So many works wait then, and so many of them are stored in one turn of the event loop. */
const mostLate = { waiting: 200, together: 10 };

interface Work {
  run(): void;
  late(): void;
}

/**
 * Answers that come together are stored in one transaction: it waits for the disk once, and so do their shoppers. Work
 * that throws is undone alone.
 */
export function commitTogether({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>): CommitTogether {
  const { add, flush, close } = groupCommit<Work>({
    store: (works) =>
      mirror.transaction(() => {
        for (const { run } of works) run();
      }),
    tryAgain: (error, waited_ms) =>
      writeTroubleOf(error) === null
        ? null
        : clock.sleep(Math.min(Math.max(waited_ms, againMs.first), againMs.longest)),
    monotonic: clock.monotonic,
    soon: () => clock.sleep(soonMs),
    late: (work) => work.late(),
    mostLate,
  });
  return {
    flush,
    close,
    commit: async (work, when, late = () => undefined) => {
      let outcome = (): ReturnType<typeof work> => {
        throw new Error('the work was not run');
      };
      const run = () => {
        try {
          const result = mirror.transaction(work);
          outcome = () => result;
        } catch (error) {
          // It has undone the transaction of all of them.
          if (writeTroubleOf(error) !== null) throw error;
          outcome = () => {
            throw error;
          };
        }
      };
      await add({ run, late }, when);
      return outcome();
    },
  };
}
