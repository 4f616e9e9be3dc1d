import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { adminClient } from '../../src/admin/client.ts';
import { systemClock } from '../../src/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { startCli } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

it('SIGHUP is ignored by the daemon, which says so, from its first line on', async () => {
  using directory = temporaryDirectory();
  const { path: cwd } = directory;
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 2 });
  writeFileSync(join(cwd, 'catalogued.yaml'), testConfigText(cwd, sandbox.url));
  const daemon = startCli(['--config', join(cwd, 'catalogued.yaml'), 'run'], { cwd });
  await daemon.said('daemon started');
  daemon.child.kill('SIGHUP');
  await daemon.said(
    /"level":"warn".*"signal":"SIGHUP".*SIGHUP ignored: restart the daemon to reload the configuration/,
  );
  daemon.child.kill('SIGHUP');
  const client = adminClient(`unix:${join(cwd, 'state', 'admin.sock')}`, null);
  expect(await client.call({ operation: 'GET /v1/status' })).toMatchObject({ daemon: { key_refused: null } });
  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0, stderr: '' });
});

it.each([
  ['demo', ['demo', '--products', '5'], 'Stop with Ctrl-C.'],
  ['sandbox', ['sandbox', '--products', '5', '--port', '0'], 'http://127.0.0.1'],
])('SIGHUP ends %s in order, also twice: its terminal was closed', async (_, args, ready) => {
  using directory = temporaryDirectory();
  const running = startCli(args, { cwd: directory.path });
  await running.said(ready);
  running.child.kill('SIGHUP');
  running.child.kill('SIGHUP');
  expect(await running.ended).toMatchObject({ code: 0 });
});
