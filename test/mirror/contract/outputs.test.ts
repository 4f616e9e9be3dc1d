import { expect, it } from 'vitest';
import { main } from '../../../src/commands/main.ts';
import { capturedIo } from '../../fakes/captured-io.ts';
import { startJobs } from '../../fakes/daemon-jobs.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { testConfig, writeTestConfig } from '../../fakes/test-config.ts';
import { testMachine } from '../../fakes/test-machine.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { outputs } from './outputs.ts';

/** They need a daemon, a subscription, a delivery or a backup. */
const elsewhere = ['check', 'jobs', 'jobs run', 'notifications show', 'probe', 'reload', 'restore', 'subscription apply', 'subscription show']; // biome-ignore format: a list

it('what commands print with --json has the fields of the contract, and no others', async () => {
  using place = temporaryDirectory();
  await using sandbox = await startSandbox({ products: 4 });
  const config = writeTestConfig(place.path, sandbox.url);
  {
    await using jobs = await startJobs(testMachine(), testConfig(place.path, sandbox.url));
    await jobs.run('pass');
  }
  const id = String(sandbox.world.visible()[0]?.id);
  const fieldsOf = async (...args: string[]) => {
    const io = capturedIo();
    await main(['--config', config, ...args, '--json'], io);
    const [line = ''] = args[0] === 'changes' ? io.out().split('\n') : [io.out()];
    return Object.keys(JSON.parse(line) as object).sort();
  };
  const commands: Readonly<Record<string, readonly string[]>> = {
    status: ['status'],
    explain: ['explain', id],
    'explain --date': ['explain', id, '--date', '2026-12-05'],
    plan: ['plan'],
    'plan --declaration': ['plan', '--declaration'],
    'report --week': ['report', '--week'],
    'resync --dry-run': ['resync', '--all', '--dry-run'],
    'resync --wait': ['resync', '--product', id, '--checkout', '--wait'],
    'held list': ['held', 'list'],
    'images audit': ['images', 'audit'],
    'notifications list': ['notifications', 'list'],
    'subscription list': ['subscription', 'list'],
    changes: ['changes'],
    doctor: ['doctor'],
    'doctor --reader': ['doctor', '--reader'],
    repair: ['repair', '--dry-run'],
    backup: ['backup'],
    'backup --list': ['backup', '--list'],
    'upgrade --check': ['upgrade', '--check'],
  };
  const printed: Record<string, string[]> = {};
  for (const [name, args] of Object.entries(commands)) printed[name] = await fieldsOf(...args);
  const whole = Object.keys(outputs).filter((name) => !name.includes(': '));
  expect(whole.filter((name) => !(name in commands)).sort()).toEqual(elsewhere);
  const promised = Object.keys(commands).map((name) => [name, [...(outputs[name] ?? [])].sort()]);
  expect(printed).toEqual(Object.fromEntries(promised));
});
