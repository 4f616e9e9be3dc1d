import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { asTheUnit } from '../fakes/as-the-unit.ts';
import { cli } from '../fakes/built-program.ts';
import { freePort } from '../fakes/free-port.ts';
import { startProgram } from '../fakes/run-cli.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { CannotRun, type Outcome } from './run.ts';

/*
 * A first fill by the built daemon, as fast as both can, where the kernel kills what takes more memory than it may: not
 * the daemon. In a tenth of that it is killed: the limit is one.
 */

const [products, mib, controlMiB] = [7500, 512, 48];

export async function littleMemory(): Promise<Outcome> {
  const port = await freePort();
  const service = ['sandbox', '--products', String(products), '--port', String(port), '--hold', '0s'];
  await using sandbox = startProgram([process.execPath, cli, ...service]);
  await sandbox.said('The sandbox serves');
  const url = `http://127.0.0.1:${port}`;
  const began = performance.now();
  const { killed, mirrored, peak } = await filled(url, mib);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const control = await filled(url, controlMiB);
  return {
    passed: killed === 0 && mirrored === products && control.killed > 0,
    numbers: `${mirrored} of ${products} products filled within ${mib} MiB in ${seconds} s: ${killed} killed, resident at most ${peak.toFixed(0)} MiB; control, within ${controlMiB} MiB: ${control.killed} killed`,
  };
}

/** Fills a mirror within a limit. Of the memory that the daemon holds, at its largest, pages of files do not count. */
async function filled(url: string, within: number) {
  using limit = memoryLimit(within);
  using directory = temporaryDirectory();
  const budget = { requests_per_second: 100_000, concurrency: 4 };
  const config = writeTestConfig(directory.path, url, { budget });
  const command = [process.execPath, ...asTheUnit, cli, '--config', config, 'run'].join(' ');
  await using daemon = startProgram(['sh', '-c', `${limit.enter} && exec ${command}`]);
  const lives = await daemon.said('pass ended').then(
    () => true,
    () => false,
  );
  const status = lives ? readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8') : '';
  await daemon.end();
  const mirrored = lives ? filledProducts(join(directory.path, 'mirror', 'mirror.db')) : 0;
  return { killed: limit.killed(), mirrored, peak: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024 };
}

/** How many products a mirror has; 0: it is not filled. */
function filledProducts(path: string): number {
  const db = new Database(path, { readonly: true });
  const count = db.prepare('SELECT count(*) FROM products, mirror_info WHERE filled_at IS NOT NULL').pluck().get();
  db.close();
  return Number(count);
}

/** A limit of the kernel on all that some processes hold, pages of files and all; there is no swap behind it. */
interface MemoryLimit extends Disposable {
  /** A shell command before others: they and their children are limited. */
  readonly enter: string;
  /** How many of them the kernel has killed for want of memory. */
  killed(): number;
}

/** Both generations of control groups: where the memory's are, and what their files are called. */
const generations = [
  { root: '/sys/fs/cgroup', limit: 'memory.max', events: 'memory.events', of: 'cgroup.controllers' },
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', events: 'memory.oom_control', of: 'tasks' },
];

/** Makes a control group with so much memory: that takes root, and the kernel's groups. */
function memoryLimit(mib: number): MemoryLimit {
  const generation = generations.find(({ root, of }) => existsSync(join(root, of)));
  if (generation === undefined) throw new CannotRun('there are no control groups for memory here');
  const { root, limit, events } = generation;
  const group = join(root, `catalogued-${process.pid}-${mib}`);
  mkdirSync(group);
  writeFileSync(join(group, limit), String(mib * 2 ** 20));
  if (readdirSync(group).includes('memory.swap.max')) writeFileSync(join(group, 'memory.swap.max'), '0');
  return {
    enter: `echo $$ > ${group}/cgroup.procs`,
    killed: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(group, events), 'utf8'))?.[1]),
    [Symbol.dispose]: () => rmdirSync(group),
  };
}
