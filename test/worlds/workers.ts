import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Lived, LiveOptions } from './driver.ts';
import type { Daemon, Outcome } from './lies/live.ts';
import type { Plan } from './plan.ts';

/** A plan to live through, a case of lies or truths by its name, or the seed of a pinned world. */
export type Question =
  | { readonly plan: Plan; readonly options: LiveOptions }
  | { readonly name: string; readonly daemon: Daemon }
  | { readonly pinned: number };

export interface Answer extends Lived {
  readonly cpu_ms: number;
}

/** Processes that live through plans and cases, one at a time each. */
export interface Workers extends Disposable {
  /** Resolves when a process was free and has lived through the plan: what it says, or that it has ended or hangs. */
  live(plan: Plan, options?: LiveOptions): Promise<Answer>;
  /** Same for a case. Rejects if its process has ended or hangs. */
  liveCase(name: string, daemon: Daemon): Promise<Outcome>;
  /** Returns the rows of a pinned world. Rejects if its daemon has thrown, or its process has ended or hangs. */
  rows(seed: number): Promise<string>;
}

/** A plan takes seconds, on a busy machine minutes; one that takes so long never ends. */
const patienceMs = 900_000;
/** A process keeps some of what each plan left in its memory, and slows down: after so many the next one begins. */
const plansOfProcess = 100;
/** How the failure of a plan begins that ended its process, or never ended. */
export const processEnded = 'the daemon goes on: its process ended';
const here = join(import.meta.dirname, '..', '..');

/** Starts processes of the sources below `root`: these, or a copy in which something is broken. */
export function startWorkers(count: number, root = here): Workers {
  const script = join(root, 'test', 'worlds', 'worker.ts');
  const idle: ChildProcess[] = [];
  const lived = new Map<ChildProcess, number>();
  const waiting: ((worker: ChildProcess) => void)[] = [];

  function begin(): void {
    const worker = fork(script, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    lived.set(worker, 0);
    give(worker);
  }

  function give(worker: ChildProcess): void {
    const next = waiting.shift();
    if (next === undefined) idle.push(worker);
    else next(worker);
  }

  const take = async () => idle.pop() ?? new Promise<ChildProcess>((resolve) => void waiting.push(resolve));
  for (let started = 0; started < count; started += 1) begin();

  /** Returns the answer of a process, or how it ended. */
  async function ask<Answered>(question: Question): Promise<Answered | string> {
    const worker = await take();
    const { promise, resolve } = Promise.withResolvers<Answered | null>();
    const answered = (answer: unknown) => resolve(answer as Answered);
    const ended = () => resolve(null);
    const timer = setTimeout(() => worker.kill('SIGKILL'), patienceMs);
    worker.once('message', answered).once('exit', ended);
    // It may have ended while nobody asked it anything.
    if (worker.connected) worker.send(question);
    else ended();
    const answer = await promise;
    clearTimeout(timer);
    worker.off('message', answered).off('exit', ended);
    const questions = (lived.get(worker) ?? 0) + 1;
    lived.set(worker, questions);
    if (answer !== null && questions < plansOfProcess) {
      give(worker);
      return answer;
    }
    lived.delete(worker);
    worker.kill();
    begin();
    return answer ?? `${processEnded}, ${worker.exitCode ?? worker.signalCode}`;
  }

  return {
    live: async (plan, options = {}) => {
      const answer = await ask<Answer>({ plan, options });
      if (typeof answer !== 'string') return answer;
      return { failures: [answer], digest: 'none', left: [], sometimes: new Map(), cpu_ms: 0 };
    },
    liveCase: async (name, daemon) => {
      const answer = await ask<Outcome>({ name, daemon });
      if (typeof answer === 'string') throw new Error(`${name}: ${answer}`);
      return answer;
    },
    rows: async (pinned) => {
      const answer = await ask<{ readonly rows: string | null; readonly failure: string }>({ pinned });
      const { rows, failure } = typeof answer === 'string' ? { rows: null, failure: answer } : answer;
      if (rows === null) throw new Error(`seed ${pinned}: ${failure}`);
      return rows;
    },
    [Symbol.dispose]: () => {
      for (const worker of lived.keys()) worker.kill();
    },
  };
}
