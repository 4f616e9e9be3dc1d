import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { type Line, optionsOf } from './measure.ts';
import { processorMs } from './process.ts';
import { Home, startService } from './stage.ts';

/*
 * What the built daemon costs after a fill, while nothing is due: `npm run bench -- idle --products 7500`
 */

/** By then the fill has been cleaned up after. */
const settlesMs = 60_000;
const never = { every: '28d' };
const cadence = { images: '14d', availability: { near: never, middle: never, far: never } };

export async function idleLines(args: readonly string[]): Promise<Line[]> {
  const { products, seconds } = optionsOf('idle', args, { products: 1500, seconds: 120 });
  await using service = await startService(products);
  using home = new Home();
  await using daemon = await home.run(home.config(service.url, 100_000, { cadence }), 'pass ended');
  const pid = daemon.child.pid ?? 0;
  await setTimeout(settlesMs);
  const used = processorMs(pid, 'own');
  await setTimeout(1000 * seconds);
  const share = (processorMs(pid, 'own') - used) / (10 * seconds);
  const memory = proportionalMiB(pid);
  const ofAll = `${products} products, nothing due`;
  return [
    {
      what: `processor time, of one core, ${ofAll}`,
      value: `${share.toFixed(2)} %`,
      target: '≤ 0.3 %',
      met: share <= 0.3,
    },
    {
      what: `proportional memory, ${ofAll}`,
      value: `${memory.toFixed(0)} MiB`,
      target: '≤ 120 MiB',
      met: memory <= 120,
    },
  ];
}

/** Memory of a process, with its share of what several have, in MiB. */
function proportionalMiB(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024;
}
