import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { canary } from '../fakes/canary.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** Returns what the doctor prints of an installation that has never been started. */
async function examined(directory: string, more: Record<string, unknown>, env: Record<string, string> = {}) {
  const config = join(directory, 'catalogued.yaml');
  writeFileSync(config, testConfigText(directory, 'https://api.example.com', more), { mode: 0o600 });
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

describe('before the first start the doctor asks the service, and makes no file', () => {
  async function asked(more: Record<string, unknown>, change: (sandbox: Sandbox) => void = () => undefined) {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 3, key: canary.key });
    change(sandbox);
    const config = join(directory.path, 'catalogued.yaml');
    writeFileSync(config, testConfigText(directory.path, sandbox.url, more), { mode: 0o600 });
    const env = { CATALOGUED_API_KEY: canary.key };
    const { code, stdout } = await runHere(['--config', config, 'doctor'], { env });
    expect(readdirSync(directory.path)).toEqual(['catalogued.yaml']);
    return { code, stdout };
  }
  const own = { service: {} };

  it('and finds that address, key and clock are right, and that a product can be read', async () => {
    const { stdout } = await asked(own);
    expect(stdout).toMatch(/^✓ +service +it answers, and accepts the key$/m);
    expect(stdout).toMatch(/^✓ +clock /m);
    expect(stdout).toMatch(/^✓ +one product +\d+ \(en, EUR\) can be read$/m);
  });

  it('and names a key that is refused', async () => {
    const { code, stdout } = await asked({ service: { profile: { authorization: { scheme: 'Bearer' } } } });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ +service +it refuses \(401\)/m);
  });

  it('and a clock that is wrong', async () => {
    const { stdout } = await asked(own, (sandbox) => sandbox.setQuirks({ clock_skew_ms: 600_000 }));
    expect(stdout).toMatch(/^✗ +clock +\d+\.\d s behind the service$/m);
  });

  it('and a product that cannot be read', async () => {
    const { stdout } = await asked(own, (sandbox) =>
      sandbox.faults.add({ kind: 'garbage', path: '/v2/products/\\d+' }),
    );
    expect(stdout).toMatch(/^✗ +one product +\d+ \(en, EUR\) cannot be read/m);
  });
});
