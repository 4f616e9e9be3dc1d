import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { needs } from '../fakes/needs.ts';
import { runHere } from '../fakes/run-here.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

it(
  'beside a daemon that says nothing, status tells what the file says, and other commands that it does not answer',
  needs('time'),
  async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 4 });
    const config = join(directory.path, 'catalogued.yaml');
    writeFileSync(config, testConfigText(directory.path, sandbox.url));
    const run = (...args: string[]) => runHere(['--config', config, ...args], { cwd: directory.path });
    expect(await run('resync', '--all', '--wait')).toMatchObject({ code: 0 });
    mkdirSync(join(directory.path, 'state'), { recursive: true });
    const hung = createServer(() => undefined);
    await once(hung.listen(join(directory.path, 'state', 'admin.sock')), 'listening');
    try {
      const status = await run('status');
      expect(status).toMatchObject({ code: 1, stderr: '' });
      expect(status.stdout).toMatch(/^Products +4 visible/m);
      expect(status.stdout).toMatch(/^Daemon +running, but not answering/m);
      expect(JSON.parse((await run('status', '--json')).stdout)).toMatchObject({ daemon: null, daemon_answers: false });
      const plan = await run('held', 'approve', 'less');
      expect(plan).toMatchObject({
        code: 75,
        stderr: expect.stringMatching(/^Error: the daemon at .* does not answer/),
      });
    } finally {
      hung.close();
    }
  },
);
