import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Does every job in the module at `url`, which calls `asThread`, on so many threads; results come as they are ready. */
export async function inThreads<Job, Result>(
  url: string,
  jobs: readonly Job[],
  threads: number,
  done: (result: Result) => void,
): Promise<Result[]> {
  const results: Result[] = [];
  await Promise.all(
    Array.from({ length: threads }, async (_, thread) => {
      const share = jobs.filter((__, index) => index % threads === thread);
      const worker = new Worker(new URL(url), { workerData: { module: url, jobs: share } });
      worker.on('message', (result: Result) => {
        results.push(result);
        done(result);
      });
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      worker.on('error', reject).on('exit', () => resolve());
      await promise;
    }),
  );
  return results;
}

/** What a thread of the module at `url` does with each of its jobs; in any other thread, nothing. */
export async function asThread<Job, Result>(url: string, work: (job: Job) => Result | Promise<Result>): Promise<void> {
  const own = workerData as { readonly module: string; readonly jobs: readonly Job[] } | null;
  if (isMainThread || own?.module !== url) return;
  for (const job of own.jobs) parentPort?.postMessage(await work(job));
}
