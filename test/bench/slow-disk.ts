import { spawnSync } from 'node:child_process';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { startChild } from '../faults/child.ts';
import { type Line, quantile } from './line.ts';

/* Durable acknowledgements on a disk that takes its time: strace holds each sync of the inbox for a fifth of a second. */

const syncMs = 200;
const deliveries = 500;
const connections = 50;

export async function slowDiskLines(): Promise<Line[]> {
  const what = `${deliveries} deliveries over ${connections} connections, each fsync taking ${syncMs} ms: acknowledged`;
  const target = 'p99 < 2 s, all';
  if (spawnSync('strace', ['-V']).error !== undefined)
    return [{ what, value: 'not run: there is no strace here', target, met: 'not run' }];
  using directory = temporaryDirectory();
  const inbox = join(directory.path, 'inbox.db');
  const only = ['-P', inbox, '-P', `${inbox}-wal`, '-e', 'trace=fsync,fdatasync'];
  const slow = ['-e', `inject=fsync,fdatasync:delay_enter=${1000 * syncMs}`];
  const child = await startChild(directory.path, 'honest', [
    'strace',
    '-f',
    '-qq',
    '-o',
    '/dev/null',
    ...only,
    ...slow,
  ]);
  if (child.pid === null) throw new Error(`the receiver ended: ${await child.ended}`);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  let acknowledged = 0;
  const poster = async (n: number) => {
    for (let count = n; count < deliveries; count += connections) {
      const began = performance.now();
      if ((await post(agent, child, count)) === 200) acknowledged += 1;
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, n) => poster(n)));
  agent.destroy();
  child.kill();
  await child.ended;
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => quantile(times, share)) as [number, number, number];
  // Faster than the disk: nothing was held up, so nothing was shown.
  const held = most >= syncMs;
  const value = `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, max ${most.toFixed(0)} ms; ${acknowledged} of ${deliveries}${held ? '' : '; NO SYNC WAS HELD UP'}`;
  return [{ what, value, target, met: held && p99 < 2000 && acknowledged === deliveries }];
}

function post(agent: Agent, { port, path }: { port: number; path: string }, id: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const body = JSON.stringify({ id, products: [], padding: 'x'.repeat(2150) });
  const sent = request({ agent, port, host: '127.0.0.1', path, method: 'POST' }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode ?? 0));
  });
  sent.on('error', reject).end(body);
  return promise;
}
