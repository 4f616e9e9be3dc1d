import { join } from 'node:path';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { startChild } from './child.ts';
import { postDeliveries } from './posters.ts';
import type { Outcome } from './run.ts';

/* Durable acknowledgements on a disk that takes its time: strace holds each sync of the inbox for a fifth of a second. */

const [syncMs, posters, each] = [200, 50, 10];

export async function slowDisk(): Promise<Outcome> {
  using directory = temporaryDirectory();
  const inbox = join(directory.path, 'inbox.db');
  const traced = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', inbox, '-P', `${inbox}-wal`];
  const slow = ['-e', 'trace=fsync,fdatasync', '-e', `inject=fsync,fdatasync:delay_enter=${1000 * syncMs}`];
  const child = await startChild(directory.path, 'honest', [...traced, ...slow]);
  if (child.pid === null) throw new Error(`the receiver ended with ${await child.ended} under strace`);
  const posted = { acknowledged: new Set<number>(), answers: [], times: [] as number[] };
  await postDeliveries(child, { posters, each, posted });
  child.kill();
  await child.ended;
  const times = posted.times.toSorted((a, b) => a - b);
  const [p50 = 0, p99 = 0, most = 0] = [0.5, 0.99, 1].map((share) => times[Math.floor((times.length - 1) * share)]);
  const all = posted.acknowledged.size === posters * each;
  return {
    // Faster than the disk: nothing was held up, so nothing was shown.
    passed: all && p99 < 2000 && most >= syncMs,
    numbers: `${posted.acknowledged.size} of ${posters * each} acknowledged, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, max ${most.toFixed(0)} ms`,
  };
}
