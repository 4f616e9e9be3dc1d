import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, type Running, run, start } from '../program.ts';
import type { Finding, RoughCase, Subject } from '../rough-case.ts';

const started = /"msg":"daemon started"/;

function alive({ child }: Running): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** How it ended, with the first line that says why. */
async function whyEnded({ ended }: Running): Promise<string> {
  const { code, stderr } = await ended;
  return `it ended with ${code}: ${stderr.split('\n').find((line) => line.trim() !== '') ?? ''}`;
}

interface Outside {
  readonly daemon: Running;
  readonly config: string;
  /** Runs a program where the daemon sees its small disk. */
  inside(...command: readonly string[]): Promise<string>;
}

/** A daemon whose files are on a file system of its own, of so many megabytes. */
async function onSmallDisk(subject: Subject, products: number, megabytes: number): Promise<Outside> {
  const { directory, stack } = subject;
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products }));
  const disk = join(directory, 'disk');
  mkdirSync(disk);
  const at = (...parts: readonly string[]) => join(disk, ...parts);
  const config = configure(subject, sandbox.url, {
    mirror: { path: at('mirror', 'mirror.db'), inbox_path: at('state', 'inbox.db'), state_dir: at('state') },
    admin: { listen: `unix:${at('state', 'admin.sock')}` },
    budget: { requests_per_second: 200, concurrency: 4 },
  });
  const mount = `mount -t tmpfs -o size=${megabytes}m none ${disk} && exec "$0" "$@"`;
  const daemon = start(subject, ['--config', config, 'run'], { under: ['unshare', '-Urm', 'sh', '-c', mount] });
  await daemon.said(started);
  const enter = ['nsenter', '-t', String(daemon.child.pid), '-U', '-m', '--preserve-credentials'];
  const inside = async (...command: readonly string[]) => {
    const [program = '', ...args] = [...enter, ...command];
    const { execFile } = process.getBuiltinModule('node:child_process');
    const { promise, resolve } = Promise.withResolvers<string>();
    execFile(program, args, { encoding: 'utf8' }, (_, stdout, stderr) => resolve(stdout + stderr));
    return promise;
  };
  return { daemon, config, inside };
}

/** Fills the disk while the daemon works, waits, frees it, and looks whether the fill ends. */
async function fullThenFreed(
  subject: Subject,
  { products, megabytes, fillAfter }: { products: number; megabytes: number; fillAfter: number | null },
): Promise<Finding> {
  const { daemon, config, inside } = await onSmallDisk(subject, products, megabytes);
  const disk = join(subject.directory, 'disk');
  if (fillAfter !== null) {
    await systemClock.sleep(fillAfter);
    await inside('dd', 'if=/dev/zero', `of=${disk}/filler`, 'bs=64k');
  }
  await systemClock.sleep(5000);
  if (!alive(daemon)) return { green: false, said: await whyEnded(daemon) };
  const cli = (...args: readonly string[]) =>
    inside(process.execPath, join(subject.root, 'dist/cli.js'), '--config', config, ...args);
  const full = await cli('status');
  const named = /^(Storage|Disk) .*$/m.exec(full)?.[0];
  await inside('mount', '-o', `remount,size=${10 * megabytes}m`, disk);
  for (let seconds = 0; seconds < 90 && alive(daemon); seconds += 1) {
    const { filled_at } = JSON.parse((await cli('status', '--json')).replace(/^[^{]*/, '')) as { filled_at: unknown };
    if (filled_at !== null)
      return { green: named !== undefined, said: `named: ${named}; filled ${seconds} s after it had grown` };
    await systemClock.sleep(1000);
  }
  return { green: false, said: alive(daemon) ? 'it was not filled 90 s after it had grown' : await whyEnded(daemon) };
}

export const cases: readonly RoughCase[] = [
  {
    point: '5',
    claim: 'a disk that is full before the fill is done is waited for',
    run: (subject) => fullThenFreed(subject, { products: 200, megabytes: 6, fillAfter: null }),
  },
  {
    point: '5',
    claim: 'a disk that somebody fills is waited for, also by what copies the log into the file',
    run: (subject) => fullThenFreed(subject, { products: 400, megabytes: 40, fillAfter: 4000 }),
  },
  {
    point: '5',
    claim: 'a shell that holds the mirror for two seconds is waited for',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 30 }));
      const config = configure(subject, sandbox.url, { budget: { requests_per_second: 60, concurrency: 4 } });
      const daemon = start(subject, ['--config', config, 'run']);
      await daemon.said(started);
      using db = closing(new Database(join(subject.directory, 'mirror', 'mirror.db'), { timeout: 5000 }));
      db.db.exec('BEGIN IMMEDIATE');
      await systemClock.sleep(2000);
      db.db.exec('ROLLBACK');
      await systemClock.sleep(1000);
      if (!alive(daemon)) return { green: false, said: await whyEnded(daemon) };
      await daemon.said(/"stored":[1-9]/);
      const { code } = await run(subject, ['--config', config, 'status']);
      return { green: code === 0, said: `it goes on and fills; status ${code}` };
    },
  },
  {
    point: '5',
    claim: 'a start beside a shell that holds the mirror says so and ends with 75',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
      const config = configure(subject, sandbox.url);
      const first = start(subject, ['--config', config, 'run']);
      await first.said(/"stored":[1-9]/);
      first.child.kill('SIGTERM');
      await first.ended;
      using db = closing(new Database(join(subject.directory, 'mirror', 'mirror.db')));
      db.db.exec('BEGIN IMMEDIATE');
      const { code, stderr } = await run(subject, ['--config', config, 'run'], { ms: 20_000 });
      const [said = ''] = stderr.split('\n');
      return { green: code === 75 && /another program is writing/.test(said), said: `${code}: ${said}` };
    },
  },
];

function closing(db: Database.Database): Disposable & { readonly db: Database.Database } {
  return { db, [Symbol.dispose]: () => db.close() };
}
