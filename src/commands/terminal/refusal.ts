import { AdminRefusal } from '../../admin/client.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../../errors.ts';

const others: Readonly<Record<string, ExitCode>> = {
  'disk-full': exitCodes.io,
  locked: exitCodes.retryLater,
  'not-answered': exitCodes.unavailable,
};

/**
 * What a running daemon refuses is the command's refusal too (64; 74 or 75 where it cannot write, 69 where the service did
 * not answer), with the daemon's words; any other error stays itself.
 */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof AdminRefusal)) return error;
  return new CataloguedError('refused', error.message, {
    exitCode: others[error.code ?? ''] ?? exitCodes.usage,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
