import { join } from 'node:path';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { startChild } from './child.ts';
import { type Posted, postDeliveries } from './posters.ts';
import type { Outcome } from './run.ts';
import { tmpfs } from './tmpfs.ts';
import { verifyFile } from './verify.ts';

/** Fills a file system of 1 MB, and lets it grow under the running receiver. */
export async function fullDisk(): Promise<Outcome> {
  using directory = temporaryDirectory();
  using copies = temporaryDirectory();
  const path = directory.path;
  const { under, inside } = tmpfs(path, 1);
  const child = await startChild(path, 'honest', under);
  const { pid } = child;
  if (pid === null) throw new Error(`the receiver ended with ${await child.ended} in its namespace`);
  const posted: Posted = { acknowledged: new Set(), answers: [] };
  const send = (each: number) => postDeliveries(child, { posters: 4, each, posted });
  await send(500);
  const refused = posted.answers.filter((status) => status === 503).length;
  const acknowledged = posted.acknowledged.size;
  if (!inside(pid, 'mount', '-o', 'remount,size=16m', path)) throw new Error('the file system does not grow');
  await send(25);
  const recovered = posted.acknowledged.size - acknowledged;
  // Nobody writes now, so a copy is what is stored.
  if (!inside(pid, 'cp', join(path, 'inbox.db'), join(path, 'inbox.db-wal'), copies.path))
    throw new Error('the inbox cannot be copied');
  const { lost, damage } = verifyFile(join(copies.path, 'inbox.db'), posted.acknowledged);
  child.kill();
  await child.ended;
  return {
    passed: lost === 0 && damage === null && refused > 0 && acknowledged > 0 && recovered === 100,
    numbers: `${acknowledged} acknowledged, ${refused} answered 503, ${recovered} of 100 stored once it had grown, ${lost} lost, integrity ${damage ?? 'ok'}`,
  };
}
