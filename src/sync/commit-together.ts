import type { Mirror } from '../mirror/mirror.ts';

/** Runs work in a transaction and resolves to its result when that is durable. */
export type Commit = <Result>(work: () => Result) => Promise<Result>;

/**
 * Answers that come in the same turn of the event loop are stored in one transaction: it waits for the disk once, and so
 * do their shoppers. Work that throws is undone alone.
 */
export function commitTogether(mirror: Pick<Mirror, 'transaction'>): Commit {
  let waiting: { run(): () => void; fail(error: unknown): void }[] = [];

  function flush(): void {
    const works = waiting;
    waiting = [];
    try {
      const settle = mirror.transaction(() => works.map(({ run }) => run()));
      for (const each of settle) each();
    } catch (error) {
      for (const { fail } of works) fail(error);
    }
  }

  return (work) => {
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
    if (waiting.length === 1) setImmediate(flush);
    return promise;
  };
}
