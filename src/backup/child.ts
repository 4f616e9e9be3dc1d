import { tryBackup } from './drill.ts';
import { type BackupOrder, makeBackup } from './make.ts';

/** What this program is told to do. */
export type BackupWork =
  | { readonly make: BackupOrder }
  | { readonly drill: { readonly backup: string; readonly now: number } };

/*
 * Makes or tries a backup in a process of its own: gigabytes take minutes, in which the daemon must answer and be able to
 * end. Prints the result as JSON, or the error on standard error and exits with 1.
 */
const work = JSON.parse(process.argv[2] ?? '{}') as BackupWork;
try {
  process.stdout.write(JSON.stringify('make' in work ? makeBackup(work.make) : tryBackup(work.drill)));
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  process.stderr.write(code === undefined || message.includes(code) ? message : `${message} (${code})`);
  process.exitCode = 1;
}
