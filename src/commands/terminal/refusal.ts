import { AdminRefusal } from '../../admin/client.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../../errors.ts';

const others: Readonly<Record<string, ExitCode>> = {
  'disk-full': exitCodes.io,
  locked: exitCodes.retryLater,
  'not-answered': exitCodes.unavailable,
};

/**
 * Turns a refusal of the daemon into the command's own (64; 74 or 75 if it cannot write, 69 if the service did not
 * answer) with the daemon's message. Returns any other error unchanged.
 */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof AdminRefusal)) return error;
  return new CataloguedError('refused', error.message, {
    exitCode: others[error.code ?? ''] ?? exitCodes.usage,
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
