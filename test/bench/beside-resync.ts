import { setTimeout } from 'node:timers/promises';
import type { Reader } from '../../src/storefront/reader.ts';
import { freePort } from '../fakes/free-port.ts';
import { openReader } from '../fakes/reader.ts';
import { inDays, type Line, most, quantile } from './measure.ts';
import { callbackPath, Home, load, startService } from './stage.ts';

/*
 * Acknowledgements, and a storefront's reads with a backup beside them and without, while the daemon reads everything again:
 * the commits of the mirror and the decoding of answers share its event loop and the disk.
 */

const products = 1500;
const connections = 10;
const alternations = 3;

export async function besideResync(): Promise<Line[]> {
  await using service = await startService(products);
  using home = new Home();
  const port = await freePort();
  const more = {
    signing: { body: 'json' },
    receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
    subscriptions: [{ id: 'norland', type: 'product_ids', entities: 'mirrored' }],
  };
  const [fast, usual] = [home.config(service.url, 100_000, more), home.config(service.url, 15, more)];
  const lines: Line[] = [];
  for (const [config, speed] of [
    [fast, 'as fast as both can'],
    [usual, 'at 15 calls a second'],
  ] as const) {
    await using _ = await home.run(config, config === fast ? 'pass ended' : 'daemon started');
    await home.command(config, 'subscription', 'apply');
    const path = await callbackPath(service);
    const idle = await load(port, path, connections, 2000);
    await home.command(config, 'resync', '--all');
    lines.push(acknowledged(speed, idle.times, (await load(port, path, connections, 6000)).times));
  }
  await using _ = await home.run(fast, 'daemon started');
  return [...lines, ...(await reads(home, fast))];
}

function acknowledged(speed: string, idle: readonly number[], busy: readonly number[]): Line {
  const [before, during] = [quantile(idle, 0.99), quantile(busy, 0.99)];
  return {
    what: `acknowledgements over ${connections} connections during a resync of everything, ${speed}`,
    value: `p99 ${during.toFixed(1)} ms, idle ${before.toFixed(1)} ms = ${(during / before).toFixed(2)} ×; max ${most(busy).toFixed(0)} ms`,
    target: '≤ 3 ×, max ≤ 100 ms',
    met: during <= 3 * before && most(busy) <= 100,
  };
}

async function reads(home: Home, config: string): Promise<Line[]> {
  const times = { idle: [] as number[], alone: [] as number[], beside: [] as number[] };
  const took: number[] = [];
  let bytes = 0;
  using reader = openReader(home.mirror);
  await read(reader, times.idle, setTimeout(4000));
  for (let round = 0; round < alternations; round += 1) {
    await home.command(config, 'resync', '--all');
    await read(reader, times.alone, setTimeout(3000));
    await home.command(config, 'resync', '--all');
    const began = performance.now();
    const backup = home.command(config, 'backup', '--json');
    await read(reader, times.beside, backup);
    took.push(performance.now() - began);
    ({ bytes } = JSON.parse(await backup) as { bytes: number });
  }
  const p99 = (all: readonly number[]) => quantile(all, 0.99);
  const [idle, alone, beside] = [p99(times.idle), p99(times.alone), p99(times.beside)];
  const [p50, usual] = [quantile(times.alone, 0.5), quantile(times.idle, 0.5)];
  return [
    {
      what: `a calendar and a product, read while ${products} products are read again, beside idle`,
      value: `p50 ${p50.toFixed(2)} ms / ${usual.toFixed(2)} ms = ${(p50 / usual).toFixed(2)} ×; p99 ${alone.toFixed(1)} ms / ${idle.toFixed(1)} ms = ${(alone / idle).toFixed(2)} ×`,
      target: '≤ 1.3 ×, ≤ 5 ×',
      met: p50 <= 1.3 * usual && alone <= 5 * idle,
    },
    {
      what: `a calendar and a product, read while ${products} products are read again and a backup is made`,
      value: `p99 ${beside.toFixed(1)} ms, without a backup ${alone.toFixed(1)} ms = ${(beside / alone).toFixed(2)} ×, idle ${idle.toFixed(1)} ms; max ${most(times.beside).toFixed(0)} ms of ${times.beside.length}`,
      target: '≤ 3 ×',
      met: beside <= 3 * alone,
    },
    {
      what: 'a backup under that load',
      value: `${took.map((ms) => (ms / 1000).toFixed(1)).join(', ')} s, ${(bytes / 2 ** 20).toFixed(0)} MiB`,
      target: '≤ 10 s each',
      met: took.every((ms) => ms <= 10_000),
    },
  ];
}

/** Reads as a shop does, a page each few milliseconds, until the work has ended. */
async function read(reader: Reader, times: number[], work: Promise<unknown>): Promise<void> {
  let ended = false;
  const over = () => {
    ended = true;
  };
  work.then(over, over);
  const ids = reader.products({ limit: 40 }).map(({ product_id }) => product_id);
  for (let turn = 0; !ended; turn += 1) {
    const id = ids[turn % ids.length] ?? 0;
    const began = performance.now();
    reader.product(id);
    reader.calendar(id, { from: inDays(0), to: inDays(365) });
    times.push(performance.now() - began);
    await setTimeout(2);
  }
}
