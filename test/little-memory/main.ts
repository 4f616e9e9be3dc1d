import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { said } from '../bench/process.ts';
import { anyNumber, commandLine } from '../command-line.ts';
import { asTheUnit } from '../fakes/as-the-unit.ts';
import { builtCommit } from '../fakes/built-commit.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { memoryLimit } from './memory-limit.ts';

/*
 * A first fill by the built daemon, as fast as both can, where the kernel kills what takes more memory than it may: not
 * the daemon. In a quarter of what it takes, it is: the limit is one.
 */

const { products, mib } = commandLine(
  'npm run test:memory --',
  'Fills a mirror within a limit of the kernel. Exit 0: nothing is killed, and within far less the daemon is. Needs root.',
  { '': '7,500 products within 512 MiB, some minutes', '--products 1000 --mib 256': 'a small machine' },
)
  .option('--products <n>', 'how many', anyNumber, 7500)
  .option('--mib <n>', 'within so much memory', anyNumber, 512)
  .parse()
  .opts<{ products: number; mib: number }>();
const controlMiB = 48;
const cli = join(builtCommit(undefined), 'dist/cli.js');
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Resolves with what became of it: of the memory that it holds, at its largest, pages of files do not count. */
async function filled(url: string, within: number): Promise<{ killed: number; mirrored: number; peak: number }> {
  using limit = memoryLimit(within);
  using directory = temporaryDirectory();
  const config = join(directory.path, 'catalogued.yaml');
  const budget = { requests_per_second: 100_000, concurrency: 4 };
  writeFileSync(config, testConfigText(directory.path, url, { budget }));
  const command = [process.execPath, ...asTheUnit, cli, '--config', config, 'run'].join(' ');
  const daemon = spawn('sh', ['-c', `${limit.enter} && exec ${command}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(daemon, 'exit');
  const lives = await said(daemon.stdout, 'pass ended').then(
    () => true,
    () => false,
  );
  const status = lives ? readFileSync(`/proc/${daemon.pid}/status`, 'utf8') : '';
  daemon.kill('SIGTERM');
  await ended;
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

await using stack = new AsyncDisposableStack();
const port = await freePort();
const service = ['sandbox', '--products', String(products), '--port', String(port), '--hold', '0s'];
const sandbox = spawn(process.execPath, [cli, ...service], { stdio: ['ignore', 'pipe', 'inherit'] });
stack.defer(() => void sandbox.kill('SIGTERM'));
await said(sandbox.stdout, 'The sandbox serves');
const url = `http://127.0.0.1:${port}`;
const began = performance.now();
const { killed, mirrored, peak } = await filled(url, mib);
const seconds = ((performance.now() - began) / 1000).toFixed(0);
const control = await filled(url, controlMiB);
const good = killed === 0 && mirrored === products && control.killed > 0;
say(
  `${mirrored} of ${products} products filled within ${mib} MiB in ${seconds} s: ${killed} killed, resident at most ${peak.toFixed(0)} MiB; within ${controlMiB} MiB: ${control.killed} killed`,
);
process.exitCode = good ? 0 : 1;
