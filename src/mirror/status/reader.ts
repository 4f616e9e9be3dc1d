import { Worker } from 'node:worker_threads';
import { ownProgram } from '../../package.ts';
import type { MirrorStatus } from './status.ts';
import type { StatusAnswer } from './worker.ts';

/**
 * Reads the mirror's status in a thread of its own: it counts every record, and nothing else may wait for that. The
 * thread is started by the first question. Disposing ends it; a question that is open then is rejected.
 */
export interface StatusReader extends AsyncDisposable {
  /** As the mirror is now, or was at most `max_age_ms` ago: who asks meanwhile shares the answer. */
  read(max_age_ms: number): Promise<MirrorStatus>;
}

const script = ownProgram('mirror/status/worker');

/** A status is small: what its thread leaves behind is collected early. */
const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 };

interface Thread {
  readonly ask: () => Promise<MirrorStatus>;
  readonly end: () => Promise<unknown>;
}

export function statusReader(path: string, monotonic: () => number): StatusReader {
  let thread: Thread | null = null;
  let last: { at: number; status: Promise<MirrorStatus> } | null = null;
  return {
    read: (max_age_ms) => {
      const at = monotonic();
      if (last !== null && at - last.at <= max_age_ms) return last.status;
      thread ??= startThread(path, (ended) => {
        if (thread === ended) thread = null;
      });
      const answer = { at, status: thread.ask() };
      last = answer;
      // A failure is reported to those who asked before it, and to nobody else.
      answer.status.catch(() => {
        if (last === answer) last = null;
      });
      return answer.status;
    },
    async [Symbol.asyncDispose]() {
      await thread?.end();
    },
  };
}

/** Reports, perhaps twice, that it has ended. */
function startThread(path: string, ended: (thread: Thread) => void): Thread {
  const open: PromiseWithResolvers<MirrorStatus>[] = [];
  const worker = new Worker(script, { workerData: path, name: 'status', resourceLimits });
  // It keeps no process alive.
  worker.unref();
  worker.on('message', (answer: StatusAnswer) => {
    const question = open.shift();
    if ('status' in answer) question?.resolve(answer.status);
    else question?.reject(answer.error);
  });
  const end = (error: Error) => {
    ended(thread);
    for (const question of open.splice(0)) question.reject(error);
  };
  worker.once('error', end);
  worker.once('exit', () => end(new Error('the thread that reads the status has ended')));
  const thread: Thread = {
    ask: () => {
      const question = Promise.withResolvers<MirrorStatus>();
      open.push(question);
      worker.postMessage(null);
      return question.promise;
    },
    end: () => worker.terminate(),
  };
  return thread;
}
