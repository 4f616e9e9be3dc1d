import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { notifyProgram } from '../fakes/notify-program.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

it('SIGHUP and catalogued reload have the daemon read its configuration again, or keep what it has', async () => {
  using directory = temporaryDirectory();
  const { path: cwd } = directory;
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 2 });
  const config = join(cwd, 'catalogued.yaml');
  const says = (more: Record<string, unknown>) => writeFileSync(config, testConfigText(cwd, sandbox.url, more));
  says({});
  const systemd = notifyProgram(cwd);
  const daemon = startCli(['--config', config, 'run'], { cwd, env: systemd.env });
  await daemon.said('daemon started');
  await systemd.was(/^STATUS=(filling|true): /);
  const reload = () => runHere(['--config', config, 'reload'], { cwd });
  expect(await reload()).toEqual({ code: 0, stdout: 'Nothing has changed.\n', stderr: '' });

  says({ cadence: { images: '3d' } });
  daemon.child.kill('SIGHUP');
  await daemon.said(/"changed":\["cadence\.images"\].*configuration reloaded/);
  says({ cadence: { images: '4d' }, log: { level: 'warn' } });
  expect(await reload()).toEqual({ code: 0, stdout: 'Reloaded: cadence.images, log.level.\n', stderr: '' });

  says({ cadence: { images: '20d' } });
  expect(await reload()).toMatchObject({ code: 78, stderr: expect.stringMatching(/^Error: .*\n {2}line.*hard limit/) });
  daemon.child.kill('SIGHUP');
  await daemon.said(/"level":"error".*hard limit.*configuration not reloaded: the old one stays/);
  says({
    mirror: { path: join(cwd, 'other.db'), state_dir: join(cwd, 'state') },
  });
  expect(await reload()).toMatchObject({
    code: 78,
    stderr: expect.stringMatching(
      /mirror\.path has changed\nTry: systemctl restart .*goes on with the configuration it had\n$/,
    ),
  });

  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0, stderr: '' });
  for (const word of ['READY=1', 'RELOADING=1', 'STOPPING=1']) await systemd.was(word);
  says({});
  expect(await reload()).toMatchObject({ code: 75, stderr: expect.stringContaining('no daemon answers at') });
});

it.each([
  ['demo', ['demo', '--products', '5'], 'The mirror is filled'],
  ['sandbox', ['sandbox', '--products', '5', '--port', '0'], 'http://127.0.0.1'],
])('SIGHUP ends %s in order, also twice: its terminal was closed', async (_, args, ready) => {
  using directory = temporaryDirectory();
  const running = startCli(args, { cwd: directory.path });
  await running.said(ready);
  running.child.kill('SIGHUP');
  running.child.kill('SIGHUP');
  expect(await running.ended).toMatchObject({ code: 0 });
});
