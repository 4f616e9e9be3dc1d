import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openMirroring } from '../../src/daemon/mirroring.ts';
import { lastStopPath } from '../../src/files/pair.ts';
import { repairFiles } from '../../src/files/repair.ts';
import { watchFiles } from '../../src/files/watch.ts';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import { putDelivery } from '../fakes/planted.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const signal = new AbortController().signal;
const delivery = {
  received_at: instant(1),
  subscription_id: 'norland',
  epoch: 1,
  peer: '192.0.2.1',
  content_type: null,
  length: 2,
  truncated: false,
  body: Buffer.from('{}'),
};

function damage(path: string): void {
  const file = openSync(path, 'r+');
  const bytes = Buffer.alloc(statSync(path).size - 8192, 0xff);
  writeSync(file, bytes, 0, bytes.length, 8192);
  closeSync(file);
}

it('a file too large for the start is checked beside the daemon: a finding, and the next start refuses it, also after a kill', async () => {
  using directory = temporaryDirectory();
  const loaded = testConfig(directory.path, 'http://127.0.0.1:1');
  const { config } = loaded;
  const { log } = testLog('silent');
  await (await openMirroring(testMachine({ log }), loaded))[Symbol.asyncDispose]();
  // As a start finds it that has no time to look.
  const files = watchFiles(config.mirror, { clock: systemClock, log, unchecked: [config.mirror.path] });
  await files.checkSkipped(signal);
  expect(files.trouble()).toBeNull();
  damage(config.mirror.path);
  const again = watchFiles(config.mirror, { clock: systemClock, log, unchecked: [config.mirror.path] });
  await again.checkSkipped(signal);
  expect(again.findings()).toMatchObject([
    { name: 'mirror', damaged_since: expect.any(Number) },
    { damaged_since: null },
  ]);
  expect(again.isWell('mirror')).toBe(false);
  expect(again.isWell('inbox')).toBe(true);
  expect(again.trouble()).toMatchObject({ exitCode: 65, code: 'damaged' });
  await expect(openMirroring(testMachine({ log }), loaded)).rejects.toThrow(
    expect.objectContaining({ code: 'damaged', exitCode: 65 }),
  );
  // What was refused gives its locks back after this turn.
  await setImmediate();
  repairFiles(config, { now: instant(0), dry: false });
  await (await openMirroring(testMachine({ log }), loaded))[Symbol.asyncDispose]();
});

it('damage is that of the file whose page it was, whatever work has met it', async () => {
  using directory = temporaryDirectory();
  const loaded = testConfig(directory.path, 'http://127.0.0.1:1');
  const machine = testMachine({ log: testLog('silent').log });
  await (await openMirroring(machine, loaded))[Symbol.asyncDispose]();
  await using mirroring = await openMirroring(machine, loaded);
  const { files, mirror } = mirroring;
  damage(loaded.config.mirror.path);
  try {
    mirror.changes.ofDate(1, '2026-12-01');
  } catch (error) {
    files.noteDamage('inbox', error);
  }
  expect([files.isWell('mirror'), files.isWell('inbox')]).toEqual([false, true]);
});

it('a start knows when the files were last gone through where the last process ended in order, and only then', async () => {
  using directory = temporaryDirectory();
  const loaded = testConfig(directory.path, 'http://127.0.0.1:1');
  const { log } = testLog('silent');
  {
    await using mirroring = await openMirroring(testMachine({ log }), loaded);
    expect(mirroring.files.checkedAt()).toBeNull();
    await mirroring.files.checkAll(signal);
    expect(mirroring.files.checkedAt()).not.toBeNull();
  }
  let checked_at = 0;
  {
    await using mirroring = await openMirroring(testMachine({ log }), loaded);
    checked_at = mirroring.files.checkedAt() ?? 0;
    expect(checked_at).toBeGreaterThan(0);
  }
  const stop = lastStopPath(loaded.config.mirror);
  const left = readFileSync(stop);
  {
    await using mirroring = await openMirroring(testMachine({ log }), loaded);
    expect(mirroring.files.checkedAt()).toBe(checked_at);
    expect(existsSync(stop)).toBe(false);
    putDelivery(mirroring, 41);
  }
  // Somebody else has written the mirror since.
  writeFileSync(stop, left);
  await using mirroring = await openMirroring(testMachine({ log }), loaded);
  expect(mirroring.files.checkedAt()).toBeNull();
});

it('a file that cannot be checked is told of until it can be, and counts as not checked', async () => {
  using directory = temporaryDirectory();
  const loaded = testConfig(directory.path, 'http://127.0.0.1:1');
  const { config } = loaded;
  const { log } = testLog('silent');
  await (await openMirroring(testMachine({ log }), loaded))[Symbol.asyncDispose]();
  const files = watchFiles(config.mirror, { clock: systemClock, log, unchecked: [] });
  const { inbox_path } = config.mirror;
  renameSync(inbox_path, `${inbox_path}.aside`);
  await files.checkAll(signal);
  expect(files.notChecked()).toContain(`${inbox_path} could not be checked`);
  expect(files.checkedAt()).toBeNull();
  renameSync(`${inbox_path}.aside`, inbox_path);
  await files.checkAll(signal);
  expect(files.notChecked()).toBeNull();
  expect(files.checkedAt()).not.toBeNull();
});

it('a delivery is not acknowledged once the inbox has lost its name, and is again when that is back', async () => {
  using directory = temporaryDirectory();
  const loaded = testConfig(directory.path, 'http://127.0.0.1:1');
  await using mirroring = await openMirroring(testMachine(), loaded);
  const { deliveries } = mirroring.inbox;
  const { inbox_path } = loaded.config.mirror;
  deliveries.store([delivery]);
  renameSync(inbox_path, `${inbox_path}.aside`);
  expect(() => deliveries.store([delivery])).toThrow(expect.objectContaining({ code: 'file-lost' }));
  expect(() => deliveries.heartbeat(instant(2))).toThrow(expect.objectContaining({ code: 'file-lost' }));
  mirroring.files.look();
  expect(mirroring.files.findings()).toMatchObject([
    { lost_since: null },
    { name: 'inbox', lost_since: expect.any(Number) },
  ]);
  renameSync(`${inbox_path}.aside`, inbox_path);
  deliveries.store([delivery]);
  mirroring.files.look();
  expect(mirroring.files.trouble()).toBeNull();
});

it('a second state directory cannot be paired with a mirror that is in use', async () => {
  using directory = temporaryDirectory();
  using other = temporaryDirectory();
  const { log } = testLog('silent');
  const loaded = testConfig(directory.path, 'http://127.0.0.1:1');
  await using _ = await openMirroring(testMachine({ log }), loaded);
  const { mirror } = testConfig(other.path, 'http://127.0.0.1:1').config;
  const stranger = { ...loaded.config, mirror: { ...mirror, path: loaded.config.mirror.path } };
  expect(() => repairFiles(stranger, { now: instant(0), dry: false })).toThrow(
    expect.objectContaining({ exitCode: 75 }),
  );
});

it('what a repaired inbox has missed is read again, and deliveries are numbered above those that the mirror has applied', async () => {
  using directory = temporaryDirectory();
  const loaded = testConfig(directory.path, 'http://127.0.0.1:1');
  const { log } = testLog('silent');
  {
    await using mirroring = await openMirroring(testMachine({ log }), loaded);
    putDelivery(mirroring, 41);
  }
  rmSync(loaded.config.mirror.inbox_path);
  const now = instant(systemClock.now());
  repairFiles(loaded.config, { now, dry: false });
  await using mirroring = await openMirroring(testMachine({ log }), loaded);
  expect(mirroring.inbox.deliveries.last_heartbeat).toBe(now - 86_400_000);
  mirroring.inbox.deliveries.store([delivery]);
  expect(mirroring.inbox.deliveries.after(0, 9)).toMatchObject([{ delivery_id: 42 }]);
});
