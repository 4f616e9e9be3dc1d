import { statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../../src/admin/client.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText, writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

function get(socketPath: string, path: string): Promise<{ status: number; body: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
  request({ socketPath, path }, async (response) => {
    const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>);
    resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) });
  })
    .on('error', reject)
    .end();
  return promise;
}

// They mostly wait: for a service, for a daemon that ends.
describe.concurrent('a running daemon', () => {
  it('fills, answers, does what it is asked, and ends with 0', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 12, key: 'the-key' });
    const config = writeTestConfig(directory.path, sandbox.url, { service: { base_url: sandbox.url } });
    const options = { cwd: directory.path, env: { CATALOGUED_API_KEY: 'the-key' } };
    const daemon = startCli(['--config', config, 'run'], options);
    await daemon.said('pass ended');
    const socket = join(directory.path, 'state', 'admin.sock');
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory.path, 'state')).mode & 0o777).toBe(0o700);
    expect(await get(socket, '/healthz')).toEqual({ status: 200, body: { alive: true } });
    expect(await get(socket, '/readyz')).toEqual({ status: 200, body: { ready: true } });

    const calls = sandbox.calls.counts().calls;
    const [first] = sandbox.world.visible();
    const today = new Date().toISOString().slice(0, 10);
    const one = ['resync', '--product', String(first?.id), '--availability', '--from', today, '--wait'];
    expect(await runHere(['--config', config, ...one], options)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('All 3 records refreshed'),
    });
    expect(sandbox.calls.counts().calls - calls).toBe(3);
    const dry = await runHere(['--config', config, 'resync', '--all', '--dry-run', '--json'], options);
    expect(JSON.parse(dry.stdout)).toMatchObject({ calls: 75, records: { availability: 36, product_detail: 12 } });
    expect(sandbox.calls.counts().calls - calls).toBe(3);
    const unknown = await runHere(['--config', config, 'resync', '--product', '1', '--checkout'], options);
    expect(unknown).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/^Error: not in the mirror, and unknown to the service: product 1\nTry: /),
    });

    const status = await runHere(['--config', config, 'status', '--json'], options);
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toMatchObject({ products: { visible: 12 }, daemon: { key_refused: null } });
    daemon.child.kill('SIGTERM');
    const { code, stdout, stderr } = await daemon.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('the-key');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { msg: string }).msg),
    ).toEqual(expect.arrayContaining(['daemon started', 'pass ended', 'resync requested', 'daemon stopping']));
  });

  it('whose service is away stays alive, says so, and fills when it is back', async () => {
    using directory = temporaryDirectory();
    const gone = await startSandbox({ products: 6 });
    const { port } = new URL(gone.url);
    await gone[Symbol.asyncDispose]();
    const config = writeTestConfig(directory.path, gone.url);
    const daemon = startCli(['--config', config, 'run'], { cwd: directory.path });
    await daemon.said('daemon started');
    expect((await get(join(directory.path, 'state', 'admin.sock'), '/readyz')).status).toBe(503);
    const status = await runHere(['--config', config, 'status'], { cwd: directory.path });
    expect(status).toMatchObject({ code: 1, stdout: expect.stringContaining('not yet') });
    await daemon.said(/"condition":"service-unreachable".*"hint":"Check the network.*"msg":"condition began"/);
    await using _ = await startSandbox({ products: 6, port: Number(port) });
    await daemon.said('pass ended');
    await daemon.said(/"condition":"service-unreachable".*"msg":"condition ended"/);
    daemon.child.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
  });
});

it('the daemon outlives whoever reads its log', async () => {
  using directory = temporaryDirectory();
  const { path: cwd } = directory;
  await using sandbox = await startSandbox({ products: 2 });
  writeFileSync(join(cwd, 'catalogued.yaml'), testConfigText(cwd, sandbox.url));
  const daemon = startCli(['--config', join(cwd, 'catalogued.yaml'), 'run'], { cwd });
  await daemon.said('daemon started');
  daemon.child.stdout?.destroy();
  const client = adminClient(`unix:${join(cwd, 'state', 'admin.sock')}`, null);
  // Each writes a line that nobody reads.
  for (let time = 0; time < 3; time += 1)
    expect(await client.call({ operation: 'POST /v1/resync', body: { resources: ['products'] } })).not.toBeNull();
  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0 });
});
