import { walSizeOf } from '../sqlite/database-file.ts';
import { type Check, ok, skipped, wrong } from './check.ts';
import { type OpenIn, openIn } from './open-files.ts';

const megabyte = 1024 * 1024;
/** Size from which the daemon truncates the log unless a reader needs it. */
const largeLog = 64 * megabyte;
/** Milliseconds; longer than a storefront's transaction should take. */
const apartMs = 1000;

/**
 * Returns checks about the processes that have the file open, and those that hold an old snapshot while the log grows.
 * Takes a second if any process reads.
 */
export async function longReaders(
  path: string,
  sleep: (ms: number) => Promise<void>,
  { large = largeLog } = {},
): Promise<Check[]> {
  const found = openIn(path);
  if (found === null) return [skipped('open in', 'this system does not tell')];
  if (found.some(({ reading }) => reading)) await sleep(apartMs);
  const still = new Set((openIn(path) ?? []).filter(({ reading }) => reading).map(({ pid }) => pid));
  const long = found.filter(({ pid, reading }) => reading && still.has(pid));
  const open = ok('open in', found.length === 0 ? 'no process visible to this user' : listed(found));
  return [open, log(walSizeOf(path), long, large)];
}

function log(bytes: number, long: readonly OpenIn[], large: number): Check {
  const name = 'write-ahead log';
  const size = `${(bytes / megabyte).toFixed(1)} MiB`;
  const held = long.length === 0 ? '' : `; ${listed(long)} has a read open for more than a second`;
  if (bytes <= large) return ok(name, size + held);
  return wrong(
    name,
    long.length === 0
      ? `${size}: a process that is not visible from here may hold an old snapshot open`
      : `${size}, because ${listed(long)} holds an old snapshot open`,
    long.length === 0
      ? 'run this as root; without readers the log shrinks at the next writes of the daemon'
      : 'end its transaction: fetch all rows or close the statement, and keep transactions under a second',
  );
}

function listed(processes: readonly OpenIn[]): string {
  return processes.map(({ program, pid }) => `${program} (${pid})`).join(', ');
}
