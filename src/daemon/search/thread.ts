import { Worker } from 'node:worker_threads';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { ownProgram } from '../../package.ts';
import type { Found, SearchQuestion } from '../../storefront/reader.ts';
import type { SearchAnswer } from './worker.ts';

/**
 * Searches the mirror in a thread of its own, by the same code as the reader: nothing else waits for a broad question. The
 * thread is started by the first question. Disposing ends it; a question that is open then is rejected.
 */
export interface SearchThread extends AsyncDisposable {
  /** Throws what `reader.search` throws, and `too-many-searches` where as many wait already as anybody would wait for. */
  search(question: SearchQuestion): Promise<Found>;
}

const script = ownProgram('daemon/search/worker');
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };
const mostWaiting = 200;

interface Thread {
  readonly worker: Worker;
  readonly open: PromiseWithResolvers<Found>[];
}

export function searchThread(path: string): SearchThread {
  let thread: Thread | null = null;

  function started(): Thread {
    const worker = new Worker(script, { workerData: path, name: 'search', resourceLimits });
    const own: Thread = { worker, open: [] };
    // It keeps no process alive.
    worker.unref();
    worker.on('message', (answer: SearchAnswer) => {
      const question = own.open.shift();
      if ('found' in answer) question?.resolve(answer.found);
      else question?.reject('refused' in answer ? refusal(answer.refused) : answer.error);
    });
    const end = (error: Error) => {
      if (thread === own) thread = null;
      for (const question of own.open.splice(0)) question.reject(error);
    };
    worker.once('error', end);
    worker.once('exit', () => end(new Error('the thread that searches has ended')));
    return own;
  }

  return {
    search: (asked) => {
      thread ??= started();
      if (thread.open.length >= mostWaiting) return Promise.reject(tooMany());
      const question = Promise.withResolvers<Found>();
      thread.open.push(question);
      thread.worker.postMessage(asked);
      return question.promise;
    },
    async [Symbol.asyncDispose]() {
      await thread?.worker.terminate();
    },
  };
}

function refusal({
  code,
  message,
  hint,
}: {
  code: string;
  message: string;
  hint: string | undefined;
}): CataloguedError {
  return new CataloguedError(code, message, { exitCode: exitCodes.usage, hint: hint ?? '' });
}

function tooMany(): CataloguedError {
  return new CataloguedError('too-many-searches', `${mostWaiting} searches are waiting already`, {
    exitCode: exitCodes.retryLater,
    hint: 'ask again in a second, or search the mirror itself: catalogued/reader and schema/search.sql need no daemon',
  });
}
