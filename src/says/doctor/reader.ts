import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { walSizeOf } from '../../kernel/sqlite/database-file.ts';
import { noteOf } from '../../kernel/sqlite/identity.ts';
import { ownProgram } from '../../package.ts';
import { type Check, ok, skipped, wrong } from './check.ts';

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

export interface ReaderQuestion {
  readonly path: string;
  /** User to become; null for the current one. */
  readonly user: string | null;
  /** PATH in which the user's programs are found. */
  readonly search_path: string;
}

/** Answer of the process that became the user: its checks, or that it may not become that user. */
export type ProbeAnswer =
  | { readonly kind: 'looked'; readonly checks: readonly Check[] }
  | { readonly kind: 'may-not-become' };

const probe = ownProgram('says/doctor/reader-probe');

/**
 * Opens the mirror as a storefront would, in a separate process that becomes the named user with all of its groups.
 * Only root can become another user (77). A user that this machine does not know is refused (64).
 */
export async function readerChecks(
  { path, user, search_path }: ReaderQuestion,
  sleep: (ms: number) => Promise<void>,
): Promise<Check[]> {
  const self = id('-un', null) ?? String(process.getuid?.() ?? 'this user');
  const target = user === null || user === self ? null : { name: user, gid: groupOf(user) };
  if (target !== null && process.getuid?.() !== 0)
    throw new CataloguedError('not-root', `only root can open the file as ${target.name}; this is ${self}`, {
      exitCode: exitCodes.permission,
      hint: `sudo catalogued doctor --reader --user ${target.name}, or run it as ${target.name} without --user`,
    });
  const reader = target ?? { name: self, gid: null };
  const who =
    target === null && process.getuid?.() === 0
      ? {
          ...skipped('user', 'root bypasses permission checks: this says nothing about a storefront'),
          advice: 'name its user: --user www-data',
        }
      : ok('user', `${reader.name}, in the groups ${id('-Gn', user) ?? 'of this process'}`);
  const file = resolve(path);
  return [who, ...(await probed(file, search_path, reader)), ...(await longReaders(file, sleep))];
}

async function probed(
  path: string,
  search_path: string,
  { name, gid }: { readonly name: string; readonly gid: number | null },
): Promise<Check[]> {
  const child = fork(probe, [path, name, ...(gid === null ? [] : [String(gid)])], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // The child gets none of our environment, which may hold secrets.
    env: { PATH: search_path },
  });
  const said: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  let answer: ProbeAnswer | null = null;
  child.once('message', (message) => {
    answer = message as ProbeAnswer;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return checksOf(answer, name, () => new Error(`the probe ended with ${code}: ${said.join('')}`));
}

function checksOf(answer: ProbeAnswer | null, user: string, silent: () => Error): Check[] {
  if (answer === null) throw silent();
  if (answer.kind === 'may-not-become')
    throw new CataloguedError('not-root', `this root cannot become ${user}`, {
      exitCode: exitCodes.permission,
      hint: `it lacks CAP_SETUID and CAP_SETGID, as in a container: run it as ${user}, without --user`,
    });
  return [...answer.checks];
}

function groupOf(user: string): number {
  const gid = id('-g', user);
  if (gid !== null) return Number(gid);
  throw new CataloguedError('no-such-user', `there is no user ${user} on this machine`, {
    exitCode: exitCodes.usage,
    hint: 'name the user that the storefront runs as: ps -o user= -C php-fpm8.2',
  });
}

/** Returns the output of `id`, which knows users from every source; null if it fails. */
function id(option: string, user: string | null): string | null {
  try {
    const args = user === null ? [option] : [option, '--', user];
    return execFileSync('id', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

/** A process that has the mirror open. */
interface OpenIn {
  readonly pid: number;
  readonly program: string;
  /** True: it is in the middle of a read, which SQLite marks by a lock on the -shm. */
  readonly reading: boolean;
}

/** SQLite's read marks in the -shm: five slots (wal.c, WAL_READ_LOCK). */
const readMarks = { first: 123, last: 127 };

/** Returns the processes that have the file or its -wal open, as far as this user can see; null without /proc. */
function openIn(path: string): OpenIn[] | null {
  let pids: string[];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  } catch {
    return null;
  }
  const files = new Set([path, `${path}-wal`, `${path}-shm`]);
  const reading = readersOf(path);
  return pids
    .filter((pid) => reading.has(Number(pid)) || filesOf(pid).some((file) => files.has(file)))
    .map((pid) => ({ pid: Number(pid), program: programOf(pid), reading: reading.has(Number(pid)) }));
}

function filesOf(pid: string): string[] {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).map((name) => {
      try {
        return readlinkSync(`${directory}/${name}`);
      } catch {
        // The file was closed meanwhile.
        return '';
      }
    });
  } catch {
    // The process has ended, or belongs to another user.
    return [];
  }
}

function programOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return 'a process that has ended';
  }
}

/**
 * Returns the processes with a read mark, from lines in /proc/locks like `3: POSIX ADVISORY READ 812 08:01:131 124
 * 124`.
 */
function readersOf(path: string): Set<number> {
  const note = noteOf(`${path}-shm`);
  if (note === null) return new Set();
  const lines = locks().matchAll(/^\d+: POSIX +ADVISORY +READ +(\d+) [\da-f]+:[\da-f]+:(\d+) (\d+) (\d+|EOF)$/gm);
  return new Set(
    [...lines]
      .filter(
        ([, , ino, from]) => ino === note.inode && Number(from) >= readMarks.first && Number(from) <= readMarks.last,
      )
      .map(([, pid]) => Number(pid)),
  );
}

function locks(): string {
  try {
    return readFileSync('/proc/locks', 'utf8');
  } catch {
    return '';
  }
}
