import { Worker } from 'node:worker_threads';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { ownProgram } from '../../package.ts';
import type { Found, SearchQuestion } from '../../storefront/reader.ts';
import type { ReaderCall, Representation } from './representation.ts';
import type { ThreadAnswer, ThreadQuestion } from './worker.ts';

const script = ownProgram('daemon/reading/worker');
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };

/** More than anybody would wait for. */
const mostWaiting = 200;

type ThreadName = 'search' | 'reads';

interface Thread {
  readonly worker: Worker;
  readonly open: PromiseWithResolvers<Found | Representation>[];
}

/**
 * Reads the mirror in a thread of its own, by the same code as the reader: nothing else waits for a broad question. The
 * thread is started by the first question. Disposing ends it; a question that is open then is rejected.
 */
export class ReaderThread implements AsyncDisposable {
  readonly #path: string;
  readonly #name: ThreadName;
  /** Null until the first question, and after a failure. */
  #thread: Thread | null = null;

  constructor(path: string, name: ThreadName) {
    this.#path = path;
    this.#name = name;
  }

  /** Throws what `reader.search` throws, and `too-many-searches` where as many wait already as anybody would wait for. */
  async search(question: SearchQuestion): Promise<Found> {
    return (await this.#ask({ search: question })) as Found;
  }

  /** Throws what the reader throws, and `too-many-reads` (of searches `too-many-searches`). */
  async represent(call: ReaderCall): Promise<Representation> {
    return (await this.#ask({ call })) as Representation;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.worker.terminate();
  }

  #ask(asked: ThreadQuestion): Promise<Found | Representation> {
    this.#thread ??= this.#started();
    const { worker, open } = this.#thread;
    if (open.length >= mostWaiting) return Promise.reject(tooMany(this.#name));
    const question = Promise.withResolvers<Found | Representation>();
    open.push(question);
    worker.postMessage(asked);
    return question.promise;
  }

  #started(): Thread {
    const name = this.#name;
    const worker = new Worker(script, { workerData: this.#path, name, resourceLimits });
    const own: Thread = { worker, open: [] };
    // It keeps no process alive.
    worker.unref();
    worker.on('message', (answer: ThreadAnswer) => {
      const question = own.open.shift();
      if ('result' in answer) question?.resolve(answer.result);
      else question?.reject('refused' in answer ? refusal(answer.refused) : answer.error);
    });
    const end = (error: Error) => {
      if (this.#thread === own) this.#thread = null;
      for (const question of own.open.splice(0)) question.reject(error);
    };
    worker.once('error', end);
    worker.once('exit', () => end(new Error(`the thread for ${name} has ended`)));
    return own;
  }
}

function refusal({
  code,
  message,
  hint,
  exitCode,
}: Extract<ThreadAnswer, { refused: unknown }>['refused']): CataloguedError {
  return new CataloguedError(code, message, { exitCode, hint: hint ?? '' });
}

function tooMany(name: ThreadName): CataloguedError {
  const [code, what] = name === 'search' ? ['too-many-searches', 'searches'] : ['too-many-reads', 'reads'];
  return new CataloguedError(code, `${mostWaiting} ${what} are waiting already`, {
    exitCode: exitCodes.retryLater,
    hint: 'ask again in a second, or read the mirror itself: catalogued-reader and schema/search.sql need no daemon',
  });
}
