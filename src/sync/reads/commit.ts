import { writeTroubleOf } from '../../sqlite/fault.ts';
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

/** What nobody waits for is stored within this time: a wait for the disk keeps the answers of others waiting too. */
const soonMs = 100;
/** While the mirror cannot be written it is tried less and less often; so many works wait: then the oldest are given up. */
const againMs = { first: 100, longest: 5000 };
const mostLate = 200;
/** So many of them are stored in one turn of the event loop. */
const slice = 10;

interface Work {
  run(): () => void;
  fail(error: unknown): void;
  late(): void;
}

/**
 * Answers that come in the same turn of the event loop are stored in one transaction: it waits for the disk once, and so
 * do their shoppers. Work that throws is undone alone.
 */
export function commitTogether({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>): CommitTogether {
  let waiting: Work[] = [];
  /** What met a full disk or a lock, the oldest first. */
  const behind: Work[] = [];
  let trying = false;
  let closed = false;

  function flush(): void {
    const works = waiting;
    waiting = [];
    if (works.length === 0) return;
    const trouble = store(works);
    if (trouble === null) return;
    for (const { late } of works) late();
    behind.push(...works);
    for (const { fail } of behind.splice(0, behind.length - mostLate)) fail(trouble.error);
    if (!trying) void catchUp();
  }

  /** Settles the works, or says why the mirror cannot be written: then none of them is stored. */
  function store(works: readonly Work[]): { readonly error: unknown } | null {
    try {
      const settle = mirror.transaction(() => works.map(({ run }) => run()));
      for (const each of settle) each();
    } catch (error) {
      if (!closed && writeTroubleOf(error) !== null) return { error };
      for (const { fail } of works) fail(error);
    }
    return null;
  }

  async function catchUp(): Promise<void> {
    trying = true;
    for (let wait = againMs.first; behind.length > 0; ) {
      await clock.sleep(wait);
      const works = behind.slice(0, slice);
      const stored = store(works) === null;
      if (stored) behind.splice(0, works.length);
      wait = stored ? 0 : Math.min(2 * wait, againMs.longest);
    }
    trying = false;
  }

  return {
    flush,
    close: () => {
      closed = true;
      flush();
      if (behind.length > 0) store(behind.splice(0));
    },
    commit: (work, when, late = () => undefined) => {
      const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof work>>();
      waiting.push({
        run: () => {
          try {
            const result = mirror.transaction(work);
            return () => resolve(result);
          } catch (error) {
            // It has undone the transaction of all of them.
            if (writeTroubleOf(error) !== null) throw error;
            return () => reject(error);
          }
        },
        fail: reject,
        late,
      });
      if (when === 'now') setImmediate(flush);
      else if (waiting.length === 1) void clock.sleep(soonMs).then(flush);
      return promise;
    },
  };
}
