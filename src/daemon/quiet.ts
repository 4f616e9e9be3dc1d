import type { Answer, Answering, Answers, Asked } from '../admin/api.ts';
import type { AdminCall } from '../admin/client.ts';
import type { LoadedConfig } from '../config/load.ts';
import { runSyncCycle } from '../cycle/sync-cycle.ts';
import { liveStatus } from '../says/status/daemon-status.ts';
import { answersOf, noReload } from './answers.ts';
import type { Daemon } from './context.ts';
import { assemble } from './daemon.ts';
import type { Machine } from './machine.ts';
import { openMirroring } from './mirroring.ts';
import { mirrorCounts } from './status-source.ts';

/**
 * A daemon in the process of a command, where none runs: it holds the locks, and answers as a running one does. It has no
 * schedule, no receiver and no interfaces, and publishes nothing. Disposing ends its work.
 */
export class QuietDaemon implements AsyncDisposable {
  readonly daemon: Daemon;
  readonly #answers: Answers;
  readonly #ending: AbortController;
  readonly #parts: AsyncDisposable;
  /** The sync cycle under way, until `read` has seen its end; null: none. */
  #cycle: Promise<'ended'> | null = null;

  private constructor(daemon: Daemon, answers: Answers, ending: AbortController, parts: AsyncDisposable) {
    this.daemon = daemon;
    this.#answers = answers;
    this.#ending = ending;
    this.#parts = parts;
  }

  /** Takes the locks (75) and opens the files, as `openMirroring`. Its work ends when the signal aborts. */
  static async start(machine: Machine, loaded: LoadedConfig, signal: AbortSignal): Promise<QuietDaemon> {
    await using stack = new AsyncDisposableStack();
    const mirroring = stack.use(await openMirroring(machine, loaded));
    const ending = new AbortController();
    const stopping = AbortSignal.any([signal, ending.signal]);
    const secrets = { ...loaded.secrets, receiver_secret: null, database_url: null };
    const options = { stopping, counts: stack.use(mirrorCounts(mirroring)), jobs: () => [] };
    const daemon = await assemble(stack, mirroring, { ...loaded, secrets }, options);
    const { answers } = stack.use(answersOf(daemon, loaded, noReload, { resume: true }));
    mirroring.writer.serve();
    return new QuietDaemon(daemon, answers.answers, ending, stack.move());
  }

  /** Answers a call. Throws what the daemon refuses. */
  async call<Name extends keyof Answers>({ operation, path, body }: AdminCall<Name>): Promise<Answer<Name>> {
    // Safe casts: a command names every member of its request, and asks about nothing that can be missing.
    const answer = this.#answers[operation] as Answering<Name>;
    return (await answer({ path, body } as Asked<Name>, this.daemon.stopping)) as Answer<Name>;
  }

  /** Returns what a command has to know that waits for a job, without a count of the whole mirror. */
  status() {
    const { limiter, sync, writer, mirror } = this.daemon;
    return {
      daemon: liveStatus(limiter, sync.refusals),
      storage: writer.status(),
      short_lists: mirror.schedule.shortLists.all(),
      held: mirror.evidence.held(),
    };
  }

  /**
   * Reads the records of a job until none of them is due, or so many milliseconds have passed; the next call goes on with
   * what is under way. Once the signal has aborted, resolves when the reads have ended.
   */
  async read(job_id: number, ms: number): Promise<void> {
    const { sync, doubts, stopping } = this.daemon;
    doubts.ask(stopping).catch(() => undefined);
    this.#cycle ??= this.#run(job_id);
    // It may fail while nobody waits for it: the next call throws then.
    this.#cycle.catch(() => undefined);
    const late = Promise.withResolvers<'late'>();
    using over = sync.clock.deadline(ms, stopping);
    over.signal.addEventListener('abort', () => late.resolve('late'));
    const first = await Promise.race([this.#cycle, late.promise]);
    if (first === 'ended' || (stopping.aborted && (await this.#cycle))) this.#cycle = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error('the command has ended'));
    await this.#cycle?.catch(() => undefined);
    await this.#parts[Symbol.asyncDispose]();
  }

  async #run(job_id: number): Promise<'ended'> {
    const { sync, config, mirror, writer, watch, stopping: signal } = this.daemon;
    const wait = (mirror.schedule.records.nextDueAt(job_id) ?? 0) - sync.clock.now();
    await sync.clock.sleep(Math.max(wait, 10), signal).catch(() => undefined);
    const isTimeKnown = await writer.until(signal, () => watch.look(signal));
    if (isTimeKnown === true)
      await writer.until(signal, () => runSyncCycle(sync, config.budget.concurrency, { job_id, signal }));
    else await sync.clock.sleep(1000, signal).catch(() => undefined);
    return 'ended';
  }
}
