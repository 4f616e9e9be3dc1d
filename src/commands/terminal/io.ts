/** Output streams, environment and signals of the program. */
export interface Outside {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGINT and SIGTERM; by SIGHUP too, except in the daemon. */
  readonly signal: AbortSignal;
  /** Calls the listener at each SIGHUP that the daemon gets. */
  onHangup?(listener: () => void): Disposable;
  /** With `false`, SIGINT and SIGTERM end the process at once, as in a start of the daemon; with `true`, they abort `signal`. */
  finishesOnSignal?(finishes: boolean): void;
}

/** The same for a command, with ways to report its result, which `main` adds. */
export interface Io extends Outside {
  /** Called if the printed answer is no: the exit code is 1. */
  answerIsNo(): void;
  /** Called by a command that runs until it is stopped: a signal is its proper end, and the exit code is 0. */
  runsUntilStopped(): void;
  /** Records what a signal would leave finished and unfinished now, and what to do then. `main` prints the latest record if a signal ends the command. */
  ifStopped(left: string, hint?: string): void;
}

/** Prints an answer: its facts as JSON, or as text for people. */
export function print(
  { stdout }: Outside,
  { json }: { readonly json?: boolean | undefined },
  facts: unknown,
  text: () => string,
): void {
  stdout.write(json ? `${JSON.stringify(facts, null, 2)}\n` : text());
}

/** Resolves when the signal aborts. Commands that run until they are stopped await it. */
export function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
