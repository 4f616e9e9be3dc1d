/** The exit codes of every command: a contract (docs/troubleshooting.md, "Exit codes"). */
export const exitCodes = {
  done: 0,
  no: 1,
  usage: 64,
  data: 65,
  unavailable: 69,
  bug: 70,
  io: 74,
  retryLater: 75,
  permission: 77,
  configuration: 78,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const stopCodes = {
  SIGHUP: exitCodes.hungUp,
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
} as const;

export type StopSignal = keyof typeof stopCodes;

/** The reason with which a signal aborts a command. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  /** The exit code of a command that had not finished. */
  readonly exitCode: ExitCode;
  constructor(signal: StopSignal) {
    super(`stopped by ${signal}`);
    this.exitCode = stopCodes[signal];
  }
}

/**
 * An error a person can act on. `main` prints `Error: <message>` and, when there is a hint, `Try: <hint>`,
 * never a stack, and ends with `exitCode`. Anything else that reaches `main` is a bug (70).
 */
export class CataloguedError extends Error {
  override readonly name: string = 'CataloguedError';
  /** Stable, kebab-case: a contract. */
  readonly code: string;
  readonly exitCode: ExitCode;
  /** Instruction for the person who sees the error: one sentence, printed after `Try:`. */
  readonly hint: string | undefined;
  /** Further lines printed between `Error:` and `Try:`, for example one per problem. */
  readonly details: readonly string[];

  constructor(
    code: string,
    message: string,
    options: { exitCode: ExitCode; hint?: string; details?: readonly string[]; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.exitCode = options.exitCode;
    this.hint = options.hint;
    this.details = options.details ?? [];
  }
}
