import { Worker } from 'node:worker_threads';
import type { Instant } from '../../clock.ts';
import { ownProgram } from '../../package.ts';
import type { CountedStatus, MirrorStatus } from './status.ts';
import type { StatusAnswer } from './worker.ts';

const script = ownProgram('mirror/status/worker');

/** A status is small: what its thread leaves behind is collected early. */
const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 };

/** Up to this number of records a count takes some milliseconds, and each question has its own. */
const countedForEachQuestion = 20_000;

/** Milliseconds after which a question about a larger mirror begins the next count. */
const countAgainAfterMs = 15_000;

/**
 * The mirror's status, counted in a thread of its own: it goes through every record, and nothing else may wait for
 * that. The first question starts the thread. Disposing ends it, and rejects open questions.
 */
export class StatusReader implements AsyncDisposable {
  readonly #path: string;
  /** Null: none runs. The next count starts one. */
  #thread: StatusThread | null = null;
  /** The last count that succeeded; null: none did. */
  #last: CountedStatus | null = null;
  /** Start of the last count; null: there was none. */
  #began_at: Instant | null = null;
  /** The count under way, which everybody shares who asks meanwhile; null: there is none. */
  #counting: Promise<CountedStatus> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns a small mirror's status as it is now, and a large one's as it was counted last, so that nobody waits for
   * the count. If that is some time ago, the next count begins.
   */
  async read(now: Instant): Promise<CountedStatus> {
    const last = this.#last;
    if (last === null || last.records.all <= countedForEachQuestion) return await this.count(now);
    // A clock that was set, in either direction, is reason enough for a new count.
    if (Math.abs(now - (this.#began_at ?? 0)) >= countAgainAfterMs) {
      // If it fails, the job that counts every minute reports it.
      this.count(now).catch(() => undefined);
    }
    return last;
  }

  /** Returns the result of the count under way, or of a new one. */
  async count(now: Instant): Promise<CountedStatus> {
    this.#counting ??= this.#count(now).finally(() => {
      this.#counting = null;
    });
    return await this.#counting;
  }

  async #count(now: Instant): Promise<CountedStatus> {
    this.#began_at = now;
    this.#thread ??= new StatusThread(this.#path, (ended) => {
      if (this.#thread === ended) this.#thread = null;
    });
    const status = { ...(await this.#thread.ask(now)), as_of: now };
    this.#last = status;
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.end();
  }
}

/** The thread, and the questions that it has not answered. */
class StatusThread {
  readonly #worker: Worker;
  /** It answers in the order of the questions. */
  readonly #open: PromiseWithResolvers<MirrorStatus>[] = [];

  /** Calls `ended`, perhaps twice, when it has ended. */
  constructor(path: string, ended: (thread: StatusThread) => void) {
    this.#worker = new Worker(script, { workerData: path, name: 'status', resourceLimits });
    // It keeps no process alive.
    this.#worker.unref();
    this.#worker.on('message', (answer: StatusAnswer) => {
      const question = this.#open.shift();
      if ('status' in answer) question?.resolve(answer.status);
      else question?.reject(answer.error);
    });
    const end = (error: Error) => {
      ended(this);
      for (const question of this.#open.splice(0)) question.reject(error);
    };
    this.#worker.once('error', end);
    this.#worker.once('exit', () => end(new Error('the thread that reads the status has ended')));
  }

  ask(now: Instant): Promise<MirrorStatus> {
    const question = Promise.withResolvers<MirrorStatus>();
    this.#open.push(question);
    this.#worker.postMessage(now);
    return question.promise;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
