import { CataloguedError, exitCodes } from '../errors.ts';
import { faultOf } from './fault.ts';

/**
 * The disk refused to make durable what was written. Fatal: after a failed fsync the kernel may have dropped the
 * pages, and a second one may succeed falsely. The process ends (74), and the next start goes by checksums.
 */
export class SyncFailed extends CataloguedError {
  override readonly name = 'SyncFailed';
  constructor(path: string, cause: unknown) {
    super('sync-failed', `${path}: the disk failed to store what was written`, {
      exitCode: exitCodes.io,
      hint: "check that disk's health (dmesg, smartctl), then start again: what was acknowledged is recovered",
      cause,
    });
  }
}

/** `SyncFailed` for what SQLite says of a failed fsync; any other error as it is. */
export function orSyncFailed(path: string, error: unknown): unknown {
  return faultOf(error) === 'sync' ? new SyncFailed(path, error) : error;
}
