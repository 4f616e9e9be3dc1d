import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canary, canaryMark } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { rsaPem } from '../fakes/signing-keys.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** Every file below a directory, as bytes read as Latin-1: what is searched for is ASCII. */
function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}

describe('a daemon that receives', () => {
  it('prints and stores no secret and no address, whatever goes wrong', needs('time'), async () => {
    using directory = temporaryDirectory();
    const pem = rsaPem('pkcs8');
    await using sandbox = await startSandbox({
      products: 12,
      lean: true,
      key: canary.key,
      hold_ms: 0,
    });
    const port = await freePort();
    const config = join(directory.path, 'catalogued.yaml');
    const text = testConfigText(directory.path, sandbox.url, {
      service: { base_url: sandbox.url },
      log: { level: 'trace' },
      receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
      storefront: { listen: `127.0.0.1:${await freePort()}` },
      subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
      signing: { body: 'json' },
    });
    writeFileSync(config, text);
    const env = {
      CATALOGUED_API_KEY: canary.key,
      CATALOGUED_RECEIVER_SECRET: canary.master,
      CATALOGUED_ADMIN_TOKEN: canary.admin,
      CATALOGUED_STOREFRONT_TOKEN: canary.storefront,
      CATALOGUED_SIGNING_KEY: pem,
    };
    const options = { cwd: directory.path, env };
    const daemon = startCli(['--config', config, 'run'], options);
    await daemon.said('pass ended');
    const printed: string[] = [];
    const run = async (...args: string[]) => {
      const { stdout, stderr, code } = await runCli(['--config', config, ...args], options);
      printed.push(stdout, stderr);
      return code;
    };
    expect(await run('subscription', 'apply')).toBe(0);
    const [subscription] = sandbox.subscriptions();
    const address = subscription?.callback_url ?? '';
    const token = address.split('/').at(-1) ?? '';
    expect(token).toHaveLength(43);
    // Deliveries and refusals of every kind, and a rotation that makes an address an old one.
    const [id = 0] = sandbox.world.visible().map((product) => product.id);
    const good = JSON.stringify({
      subscription_id: 'all',
      products: [{ product_id: id, changes: [{ change_type: 'x' }] }],
    });
    for (const [url, init] of [
      [address, { method: 'POST', body: good }],
      [address, { method: 'POST', body: `{"secret":"${token}` }],
      [address, { method: 'GET' }],
      [`${address}x`, { method: 'POST', body: '{}' }],
      [address.replace('hooks', 'hook'), { method: 'POST', body: '{}' }],
    ] as const)
      await fetch(url, init);
    await daemon.said('deliveries applied');
    expect(await run('subscription', 'rotate', 'all')).toBe(0);
    await fetch(address, { method: 'POST', body: good });
    for (const args of [['subscription', 'list'], ['subscription', 'show'], ['status'], ['doctor'], ['notifications', 'list'], ['config', 'show'], ['subscription', 'list', '--json'], ['doctor', '--json'], ['status', '--json'], ['explain', String(id)]])
      await run(...args); // biome-ignore format: a list
    const newest = sandbox.subscriptions()[0]?.callback_url.split('/').at(-1) ?? '';
    expect(newest).not.toBe(token);
    daemon.child.kill('SIGTERM');
    const { code, stdout, stderr } = await daemon.ended;
    expect(code).toBe(0);
    const output = [stdout, stderr, ...printed].join('\n');
    const stored = filesBelow(directory.path).join('\n');
    const keyLine = pem.split('\n')[2] ?? '';
    const found = [canaryMark, token, newest, keyLine].flatMap((secret, index) => [
      ...(output.includes(secret) ? [`secret ${index} is printed`] : []),
      // The body of a delivery that repeats its own address is stored as it came; nothing else has it.
      ...(stored.replaceAll(`{"secret":"${token}`, '').includes(secret) ? [`secret ${index} is stored`] : []),
    ]);
    expect(found).toEqual([]);
    // The control: what was searched is what was written.
    expect(stored).toContain('{"secret":"');
    expect(output).toContain('deliveries applied');
  });
});
