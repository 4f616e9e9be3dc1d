import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { putFiles } from '../fakes/kept-files.ts';
import { type RunningCli, startCli } from '../fakes/run-cli.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** A start that is held up at one stage. */
interface Held {
  readonly cwd: string;
  readonly config: string;
  readonly stack: AsyncDisposableStack;
  /** Starts the daemon on the configuration. */
  start(env?: Record<string, string>): RunningCli;
}

interface Stage {
  readonly name: string;
  /** Holds the start up, and resolves once it is at this stage; returns what lets it go on. */
  reached(held: Held, env: Record<string, string>): Promise<{ running: RunningCli; goOn(): Promise<void> }>;
}

/** Opens a server that takes connections and never says a word. */
async function silentServer(stack: AsyncDisposableStack): Promise<{ server: Server; port: number }> {
  const server = createServer();
  stack.defer(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

/** Returns whether a process has a listener of its own for a signal. */
function listensTo({ child }: RunningCli, signal: number): boolean {
  const [, caught = '0'] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return ((BigInt(`0x${caught}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

const stages: readonly Stage[] = [
  {
    name: 'while it reads its configuration',
    reached: async ({ config, start }, env) => {
      const text = readFileSync(config);
      execFileSync('sh', ['-c', 'rm "$1" && mkfifo -m 600 "$1"', 'sh', config]);
      const running = start(env);
      // Opens once the program reads it.
      const pipe = await open(config, 'w');
      const goOn = async () => {
        await pipe.writeFile(text).catch(() => undefined);
        await pipe.close();
      };
      return { running, goOn };
    },
  },
  {
    name: 'while another program keeps it from changing the schema',
    reached: async ({ cwd, start, stack }, env) => {
      const mirror = join(cwd, 'mirror/mirror.db');
      putFiles('1.0.0', mirror);
      const other = stack.adopt(new Database(mirror), (db) => void db.close());
      other.exec('BEGIN IMMEDIATE');
      const running = start(env);
      await running.said('backup made before the upgrade');
      await expect.poll(() => listensTo(running, constants.signals.SIGTERM), { interval: 10 }).toBe(false);
      return { running, goOn: async () => void other.exec('ROLLBACK') };
    },
  },
  {
    name: 'while it waits for the database',
    reached: async ({ start, stack }, env) => {
      const { server, port } = await silentServer(stack);
      const connected = once(server, 'connection');
      const running = start({ ...env, CATALOGUED_DATABASE_URL: `postgres://writer@127.0.0.1:${port}/shop` });
      await connected;
      return { running, goOn: async () => undefined };
    },
  },
];

/** Preloads what listened to the signal while a start was under way, as every start did once. */
const listens = { NODE_OPTIONS: "--import=data:text/javascript,process.on('SIGTERM',()=>{})" };

function held(stack: AsyncDisposableStack): Held {
  const cwd = stack.use(temporaryDirectory()).path;
  const config = writeTestConfig(cwd, 'http://127.0.0.1:9');
  const start = (env: Record<string, string> = {}) => stack.use(startCli(['--config', config, 'run'], { cwd, env }));
  return { cwd, config, stack, start };
}

describe('SIGTERM ends a start', () => {
  it.each(stages)('$name', async ({ reached }) => {
    await using stack = new AsyncDisposableStack();
    const { running, goOn } = await reached(held(stack), {});
    running.child.kill('SIGTERM');
    const { stdout } = await running.ended;
    expect(running.child.signalCode).toBe('SIGTERM');
    expect(stdout).not.toContain('daemon started');
    await goOn();
  });

  it('not where a listener waits for its turn: it goes on then (control)', async () => {
    await using stack = new AsyncDisposableStack();
    const [stage] = stages;
    const { running, goOn } = (await stage?.reached(held(stack), listens)) ?? expect.fail('no stage');
    running.child.kill('SIGTERM');
    await goOn();
    await running.said('daemon started');
    await running.end('SIGKILL');
  });
});
