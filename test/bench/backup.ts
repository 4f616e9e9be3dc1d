import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { openReader, type Reader } from '../../src/storefront/reader.ts';
import { freePort } from '../fakes/free-port.ts';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, quantile } from './line.ts';

/*
 * Backups under load: a storefront's reads while the daemon reads everything again, with a backup beside them and without.
 * What is compared was measured within one run.
 */

const products = 1500;
const alternations = 3;

export async function backupLines(): Promise<Line[]> {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  const port = await freePort();
  const sandbox = startCli(['sandbox', '--products', String(products), '--port', String(port)], { cwd });
  await sandbox.said('The sandbox serves');
  const config = ['--config', join(cwd, 'catalogued.yaml')];
  writeFileSync(join(cwd, 'catalogued.yaml'), testConfigText(cwd, `http://127.0.0.1:${port}`));
  const daemon = startCli([...config, 'run'], { cwd });
  await daemon.said('pass ended');
  const times = { idle: [] as number[], alone: [] as number[], beside: [] as number[] };
  const took: number[] = [];
  let bytes = 0;
  {
    using reader = openReader(join(cwd, 'mirror/mirror.db'));
    await read(reader, times.idle, setTimeout(4000));
    for (let round = 0; round < alternations; round += 1) {
      await runCli([...config, 'resync', '--all'], { cwd });
      await read(reader, times.alone, setTimeout(3000));
      await runCli([...config, 'resync', '--all'], { cwd });
      const began = performance.now();
      const backup = runCli([...config, 'backup', '--json'], { cwd });
      await read(reader, times.beside, backup);
      took.push(performance.now() - began);
      const { code, stdout, stderr } = await backup;
      if (code !== 0) throw new Error(stderr);
      bytes = (JSON.parse(stdout) as { bytes: number }).bytes;
    }
  }
  for (const each of [daemon, sandbox]) {
    each.child.kill('SIGTERM');
    await each.ended;
  }
  const [idle, alone, beside] = [times.idle, times.alone, times.beside].map((all) => quantile(all, 0.99)) as [
    number,
    number,
    number,
  ];
  const most = times.beside.reduce((max, each) => Math.max(max, each), 0);
  const p50 = [times.alone, times.idle].map((all) => quantile(all, 0.5)) as [number, number];
  return [
    {
      what: `a calendar and a product, read while ${products} products are read again, beside idle`,
      value: `p50 ${p50[0].toFixed(2)} ms / ${p50[1].toFixed(2)} ms = ${(p50[0] / p50[1]).toFixed(2)} ×; p99 ${alone.toFixed(1)} ms / ${idle.toFixed(1)} ms = ${(alone / idle).toFixed(2)} ×`,
      target: '≤ 1.3 ×, ≤ 5 ×',
      met: p50[0] <= 1.3 * p50[1] && alone <= 5 * idle,
    },
    {
      what: `a calendar and a product, read while ${products} products are read again and a backup is made`,
      value: `p99 ${beside.toFixed(1)} ms, without a backup ${alone.toFixed(1)} ms = ${(beside / alone).toFixed(2)} ×, idle ${idle.toFixed(1)} ms; max ${most.toFixed(0)} ms of ${times.beside.length}`,
      target: '≤ 3 ×',
      met: beside <= 3 * alone,
    },
    {
      what: 'a backup under that load',
      value: `${took.map((ms) => (ms / 1000).toFixed(1)).join(', ')} s, ${(bytes / 1024 / 1024).toFixed(0)} MiB`,
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
  const from = new Date().toISOString().slice(0, 10);
  for (let turn = 0; !ended; turn += 1) {
    const id = ids[turn % ids.length] ?? 0;
    const began = performance.now();
    reader.product(id);
    reader.calendar(id, { from, to: `${Number(from.slice(0, 4)) + 1}${from.slice(4)}` });
    times.push(performance.now() - began);
    await setTimeout(2);
  }
}
