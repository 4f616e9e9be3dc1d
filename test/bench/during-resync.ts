import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/clock.ts';
import { freePort } from '../fakes/free-port.ts';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, quantile } from './line.ts';

/*
 * Acknowledgements while the same process reads everything anew: the commits of the mirror and the decoding of answers
 * share its event loop.
 */

const postMs = 8000;
const connections = 10;

export async function duringResync(): Promise<Line[]> {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  const [port, servicePort] = [await freePort(), await freePort()];
  const sandbox = startCli(['sandbox', '--products', '1500', '--port', String(servicePort), '--hold', '0s'], { cwd });
  await sandbox.said('The sandbox serves');
  const config = join(cwd, 'catalogued.yaml');
  writeFileSync(
    config,
    testConfigText(cwd, `http://127.0.0.1:${servicePort}`, {
      signing: { body: 'json' },
      receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
      subscriptions: [{ id: 'norland', type: 'product_ids', entities: 'mirrored' }],
    }),
  );
  const options = { cwd, env: { CATALOGUED_RECEIVER_SECRET: 'bench'.repeat(8) } };
  const daemon = startCli(['--config', config, 'run'], options);
  await daemon.said('pass ended');
  await runCli(['--config', config, 'subscription', 'apply'], options);
  const [subscription] = (await (await fetch(`http://127.0.0.1:${servicePort}/sandbox/subscriptions`)).json()) as {
    callback_url: string;
  }[];
  const path = new URL(subscription?.callback_url ?? 'http://none/').pathname;
  const idle = await load(port, path, 2000);
  const resync = runCli(['--config', config, 'resync', '--all'], options);
  await resync;
  const started = systemClock.now();
  const busy = await load(port, path, postMs);
  const job = await status(config, options);
  daemon.child.kill('SIGTERM');
  sandbox.child.kill('SIGTERM');
  await Promise.all([daemon.ended, sandbox.ended]);
  const [before, during] = [quantile(idle, 0.99), quantile(busy, 0.99)];
  const most = busy.reduce((max, each) => Math.max(max, each), 0);
  return [
    {
      what: `acknowledgements while ${job} records are read anew, over ${connections} connections`,
      value: `p99 ${during.toFixed(1)} ms, idle ${before.toFixed(1)} ms = ${(during / before).toFixed(2)} ×; max ${most.toFixed(0)} ms, ${busy.length} in ${((systemClock.now() - started) / 1000).toFixed(0)} s`,
      target: '≤ 3 ×, max ≤ 100 ms',
      met: during <= 3 * before && most <= 100,
    },
  ];
}

async function status(config: string, options: { cwd: string; env: Record<string, string> }): Promise<string> {
  const { stdout } = await runCli(['--config', config, 'status', '--json'], options);
  const { records } = JSON.parse(stdout) as { records: { all: number } };
  return records.all.toLocaleString('en-US');
}

async function load(port: number, path: string, ms: number): Promise<number[]> {
  const child = fork(join(import.meta.dirname, 'load.ts'), [String(port), path, String(connections), String(ms)]);
  const [result] = (await once(child, 'message')) as [{ times: number[]; refused: number }];
  if (result.refused > 0) throw new Error(`${result.refused} deliveries were not answered 200`);
  return result.times;
}
