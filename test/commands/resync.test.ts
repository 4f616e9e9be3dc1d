import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { createSecret } from '../../src/config/secrets.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { putFiles } from '../fakes/kept-files.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig, writeTestConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { outputs } from '../mirror/contract/outputs.ts';

it('a dry run before the first start makes no files, and prices what the run costs; after it the files stay as they are', async () => {
  using directory = temporaryDirectory();
  const { path: cwd } = directory;
  await using sandbox = await startSandbox({ products: 24 });
  const profile = { authorization: { header: null }, page_size: 10 };
  const write = (languages: string[], horizon: number) =>
    writeTestConfig(cwd, sandbox.url, {
      service: { profile, languages },
      cadence: { availability: { horizon } },
    });
  const config = write(['en'], 92);
  const run = (...args: string[]) => runHere(['--config', config, 'resync', '--all', ...args]);

  const shown = await run('--dry-run');
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toContain('Estimated with one call: the service lists 24 products.\nNothing was made due.\n');
  const priced = JSON.parse((await run('--dry-run', '--json')).stdout) as { calls: number; estimated_from: number };
  expect(priced.estimated_from).toBe(24);
  expect(sandbox.calls.counts().calls).toBe(2);
  expect(readdirSync(cwd)).toEqual(['catalogued.yaml']);

  const made = await run('--wait', '--json');
  const { calls, failed } = JSON.parse(made.stdout) as { calls: number; failed: number };
  expect({ code: made.code, failed }).toEqual({ code: 0, failed: 0 });
  // A page more or less of the experiences, and the further pages of the tags: nobody has counted either.
  const uncounted = Math.ceil(sandbox.world.tags().length / 10) - 1;
  expect(Math.abs(calls - priced.calls - uncounted)).toBeLessThanOrEqual(2);
  const path = join(cwd, 'mirror', 'mirror.db');
  const bytes = () => [path, join(cwd, 'state', 'inbox.db')].map((file) => hash('sha256', readFileSync(file)));
  const before = bytes();
  expect(JSON.parse((await run('--dry-run', '--json')).stdout)).toMatchObject({ estimated_from: null });
  expect(bytes()).toEqual(before);
  // Records of a further language and of more dates are priced before a start creates them, of all products and of one.
  write(['en', 'de'], 200);
  const [product] = sandbox.world.visible();
  const prices = () =>
    Promise.all([[], ['--product', `${product?.id}`]].map((of) => run('--dry-run', '--json', ...of)));
  const expected = await prices();
  expect((await run('--wait')).code).toBe(0);
  expect(await prices()).toEqual(expected);
  putFiles('1.0.0', path);
  const older = bytes();
  expect(await run('--dry-run')).toMatchObject({
    code: 65,
    stderr: `Error: ${path} was written by an older version\nTry: start the daemon once: it brings the file up to date\n`,
  });
  expect(bytes()).toEqual(older);
});

it('--wait waits for a lock of another program, alone and through the daemon, and prints one JSON document', async () => {
  const waits = async (by: 'itself' | 'the daemon') => {
    using directory = temporaryDirectory();
    const { path: cwd } = directory;
    await using sandbox = await startSandbox({ products: 3 });
    const config = writeTestConfig(cwd, sandbox.url);
    const start = (...args: string[]) => startCli(['--config', config, ...args], { cwd });
    expect((await runHere(['--config', config, 'resync', '--all', '--wait'])).code).toBe(0);
    const daemon = by === 'itself' ? null : start('run');
    await daemon?.said('daemon started');
    const lock = new Database(join(cwd, 'mirror', 'mirror.db'));
    lock.exec('BEGIN IMMEDIATE');
    const resync = start('resync', '--all', '--wait', '--json');
    await resync.said('waiting for it');
    lock.close();
    const { code, stdout } = await resync.ended;
    expect(code).toBe(0);
    const printed = JSON.parse(stdout) as Record<string, unknown>;
    expect(printed).toMatchObject({ records: expect.any(Number), failed: 0, seconds: expect.any(Number) });
    expect(Object.keys(printed)).toEqual(outputs['resync --wait']);
    if (daemon !== null) {
      daemon.child.kill('SIGTERM');
      await daemon.ended;
    }
  };
  await Promise.all([waits('itself'), waits('the daemon')]);
});

it('--wait ends with 69 beside a daemon whose key the service refuses', async () => {
  using directory = temporaryDirectory();
  const { path: cwd } = directory;
  await using sandbox = await startSandbox({ products: 3, key: 'right' });
  const more = { service: { profile: {} } };
  const config = writeTestConfig(cwd, sandbox.url, more);
  const wrong = { api_key: createSecret('wrong') };
  await using _daemon = await startDaemon(testMachine(), testConfig(cwd, sandbox.url, more, wrong));
  const args = ['--config', config, 'resync', '--all', '--wait'];
  expect(await runHere(args, { env: { CATALOGUED_API_KEY: 'wrong' } })).toMatchObject({
    code: 69,
    stderr: expect.stringContaining('refuses the key'),
  });
});

it('asked for again while it runs, a resync reads everything again, and the first one ends with what it has read', async () => {
  using directory = temporaryDirectory();
  const { path: cwd } = directory;
  await using sandbox = await startSandbox({ products: 6 });
  const config = writeTestConfig(cwd, sandbox.url);
  const run = (...args: string[]) => runHere(['--config', config, 'resync', ...args]);
  expect((await run('--all', '--wait')).code).toBe(0);
  const daemon = startCli(['--config', config, 'run'], { cwd });
  await daemon.said('daemon started');
  sandbox.calls.reset();
  sandbox.faults.add({ kind: 'delay', ms: 2000, path: '/product-variants', after: 5 });
  expect((await run('--variants')).stdout).toMatch(/^Job 2 started: 6 calls/);
  // Five are answered, and the sixth is under way.
  await sandbox.calls.reached(6);
  sandbox.faults.clear();
  const second = await run('--variants', '--wait');
  expect(second.stdout).toMatch(/^Job 3 started: 6 calls[\s\S]*All 6 records refreshed\.\n$/);
  expect(sandbox.calls.counts().calls).toBeGreaterThanOrEqual(12);
  daemon.child.kill('SIGTERM');
  await daemon.ended;
});
