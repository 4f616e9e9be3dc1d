import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { acquireMirrorLock, isMirrorLocked } from '../../src/kernel/sqlite/lock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { needs } from '../fakes/needs.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

it(
  'beside a daemon that says nothing, status tells what the file says, and other commands that it does not answer',
  needs('time'),
  async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 4 });
    const config = writeTestConfig(directory.path, sandbox.url);
    const run = (...args: string[]) => runHere(['--config', config, ...args], { cwd: directory.path });
    expect(await run('resync', '--all', '--wait')).toMatchObject({ code: 0 });
    mkdirSync(join(directory.path, 'state'), { recursive: true });
    const hung = createServer(() => undefined);
    await once(hung.listen(join(directory.path, 'state', 'admin.sock')), 'listening');
    try {
      const status = await run('status');
      expect(status).toMatchObject({ code: 1, stderr: '' });
      expect(status.stdout).toMatch(/^Products +4 visible/m);
      expect(status.stdout).toMatch(/^Daemon +running, but not answering/m);
      expect(JSON.parse((await run('status', '--json')).stdout)).toMatchObject({ daemon: null, daemon_answers: false });
      const plan = await run('held', 'approve', 'less');
      expect(plan).toMatchObject({
        code: 75,
        stderr: expect.stringMatching(/^Error: the daemon at .* does not answer/),
      });
    } finally {
      hung.close();
    }
  },
);

interface Harness extends AsyncDisposable {
  readonly state: string;
  readonly mirror: string;
  run(...args: string[]): ReturnType<typeof runHere>;
  start(): ReturnType<typeof startCli>;
}

/** A mirror that was filled, with no daemon. */
async function harness(): Promise<Harness> {
  await using stack = new AsyncDisposableStack();
  const { path: cwd } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 3 }));
  const config = writeTestConfig(cwd, sandbox.url);
  const run = (...args: string[]) => runHere(['--config', config, ...args]);
  expect(await run('resync', '--all', '--wait')).toMatchObject({ code: 0 });
  const kept = stack.move();
  return {
    state: join(cwd, 'state'),
    mirror: join(cwd, 'mirror', 'mirror.db'),
    run,
    start: () => {
      const daemon = startCli(['--config', config, 'run'], { cwd });
      kept.defer(async () => {
        daemon.child.kill('SIGKILL');
        await daemon.ended;
      });
      return daemon;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Waits for the daemon to make its socket again. */
async function madeAgain(socket: string): Promise<void> {
  while (!existsSync(socket)) await delay(50);
}

describe('status', () => {
  it('is 1 once the daemon is dead, and says what to do', async () => {
    await using world = await harness();
    const daemon = world.start();
    await daemon.said('daemon started');
    expect(await world.run('status')).toMatchObject({ code: 0 });
    daemon.child.kill('SIGKILL');
    await daemon.ended;
    const { code, stdout } = await world.run('status');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Daemon +not running: nothing is refreshed. Start it: systemctl start catalogued/m);
    const { conditions } = JSON.parse((await world.run('status', '--json')).stdout);
    expect(conditions).toMatchObject([{ code: 'daemon-stopped', severity: 'error' }]);
  });

  it('sees that a daemon whose socket was removed runs, and the daemon makes the socket again', async () => {
    await using world = await harness();
    await world.start().said('daemon started');
    const socket = join(world.state, 'admin.sock');
    const mode = statSync(socket).mode;
    rmSync(socket);
    await madeAgain(socket);
    expect(statSync(socket).mode).toBe(mode);
    expect(await world.run('status')).toMatchObject({ code: 0 });
    expect(await world.run('resync', '--products', '--wait')).toMatchObject({ code: 0 });
  });

  it('is 1 and names the inbox once its directory was removed', async () => {
    await using world = await harness();
    await world.start().said('daemon started');
    rmSync(world.state, { recursive: true });
    await madeAgain(join(world.state, 'admin.sock'));
    expect(statSync(world.state).mode & 0o777).toBe(0o700);
    const { code, stdout } = await world.run('status');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Inbox +its file was removed or replaced while in use: deliveries are answered 503/m);
    // A second daemon would write the mirror beside the first one.
    expect(await world.run('run')).toMatchObject({ code: 75 });
  });

  it('says "running, but not answering" of a process that holds the mirror and listens nowhere', async () => {
    await using world = await harness();
    using _ = acquireMirrorLock(world.mirror);
    const { code, stdout } = await world.run('status');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Daemon +running, but not answering/m);
  });
});

it('asking whether a mirror is held takes no lock, and an unknown mirror is not held', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'mirror.db');
  expect(isMirrorLocked(path)).toBe(false);
  expect(existsSync(join(directory.path, '.mirror.db.lock'))).toBe(false);
  const lock = acquireMirrorLock(path);
  expect(isMirrorLocked(path)).toBe(true);
  lock[Symbol.dispose]();
  expect(isMirrorLocked(path)).toBe(false);
  acquireMirrorLock(path)[Symbol.dispose]();
});
