import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Lived, LiveOptions } from './driver.ts';
import type { Plan } from './plan.ts';

export interface Question {
  readonly plan: Plan;
  readonly options: LiveOptions;
}

export interface Answer extends Lived {
  readonly cpu_ms: number;
}

/** Processes that live through plans, one at a time each. */
export interface Workers extends Disposable {
  /** Resolves when a process was free and has lived through the plan: what it says, or that it has ended or hangs. */
  live(plan: Plan, options?: LiveOptions): Promise<Answer>;
}

/** A plan takes seconds; one that takes so long never ends. */
const patienceMs = 300_000;
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

  return {
    live: async (plan, options = {}) => {
      const worker = await take();
      const { promise, resolve } = Promise.withResolvers<Answer | null>();
      const answered = (answer: unknown) => resolve(answer as Answer);
      const ended = () => resolve(null);
      const timer = setTimeout(() => worker.kill('SIGKILL'), patienceMs);
      worker.once('message', answered).once('exit', ended);
      // It may have ended while nobody asked it anything.
      if (worker.connected) worker.send({ plan, options } satisfies Question);
      else ended();
      const answer = await promise;
      clearTimeout(timer);
      worker.off('message', answered).off('exit', ended);
      const plans = (lived.get(worker) ?? 0) + 1;
      lived.set(worker, plans);
      if (answer !== null && plans < plansOfProcess) {
        give(worker);
        return answer;
      }
      lived.delete(worker);
      worker.kill();
      begin();
      if (answer !== null) return answer;
      const failures = [`${processEnded}, ${worker.exitCode ?? worker.signalCode}`];
      return { failures, digest: 'none', left: [], sometimes: new Map(), cpu_ms: 0 };
    },
    [Symbol.dispose]: () => {
      for (const worker of lived.keys()) worker.kill();
    },
  };
}
