import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../fakes/free-port.ts';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, quantile } from './line.ts';

/*
 * Acknowledgements while the same process reads everything again: the commits of the mirror and the decoding of answers
 * share its event loop.
 */

const postMs = 6000;
const connections = 10;
/** Calls a second: as fast as service and daemon can, and what a partner's budget comes to. */
const rates = { unlimited: 100_000, usual: 15 } as const;

export async function duringResync(): Promise<Line[]> {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  const [port, servicePort] = [await freePort(), await freePort()];
  const sandbox = startCli(['sandbox', '--products', '1500', '--port', String(servicePort), '--hold', '0s'], { cwd });
  await sandbox.said('The sandbox serves');
  const options = { cwd, env: { CATALOGUED_RECEIVER_SECRET: 'bench'.repeat(8) } };
  const configOf = (requests_per_second: number) => {
    const config = join(cwd, `${requests_per_second}.yaml`);
    writeFileSync(
      config,
      testConfigText(cwd, `http://127.0.0.1:${servicePort}`, {
        signing: { body: 'json' },
        budget: { requests_per_second, concurrency: 4 },
        receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
        subscriptions: [{ id: 'norland', type: 'product_ids', entities: 'mirrored' }],
      }),
    );
    return config;
  };
  const callback = async () => {
    const answer = await fetch(`http://127.0.0.1:${servicePort}/sandbox/subscriptions`);
    const [subscription] = (await answer.json()) as { callback_url: string }[];
    return new URL(subscription?.callback_url ?? 'http://none/').pathname;
  };
  const lines: Line[] = [];
  for (const [name, rate] of Object.entries(rates)) {
    const config = configOf(rate);
    const daemon = startCli(['--config', config, 'run'], options);
    await daemon.said(name === 'unlimited' ? 'pass ended' : 'daemon started');
    await runCli(['--config', config, 'subscription', 'apply'], options);
    const path = await callback();
    const idle = await load(port, path, 2000);
    await runCli(['--config', config, 'resync', '--all'], options);
    const busy = await load(port, path, postMs);
    daemon.child.kill('SIGTERM');
    await daemon.ended;
    lines.push(lineOf(name as keyof typeof rates, idle, busy));
  }
  sandbox.child.kill('SIGTERM');
  await sandbox.ended;
  return lines;
}

function lineOf(name: keyof typeof rates, idle: readonly number[], busy: readonly number[]): Line {
  const [before, during] = [quantile(idle, 0.99), quantile(busy, 0.99)];
  const most = busy.reduce((max, each) => Math.max(max, each), 0);
  const speed = name === 'unlimited' ? 'as fast as both can' : `at ${rates[name]} calls a second`;
  return {
    what: `acknowledgements over ${connections} connections during a resync of everything, ${speed}`,
    value: `p99 ${during.toFixed(1)} ms, idle ${before.toFixed(1)} ms = ${(during / before).toFixed(2)} ×; max ${most.toFixed(0)} ms`,
    target: '≤ 3 ×, max ≤ 100 ms',
    met: during <= 3 * before && most <= 100,
  };
}

async function load(port: number, path: string, ms: number): Promise<number[]> {
  const child = fork(join(import.meta.dirname, 'programs/load.ts'), [
    String(port),
    path,
    String(connections),
    String(ms),
  ]);
  const [result] = (await once(child, 'message')) as [{ times: number[]; refused: number }];
  if (result.refused > 0) throw new Error(`${result.refused} deliveries were not answered 200`);
  return result.times;
}
