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
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * An error a person can act on. `main` prints `Error: <message>` and, when there is a hint, `Try: <hint>`,
 * never a stack, and ends with `exitCode`. Anything else that reaches `main` is a bug (70).
 */
export class CataloguedError extends Error {
  override readonly name: string = 'CataloguedError';
  /** Stable, kebab-case: a contract. */
  readonly code: string;
  readonly exitCode: ExitCode;
  /** What to do about the error: one sentence, printed after `Try:`. */
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
