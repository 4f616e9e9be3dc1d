import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runHere } from '../fakes/run-here.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** Returns what the doctor prints of an installation that has never been started. */
async function examined(directory: string, more: Record<string, unknown>, env: Record<string, string> = {}) {
  const config = writeTestConfig(directory, 'https://api.example.com', more);
  const { code, stdout } = await runHere(['--config', config, 'doctor'], { env });
  return { code, wrong: stdout.split('\n').filter((line) => line.startsWith('✗')), stdout };
}

it('doctor prints a line for each problem of the configuration', async () => {
  using directory = temporaryDirectory();
  const more = { retention: { changes: 'soon', deliveries: 'never' }, log: { level: 'loud' } };
  const { code, wrong } = await examined(directory.path, more);
  expect(code).toBe(1);
  expect(wrong).toEqual([
    expect.stringContaining('retention.changes'),
    expect.stringContaining('retention.deliveries'),
    expect.stringContaining('log.level'),
  ]);
});

it('doctor names a callback address that the service cannot reach', async () => {
  using directory = temporaryDirectory();
  const env = { CATALOGUED_RECEIVER_SECRET: 'm'.repeat(32) };
  const at = (host: string) =>
    examined(directory.path, { receiver: { public_url: `https://${host}/hooks/here` } }, env);
  expect((await at('10.0.0.5')).wrong).toContainEqual(
    expect.stringMatching(/^✗ +public address +https:\/\/10\.0\.0\.5\/hooks\/here/),
  );
  const reachable = (await at('hooks.example.com')).wrong;
  expect(reachable.filter((line) => line.includes('public address'))).toEqual([]);
});

it('doctor says how a mirror directory becomes readable for storefronts of another user', async () => {
  using directory = temporaryDirectory();
  const mirror = join(directory.path, 'mirror');
  mkdirSync(mirror);
  chmodSync(mirror, 0o755);
  expect((await examined(directory.path, {})).stdout).toContain(`chmod 3770 ${mirror}`);
  chmodSync(mirror, 0o3770);
  expect((await examined(directory.path, {})).stdout).not.toContain('chmod 3770');
});
