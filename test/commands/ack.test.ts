import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { instant, systemClock } from '../../src/clock.ts';
import { loadConfig } from '../../src/config/load.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { dropMember, noteMember } from '../fakes/noted-member.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

it('an acknowledged warning leaves status at 0 until it ends, also across a restart; when it comes again it is news', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 3 });
  const file = join(directory.path, 'catalogued.yaml');
  writeFileSync(file, testConfigText(directory.path, sandbox.url));
  const start = () => startDaemon(testMachine(), loadConfig({ file, env: { CATALOGUED_API_KEY: 'k' } }));
  const run = (...args: string[]) => runHere(['--config', file, ...args]);
  const ack = () => run('ack', 'images-refused', '--because', 'theirs, until Friday');
  const acknowledged = async () =>
    (JSON.parse((await run('status', '--json')).stdout) as { conditions: { acknowledged: string | null }[] })
      .conditions;
  {
    await using daemon = await start();
    await untilFilled(daemon);
    expect((await run('status')).code).toBe(0);
    expect(await ack()).toMatchObject({ code: 64, stderr: expect.stringContaining('is not shown now; none is shown') });
    noteMember(daemon.mirror, instant(Date.now()));
    expect((await run('status')).code).toBe(1);
    expect(await ack()).toMatchObject({ code: 0, stdout: 'images-refused is acknowledged until it ends.\n' });
    const { code, stdout } = await run('status');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Images .*Acknowledged: theirs, until Friday\.$/m)]);
  }
  await using daemon = await start();
  expect(await acknowledged()).toMatchObject([{ acknowledged: 'theirs, until Friday' }]);
  // What only an earlier process has seen is not judged in the first minutes.
  await daemon.schedule.run('conditions');
  dropMember(daemon.mirror, instant(Date.now()));
  await daemon.schedule.run('conditions');
  noteMember(daemon.mirror, instant(Date.now()));
  expect(await acknowledged()).toMatchObject([{ acknowledged: null }]);
  expect(daemon.inbox.conditions.flips(instant(0))).toMatchObject([
    { code: 'images-refused', ended_at: expect.any(Number) },
  ]);

  // A promised age has periods of its own, which nobody can acknowledge away.
  const db = new Database(daemon.config.mirror.path);
  db.exec("UPDATE _record SET stale_at = 1 WHERE resource = 'variants'");
  db.close();
  await daemon.schedule.run('conditions');
  const broken = daemon.inbox.conditions.open().map(({ code }) => code);
  expect(broken).toEqual(expect.arrayContaining(['freshness-missed', 'freshness:variants']));
  expect(await run('ack', 'freshness:variants', '--because', 'why not')).toMatchObject({ code: 64 });
});
