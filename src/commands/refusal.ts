import { AdminRefusal } from '../admin/client.ts';
import { CataloguedError, exitCodes } from '../errors.ts';

/** What a running daemon refuses is the command's refusal too (64; 69 where the service did not answer), with the daemon's words; any other error stays itself. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof AdminRefusal)) return error;
  return new CataloguedError('refused', error.message, {
    exitCode: error.code === 'not-answered' ? exitCodes.unavailable : exitCodes.usage,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
