import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Failing } from '../../../src/files/failing.rules.ts';
import { runMark } from '../../fakes/no-child-outlives.ts';
import { enlarge, host } from './hosts.ts';

/** When the disk fills up: the copy is half written, or stands and its manifest is to be written. */
export type Moment = 'half' | 'copied';
/** `straight` gives the name at once (the control); `drill` tries the last backup instead, on a disk that is full. */
export type Way = 'honest' | 'straight' | 'drill';

/** How a backup onto a file system of its own ended that was filled up meanwhile. */
export interface FilledUp {
  readonly failure: string | null;
  readonly since: number | null;
  /** What is left beside what has filled it: the first backup is `first`, any other file or directory `half`. */
  readonly left: readonly string[];
  /** Why the first backup cannot be restored; null: it can. */
  readonly last: string | null;
  /** What the last drill says against a backup; null: nothing. */
  readonly drill: string | null;
  readonly mirror: 'as it was' | 'changed';
  /** The next attempt, with room again. */
  readonly again: Failing & { readonly copies: number };
}

/** Makes a backup on a small file system in a mount namespace of its own, and fills that up at a moment. */
export function fillUp(way: Way, moment: Moment): FilledUp {
  using here = host();
  enlarge(here.mirror, 5);
  mkdirSync(here.backups);
  const program = fileURLToPath(new URL('./full-disk-child.ts', import.meta.url));
  // Room for three copies: the check at the beginning finds enough.
  const script = `mount -t tmpfs -o size=24m none ${here.backups} && exec "$0" "$@"`;
  const args = ['-Urm', 'sh', '-c', script, process.execPath, program, here.mirror, here.backups, way, moment];
  const { stdout, stderr } = spawnSync('unshare', args, {
    encoding: 'utf8',
    env: { ...process.env, [runMark]: process.env[runMark] },
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as FilledUp;
}
