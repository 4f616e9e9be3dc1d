import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { CataloguedError, exitCodes } from '../errors.ts';
import { ownProgram } from '../package.ts';
import { type Check, ok, skipped } from './check.ts';
import { longReaders } from './long-readers.ts';

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

const probe = ownProgram('doctor/reader-probe');

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
