import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** One run: absolute paths of test files and of what has changed since the last one, and a pattern of titles; null: of all. */
export interface Asked {
  readonly files: readonly string[];
  readonly changed: readonly string[];
  readonly titles: string | null;
  /** Files that begin, in their order, separated by commas. */
  readonly first: string;
}

/** What became of each test, until the first failed. */
export interface Came {
  readonly tests: readonly { readonly file: string; readonly title: string; readonly state: string }[];
  /** Files of which a test or the loading has failed. */
  readonly broken: readonly string[];
  readonly error: string | null;
}

/** Each world that was filled stays until the process ends, in memory. */
const runsOfOne = 30;

/** Runs test files in a scratch copy, in one process that is started again when it hangs. */
export class Runner implements Disposable {
  readonly #cwd: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #workers: number;
  #child: ChildProcess | null = null;
  #runs = 0;

  constructor(cwd: string, env: NodeJS.ProcessEnv, workers: number) {
    this.#cwd = cwd;
    this.#env = env;
    this.#workers = workers;
  }

  /** Returns what came of a run; null: it has not ended in time, or its process has ended. */
  async run(asked: Asked, limit_ms: number): Promise<Came | null> {
    if (this.#runs === runsOfOne) this.#end();
    this.#runs += 1;
    const child = this.#child ?? (await this.#start());
    this.#child = child;
    child.send(asked);
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(limit_ms)]);
    const [message, exit] = [once(child, 'message', { signal }), once(child, 'exit', { signal })];
    const came = await Promise.race([message, exit]).catch(() => null);
    ended.abort();
    await Promise.allSettled([message, exit]);
    if (came !== null && typeof came[0] === 'object' && came[0] !== null) return came[0] as Came;
    this.#end();
    return null;
  }

  async #start(): Promise<ChildProcess> {
    const child = fork(join(import.meta.dirname, 'runner-child.ts'), [String(this.#workers)], {
      cwd: this.#cwd,
      env: { ...process.env, CATALOGUED_TEST_RESULTS: '', ...this.#env },
      detached: true,
      stdio: 'ignore',
    });
    await once(child, 'message');
    return child;
  }

  /** Ends the process and all that it has started. */
  #end(): void {
    this.#runs = 0;
    const { pid } = this.#child ?? {};
    this.#child = null;
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGTERM');
    } catch {
      // It has ended.
    }
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}
