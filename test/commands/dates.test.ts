import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig, testConfigText } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

function post(socketPath: string, path: string, body: object): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = { 'content-type': 'application/json' };
  const call = request({ socketPath, path, method: 'POST', headers }, async (response) => {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    resolve({ status: response.statusCode ?? 0, text });
  });
  call.on('error', reject).end(JSON.stringify(body));
  return promise;
}

it('a date that is past or beyond the horizon is refused with the limit by every command, beside a daemon and without', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 3 });
  const config = join(directory.path, 'catalogued.yaml');
  writeFileSync(config, testConfigText(directory.path, sandbox.url));
  const run = (...args: string[]) => runHere(['--config', config, ...args]);
  expect(await run('resync', '--all', '--wait')).toMatchObject({ code: 0 });
  const id = String(sandbox.world.visible()[0]?.id);
  const calls = sandbox.calls.counts().calls;
  const refuseAll = async () => {
    for (const args of [
      ['resync', '--availability', '--from', '2020-01-01', '--to', '2020-02-01'],
      ['resync', '--availability', '--from', '2099-01-01'],
      ['check', id, '--date', '2020-01-01'],
      ['check', id, '--date', '2099-01-01'],
      ['explain', id, '--date', '2099-01-01'],
      ['order', 'confirmed', id, '--date', '2020-01-01'],
    ])
      expect(await run(...args), args.join(' ')).toMatchObject({
        code: 64,
        stderr: expect.stringMatching(/^Error: .*\d{4}-\d\d-\d\d.*\nTry: .*\d{4}-\d\d-\d\d/),
      });
  };
  await refuseAll();
  expect(sandbox.calls.counts().calls).toBe(calls);
  await using _daemon = await startDaemon(testMachine(), testConfig(directory.path, sandbox.url));
  await refuseAll();
  const socket = join(directory.path, 'state', 'admin.sock');
  for (const dates of [{ from: '9999-99-99' }, { from: '2099-01-01' }, { from: '2020-01-01', to: '2020-01-02' }])
    expect(await post(socket, '/v1/resync', { resources: ['availability'], ...dates }), dates.from).toMatchObject({
      status: 400,
    });
});
