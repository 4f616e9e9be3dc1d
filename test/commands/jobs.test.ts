import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { Stopped } from '../../src/kernel/errors.ts';
import { type LiveStatus, whyWaiting } from '../../src/says/status/daemon-status.ts';
import { known } from '../admin/known-status.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig, writeTestConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

function post(socketPath: string, path: string): Promise<{ status: number; answer: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; answer: unknown }>();
  request({ socketPath, method: 'POST', path }, async (response) => {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    resolve({ status: response.statusCode ?? 0, answer: JSON.parse(text) });
  })
    .on('error', reject)
    .end();
  return promise;
}

it('catalogued jobs lists what a daemon does by itself, and runs one of it on demand', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ products: 4, lean: true });
  const file = writeTestConfig(directory.path, sandbox.url);
  const run = (...args: string[]) => runHere(['--config', file, ...args]);

  const alone = {
    code: 75,
    stdout: '',
    stderr: 'Error: no daemon runs, so there are no jobs\nTry: start it: catalogued run\n',
  };
  expect(await run('jobs')).toEqual(alone);
  expect(await run('jobs', 'run', 'pass')).toEqual(alone);

  await using daemon = await startDaemon(testMachine(), testConfig(directory.path, sandbox.url));
  const names = daemon.schedule.list().map(({ name }) => name);
  const listed = await run('jobs');
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  const lines = listed.stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^job +every +last run +took +next +state$/);
  expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual(names);
  expect(listed.stdout).toMatch(/^retention +1 h .* (in \d+ (s|min|h)|now) +(✓ ok|not run yet)$/m);

  const ran = await run('jobs', 'run', 'retention');
  expect(ran).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^retention: done in \d+ m?s\. Next in .*\.\n$/),
  });
  const { jobs } = JSON.parse((await run('jobs', '--json')).stdout) as { jobs: { name: string; runs: number }[] };
  expect(jobs.find(({ name }) => name === 'retention')).toMatchObject({
    runs: expect.toBeOneOf([1, 2]),
    failure: null,
  });
  const { stdout } = await run('status', '--json');
  expect((JSON.parse(stdout) as { jobs: unknown }).jobs).toHaveLength(names.length);
  expect(JSON.parse((await run('jobs', 'run', 'retention', '--json')).stdout)).toMatchObject({
    runs: expect.toBeOneOf([2, 3]),
    joined: 0,
  });

  const unknown = `there is no job "a/../b"; the jobs are ${names.join(', ')}`;
  const refused = await run('jobs', 'run', 'a/../b');
  expect(refused).toEqual({
    code: 64,
    stdout: '',
    stderr: `Error: ${unknown}\nTry: see when each of them runs: catalogued jobs\n`,
  });
  const answer = await post(join(directory.path, 'state', 'admin.sock'), '/v1/schedule/a%2F..%2Fb/run');
  const hint = 'see when each of them runs: catalogued jobs';
  expect(answer).toEqual({ status: 404, answer: { error: 'unknown-job', message: unknown, hint } });
});

it('catalogued jobs run joins a run that is under way and waits for its end, also that of the daemon, or leaves when it is told to', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ products: 4, lean: true });
  sandbox.faults.add({ kind: 'hang' });
  const file = writeTestConfig(directory.path, sandbox.url);
  const log = testLog('info');
  await using daemon = await startDaemon(testMachine({ log: log.log }), testConfig(directory.path, sandbox.url));
  const hanging = daemon.tick();
  const leaving = new AbortController();
  const io = { ...capturedIo(), signal: leaving.signal };
  const left = main(['--config', file, 'jobs', 'run', 'pass'], io);
  const waiting = runHere(['--config', file, 'jobs', 'run', 'pass', '--json']);
  const asked = () => log.lines().filter((line) => line.msg === 'job requested by an operator').length;
  while (asked() < 2) await setImmediate();
  const { jobs } = JSON.parse((await runHere(['--config', file, 'jobs', '--json'])).stdout) as { jobs: object[] };
  expect(jobs).toContainEqual(expect.objectContaining({ name: 'pass', running: 1, runs: 1, last_ms: null }));
  leaving.abort(new Stopped('SIGINT'));
  expect(await left).toBe(130);
  expect([io.out(), io.err()]).toEqual([
    '',
    'Error: stopped by SIGINT before it was done: the daemon goes on with the job pass\nTry: catalogued jobs\n',
  ]);
  await Promise.all([daemon[Symbol.asyncDispose](), hanging]);
  expect(JSON.parse((await waiting).stdout)).toMatchObject({ name: 'pass', joined: 1, runs: 1, running: 0 });
});

it('a job that fails stands in status, in the list of jobs, and is the answer 1 of a run by hand', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ products: 4, lean: true });
  const snapshot = { every: '1m', path: join(directory.path, 'missing', 'mirror.db') };
  const file = writeTestConfig(directory.path, sandbox.url, { snapshot });
  const run = (...args: string[]) => runHere(['--config', file, ...args]);
  await using daemon = await startDaemon(testMachine(), testConfig(directory.path, sandbox.url, { snapshot }));
  await untilFilled(daemon);
  const why = `the directory ${join(directory.path, 'missing')} is missing`;
  const ran = await run('jobs', 'run', 'snapshot');
  expect(ran).toMatchObject({ code: 1, stderr: '' });
  expect(ran.stdout).toMatch(/^snapshot: failed after \d+ m?s: /);
  expect(ran.stdout).toContain(why);
  const { stdout } = await run('status');
  expect(stdout).toMatch(/^Jobs {6}snapshot failed \d+ s ago: the directory .* is missing$/m);
  expect(stdout.match(/^Jobs/gm)).toHaveLength(1);
  expect((await run('jobs')).stdout).toMatch(/^snapshot +1 s .* the directory .* is missing$/m);
});

it('a job that is run by hand says that the mirror is gone, and not that it is done', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ products: 4, lean: true });
  const file = writeTestConfig(directory.path, sandbox.url);
  const config = testConfig(directory.path, sandbox.url);
  const run = (job: string) => runHere(['--config', file, 'jobs', 'run', job]);
  await using daemon = await startDaemon(testMachine(), config);
  await untilFilled(daemon);
  // Control.
  expect((await run('pass')).stdout).toMatch(/^pass: done in /);
  rmSync(config.config.mirror.path);
  for (const job of ['pass', 'chores', 'retention']) {
    const ran = await run(job);
    expect(ran).toMatchObject({ code: 1, stderr: '' });
    expect(ran.stdout).toMatch(new RegExp(`^${job}: did nothing: .*mirror\\.db`));
  }
  expect((await run('disk')).stdout).toMatch(/^disk: done in /);
});

it('a pass that is run by hand says that the service refuses the key', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ products: 4, lean: true });
  sandbox.faults.add({ kind: 'status', status: 401 });
  const file = writeTestConfig(directory.path, sandbox.url);
  await using daemon = await startDaemon(testMachine(), testConfig(directory.path, sandbox.url));
  await daemon.tick();
  const ran = await runHere(['--config', file, 'jobs', 'run', 'pass']);
  expect(ran).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^pass: did nothing: the service refuses the key: [^.]*\. Next /),
  });
});

/** Runs a daemon until its first sync cycle has ended; returns what it printed. */
async function filledBy(isTTY: boolean): Promise<{ readonly out: string; readonly err: string }> {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ products: 12 });
  const config = writeTestConfig(directory.path, sandbox.url, { budget: { requests_per_second: 30 } });
  const captured = capturedIo();
  const stop = new AbortController();
  const io = { ...captured, signal: stop.signal, stderr: Object.assign(captured.stderr, { isTTY, columns: 80 }) };
  const ended = main(['--config', config, 'run'], io);
  await expect.poll(captured.out, { timeout: 30_000 }).toMatch(/pass ended/);
  stop.abort();
  expect(await ended).toBe(0);
  return { out: captured.out(), err: captured.err() };
}

describe('a first fill of run', () => {
  it('shows its progress on a terminal in one line, which makes way for the log', async () => {
    const { out, err } = await filledBy(true);
    const lines = err.replaceAll('\r\u001b[K', '\n').split('\n').filter(Boolean);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/^filling: \d+ of \d+ records?, .*\d+ products?$/);
    expect(lines.every((line) => line.length < 80)).toBe(true);
    for (const line of out.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('is reported by the log alone through a pipe', async () => {
    const { out, err } = await filledBy(false);
    expect(err).toBe('');
    expect(out).toContain('"msg":"pass ended"');
  });
});

describe('a resync that waits', () => {
  const now = 1_000_000;
  const live = { ...known.daemon, calls_in_flight: 0 } as LiveStatus;
  it.each<[says: string | null, live: Partial<LiveStatus>, next_due_at: number | null]>([
    ['the service refuses the key', { key_refused: 'no', unreachable_since: now - 5000 }, null],
    ['not reachable for 5 s', { unreachable_since: now - 5000 }, now + 9000],
    ['no usable answer for 5 s', { unreachable_since: now - 5000, away: { how: 'unusable', says: '' } }, null],
    ['told to wait 7 s', { not_before: now + 7000 }, now + 9000],
    ['next read in 47 s: what failed or needs a second answer', {}, now + 47_000],
    [null, { calls_in_flight: 1 }, now + 47_000],
    [null, {}, now + 999],
    [null, { not_before: now }, null],
  ])('says %s', (says, more, next_due_at) => {
    expect(whyWaiting({ ...live, ...more }, next_due_at, now)).toBe(says);
  });
});
