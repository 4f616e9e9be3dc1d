import type { Ports } from './ports.ts';

/**
 * Runs work in a transaction and resolves to its result when that is durable. Soon: nobody waits for it, and it may share
 * the transaction of what comes a little later.
 */
export type Commit = <Result>(work: () => Result, when: 'now' | 'soon') => Promise<Result>;

export interface CommitTogether {
  readonly commit: Commit;
  /** Stores what waits, now. */
  flush(): void;
}

/** What nobody waits for is stored within this time: a wait for the disk keeps the answers of others waiting too. */
const soonMs = 100;

/**
 * Answers that come in the same turn of the event loop are stored in one transaction: it waits for the disk once, and so
 * do their shoppers. Work that throws is undone alone.
 */
export function commitTogether({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>): CommitTogether {
  let waiting: { run(): () => void; fail(error: unknown): void }[] = [];

  function flush(): void {
    const works = waiting;
    waiting = [];
    if (works.length === 0) return;
    try {
      const settle = mirror.transaction(() => works.map(({ run }) => run()));
      for (const each of settle) each();
    } catch (error) {
      for (const { fail } of works) fail(error);
    }
  }

  return {
    flush,
    commit: (work, when) => {
      const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof work>>();
      waiting.push({
        run: () => {
          try {
            const result = mirror.transaction(work);
            return () => resolve(result);
          } catch (error) {
            return () => reject(error);
          }
        },
        fail: reject,
      });
      if (when === 'now') setImmediate(flush);
      else if (waiting.length === 1) void clock.sleep(soonMs).then(flush);
      return promise;
    },
  };
}
