import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { tryBackup } from './drill.ts';
import type { BackupWork, ReportedError } from './in-child.ts';
import { makeBackup } from './make.ts';

/*
 * Makes or tests a backup in a separate process: gigabytes take minutes, in which the daemon must answer and be able to
 * end. Prints the result as JSON, or the error on standard error and exits with 1.
 */
const work = JSON.parse(process.argv[2] ?? '{}') as BackupWork;
try {
  process.stdout.write(JSON.stringify('make' in work ? makeBackup(work.make) : tryBackup(work.drill)));
} catch (error) {
  process.stderr.write(JSON.stringify(toldError(error)));
  process.exitCode = 1;
}

function toldError(error: unknown): ReportedError {
  if (error instanceof CataloguedError) {
    const { code, message, exitCode, hint = null } = error;
    return { code, message, exitCode, hint };
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const said = code === undefined || message.includes(code) ? message : `${message} (${code})`;
  return { code: 'io', message: said, exitCode: exitCodes.io, hint: null };
}
