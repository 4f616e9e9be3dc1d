import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { startChild } from './child.ts';
import { type Posted, startPosters } from './posters.ts';
import { type Verdict, verifyFile } from './verify.ts';

export interface FullDisk extends Verdict {
  readonly acknowledged: number;
  readonly refused: number;
  /** Of the deliveries that were sent after the disk had grown. */
  readonly recovered: number;
}

/** Fills a file system of its own, in a user namespace, and lets it grow under the running receiver. */
export async function fullDisk(): Promise<FullDisk> {
  using directory = temporaryDirectory();
  using copies = temporaryDirectory();
  const path = directory.path;
  const mount = `mount -t tmpfs -o size=1m none ${path} && exec "$0" "$@"`;
  const child = await startChild(path, 'honest', ['unshare', '-Urm', 'sh', '-c', mount]);
  if (child.pid === null) throw new Error(`the receiver ended with ${await child.ended} in its namespace`);
  const posted: Posted = { acknowledged: new Set(), answers: [] };
  let id = 0;
  const send = (each: number) => startPosters(child, { posters: 4, each, next: () => ++id, posted }).ended;
  await send(500);
  const refused = posted.answers.filter((status) => status === 503).length;
  const before = posted.acknowledged.size;
  const inside = (...command: readonly string[]) => {
    const args = ['-t', String(child.pid), '-U', '-m', '--preserve-credentials', ...command];
    const { status, stderr } = spawnSync('nsenter', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
  };
  inside('mount', '-o', 'remount,size=16m', path);
  await send(25);
  // The file system goes with its last process. Nobody writes now, so a copy is what is stored.
  inside('cp', join(path, 'inbox.db'), join(path, 'inbox.db-wal'), copies.path);
  const verdict = verifyFile(join(copies.path, 'inbox.db'), posted.acknowledged);
  child.kill();
  await child.ended;
  return { ...verdict, acknowledged: before, refused, recovered: posted.acknowledged.size - before };
}
