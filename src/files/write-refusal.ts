import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { writeTroubleOf } from '../kernel/sqlite/fault.ts';
import type { WriteTrouble } from './write-trouble.rules.ts';

/** Returns the error to report for a write that met a full disk or a lock; null for any other error. */
export function writeRefusal(error: unknown): CataloguedError | null {
  const kind = writeTroubleOf(error);
  return kind === null ? null : writeRefusalOf(kind, error);
}

export function writeRefusalOf(kind: WriteTrouble, cause?: unknown): CataloguedError {
  switch (kind) {
    case 'locked':
      return new CataloguedError('locked', 'another program is writing the mirror or the inbox', {
        exitCode: exitCodes.retryLater,
        hint: 'end its transaction, or stop that program (fuser names it), then try again',
        cause,
      });
    case 'disk-full':
      return new CataloguedError('disk-full', 'the disk is full: nothing can be stored', {
        exitCode: exitCodes.io,
        hint: 'free space on the disk of mirror.path and mirror.state_dir (catalogued status tells how much), then try again',
        cause,
      });
  }
}
