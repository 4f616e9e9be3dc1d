import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { Stopped, type StopSignal } from '../../src/kernel/errors.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { type RunningCli, startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const dayMs = 86_400_000;
const date = new Date(systemClock.now() + 5 * dayMs).toISOString().slice(0, 10);

/** A filled mirror, and a service that holds back every further answer while `hanging`. */
interface Stage {
  readonly cwd: string;
  readonly sandbox: Sandbox;
  readonly product: string;
  start(args: readonly string[], env?: Record<string, string>): RunningCli;
  /** From the next answer on, or after so many. */
  hang(rule?: { path?: string; after?: number }): void;
  /** Resolves at the command's first call, or the one of that number. */
  asked(running: RunningCli, calls?: number): Promise<void>;
}

const codes: Readonly<Record<StopSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

async function stoppedBy(running: RunningCli, signal: StopSignal) {
  running.child.kill(signal);
  const { code, stdout, stderr } = await running.ended;
  expect(stderr).toContain(`Error: stopped by ${signal} before it was done: `);
  expect(stderr).not.toContain('    at ');
  expect(code).toBe(codes[signal]);
  return { stdout, stderr };
}

describe('a command that a signal stops says so, and what was finished:', () => {
  const stack = new AsyncDisposableStack();
  let stage: Stage;
  beforeAll(async () => {
    const cwd = stack.use(temporaryDirectory()).path;
    const sandbox = stack.use(await startSandbox({ products: 8 }));
    const product = sandbox.world
      .visible()
      .find((each) => each.place.zone !== null && sandbox.world.days(each, date, date, 'EUR').length > 0);
    const config = writeTestConfig(cwd, sandbox.url);
    stage = {
      cwd,
      sandbox,
      product: String(product?.id),
      start: (args, env = {}) => startCli(['--config', config, ...args], { cwd, env }),
      hang: (rule = {}) => {
        sandbox.faults.clear();
        sandbox.calls.reset();
        sandbox.faults.add({ kind: 'hang', ...rule });
      },
      asked: async (running, calls = 1) => {
        const tooEarly = running.ended.then((ran) => Promise.reject(new Error(`it ended: ${JSON.stringify(ran)}`)));
        await Promise.race([sandbox.calls.reached(calls), tooEarly]);
      },
    };
    expect((await runHere(['--config', config, 'resync', '--all', '--wait'])).code).toBe(0);
  });
  afterAll(() => stack.disposeAsync());

  it('probe, check and resync --wait through the daemon, which goes on', async () => {
    const { sandbox, asked, start, hang, product } = stage;
    sandbox.faults.clear();
    const daemon = start(['run']);
    await daemon.said('daemon started');
    // First of all: a resync that was stopped leaves records due, and the daemon would make the first call.
    hang();
    const probe = start(['probe']);
    await asked(probe);
    expect((await stoppedBy(probe, 'SIGHUP')).stdout).toBe('');

    hang({ path: '/availability' });
    const check = start(['check', product, '--date', date, '--deadline', '30s']);
    await asked(check);
    expect((await stoppedBy(check, 'SIGTERM')).stdout).toBe('');

    const resync = start(['resync', '--availability', '--wait', '--product', product]);
    await resync.said('started');
    const told = await stoppedBy(resync, 'SIGINT');
    expect(told.stderr).toMatch(
      /: (\d+ of \d+ records were read; )?the daemon goes on with job \d+\nTry: catalogued status/,
    );
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toMatchObject({ code: 0 });
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)('resync --wait alone, by %s', async (signal) => {
    const { asked, start, hang } = stage;
    hang({ after: 5 });
    const resync = start(['resync', '--all', '--wait']);
    await asked(resync, 6);
    const { stdout, stderr } = await stoppedBy(resync, signal);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/: \d+ of \d+ records were read; the rest stays due\nTry: run the same command again/);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('check alone, by %s: it is no answer', async (signal) => {
    const { asked, start, hang, product } = stage;
    hang({ path: '/availability' });
    const check = start(['check', product, '--date', date, '--deadline', '30s']);
    await asked(check);
    const { stdout, stderr } = await stoppedBy(check, signal);
    expect({ stdout, tries: stderr.includes('Try: ask again before the order') }).toEqual({ stdout: '', tries: true });
  });

  it.each([
    ['plan'],
    ['images', 'audit'],
    ['status'],
    ['explain', '1'],
    ['changes'],
    ['doctor'],
    ['upgrade', '--check'],
    ['report', '--week'],
    ['subscription', 'list'],
    ['held', 'list'],
  ])('%s, before it has begun: it prints no half answer', async (...args) => {
    const io = capturedIo();
    const stopping = new AbortController();
    stopping.abort(new Stopped('SIGTERM'));
    const code = await main(args, { ...io, signal: stopping.signal });
    expect({ code, out: io.out(), err: io.err() }).toEqual({
      code: 143,
      out: '',
      err: 'Error: stopped by SIGTERM before it was done\n',
    });
  });

  it('one that ends because the stop kept somebody from answering is stopped, and no failure of the service', async () => {
    const { cwd, hang, sandbox, product } = stage;
    hang({ path: '/availability' });
    const io = capturedIo();
    const stopping = new AbortController();
    const ended = main(
      ['--config', join(cwd, 'catalogued.yaml'), 'check', product, '--date', date, '--deadline', '30s', '--json'],
      { ...io, signal: stopping.signal },
    );
    await sandbox.calls.reached(1);
    stopping.abort(new Stopped('SIGINT'));
    expect({ code: await ended, out: io.out() }).toEqual({ code: 130, out: '' });
    sandbox.faults.clear();
    expect((await runHere(['--config', join(cwd, 'catalogued.yaml'), 'plan'])).stdout).toContain('calls a day');
  });
});
