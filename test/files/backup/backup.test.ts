import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/load.ts';
import { lastDrill, tryBackup } from '../../../src/files/backup/drill.ts';
import type { BackupWork } from '../../../src/files/backup/in-child.ts';
import { backupStatus, removeOld } from '../../../src/files/backup/keep.ts';
import { type BackupOrder, makeBackup } from '../../../src/files/backup/make.ts';
import { readManifest } from '../../../src/files/backup/manifest.ts';
import { restoreBackup } from '../../../src/files/backup/restore.ts';
import { backupsIn, inboxCopy } from '../../../src/files/backups.ts';
import { notFailing } from '../../../src/files/failing.rules.ts';
import { notifiedHarness } from '../../fakes/notified-harness.ts';
import { openReader } from '../../fakes/reader.ts';
import { runHere } from '../../fakes/run-here.ts';
import { testConfigText } from '../../fakes/test-config.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { thorough } from '../../fakes/thorough.ts';
import { enlarge } from './hosts.ts';
import { place } from './places.ts';

const hour = 3_600_000;
const made_by = 'catalogued test';

function orderOf({ mirror, backup }: Config, now: number): BackupOrder {
  return { mirror: mirror.path, inbox: mirror.inbox_path, directory: backup.directory, why: 'asked', made_by, now };
}

describe('a backup that is restored', () => {
  it('over the mirror keeps the inbox: what was delivered since is applied again, and the mirror says what the service says', async () => {
    await using world = await notifiedHarness();
    const { harness } = world;
    const { config } = harness.daemon;
    const { backup } = makeBackup(orderOf(config, harness.clock.now()));
    const feed = feedOf(config.mirror.path);
    const cursor = harness.rows<{ newest: number }>('SELECT max(seq) AS newest FROM changes')[0]?.newest ?? 0;
    const [closed = 0, edited = 0] = world.ids();
    harness.sandbox.world.disable(closed, { reason: 'flooded' });
    harness.sandbox.world.edit(edited, { field: 'title', value: 'Renamed since the backup' });
    await world.live(hour);
    expect(world.product(closed)).toMatchObject({ sellable: 0 });
    await harness.restart({
      meanwhile: async () => {
        const done = restoreBackup(config, backup, { now: harness.clock.now(), dry: false });
        expect(done).toMatchObject({ backup, inbox: 'kept' });
        expect(done.moved.length).toBeGreaterThan(0);
      },
    });
    expect(harness.daemon.mirror.feed).toMatchObject({ feed: 'new' });
    // A reader with the old cursor is told to start again.
    using reader = openReader(config.mirror.path);
    expect(() => reader.changes(cursor, { feed })).toThrow(/feed/);
    await world.live(2 * hour);
    expect(world.product(closed)).toMatchObject({ sellable: 0 });
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [] });
  });

  it('on an empty host brings both files, and what subscriptions cover is read again', async () => {
    await using world = await notifiedHarness();
    const { harness } = world;
    const { config } = harness.daemon;
    const { backup } = makeBackup(orderOf(config, harness.clock.now()));
    const [edited = 0] = world.ids();
    harness.sandbox.world.edit(edited, { field: 'title', value: 'Said to the host that was lost' });
    await world.live(hour);
    await harness.restart({
      meanwhile: async () => {
        rmSync(join(config.mirror.path, '..'), { recursive: true });
        rmSync(config.mirror.state_dir, { recursive: true });
        const done = restoreBackup(config, backup, { now: harness.clock.now(), dry: false });
        expect(done).toMatchObject({ inbox: 'restored', moved: [] });
        const modes = [config.mirror.path, config.mirror.inbox_path].map((path) => statSync(path).mode & 0o777);
        expect(modes).toEqual([0o660, 0o600]);
      },
    });
    await world.live(12 * hour, 10 * 60_000);
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [] });
  });

  it('brings deliveries that were not applied yet with their bodies, and no other body', async () => {
    await using world = await notifiedHarness();
    const { harness } = world;
    const [one = 0, two = 0] = world.ids();
    harness.sandbox.world.edit(one, { field: 'title', value: 'Applied' });
    await world.live(hour);
    harness.sandbox.world.edit(two, { field: 'title', value: 'Waits' });
    const db = new Database(harness.daemon.config.mirror.inbox_path);
    const last = db.prepare<[], number>('SELECT max(delivery_id) FROM delivery').pluck().get() ?? 0;
    db.prepare(
      `INSERT INTO delivery (received_at, subscription_id, epoch, peer, length, truncated, sha256, body)
       SELECT received_at, subscription_id, epoch, peer, length, truncated, sha256, x'7b7d' FROM delivery WHERE delivery_id = ?`,
    ).run(last);
    db.close();
    const { backup } = makeBackup(orderOf(harness.daemon.config, harness.clock.now()));
    const copy = new Database(inboxCopy(backup), { readonly: true });
    const bodies = copy
      .prepare('SELECT delivery_id > ? AS waits, sum(length(body)) AS bytes FROM delivery GROUP BY 1')
      .all(last);
    copy.close();
    expect(readManifest(backup).applied_delivery).toBe(last);
    expect(bodies).toEqual([
      { waits: 0, bytes: 0 },
      { waits: 1, bytes: 2 },
    ]);
  });
});

/** Preloaded by a process, which then dies where it would give a backup its name. */
const killedAtItsName = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { renameSync } = fs;
  fs.renameSync = (from, to) => /\\.backup\\.\\d+\\.tmp$/.test(from) ? process.kill(process.pid, 'SIGKILL') : renameSync(from, to);
  syncBuiltinESMExports();
`;

describe('a backup', () => {
  it('is for this user alone, and is verified when it is tried: rows, bytes, and that a start could open it', () => {
    using test = place();
    const { backup } = makeBackup(test.order(Date.parse('2026-11-21T03:00:00Z')));
    expect(backup).toBe(join(test.backups, '2026-11-21T030000Z'));
    expect([statSync(test.backups).mode & 0o777, statSync(backup).mode & 0o777]).toEqual([0o700, 0o700]);
    expect(readdirSync(backup).map((name) => [name, statSync(join(backup, name)).mode & 0o777])).toEqual([
      ['manifest.json', 0o400],
      ['mirror.db', 0o400],
    ]);
    expect(tryBackup({ backup, now: 5 })).toEqual({ backup, at: 5, failure: null });
    expect(lastDrill(test.backups)).toEqual({ backup, at: 5, failure: null });
    expect(readdirSync(test.backups).sort()).toEqual(['2026-11-21T030000Z', 'drill.json']);
  });

  it('of a day on which the last one failed is a condition, and late after two nights', () => {
    using test = place();
    const night = Date.parse('2026-11-21T03:00:00Z');
    makeBackup(test.order(night));
    const config = { directory: test.backups, at: '0 3 * * *', zone: 'UTC', keep: 7 };
    const late = (now: number) => backupStatus(config, { filled_at: 0, failing: notFailing, now }).late;
    expect([late(night + 25 * hour), late(night + 47 * hour), late(night + 50 * hour)]).toEqual([0, 0, 1]);
    expect(
      backupStatus({ ...config, at: null }, { filled_at: 0, failing: notFailing, now: night + 900 * hour }).late,
    ).toBe(0);
  });

  it('beyond those that are kept goes, the oldest first', () => {
    using test = place();
    for (const day of [1, 2, 3]) makeBackup(test.order(day * 24 * hour));
    expect(removeOld(test.backups, { keep: 2, now: 4 * 24 * hour })).toBe(1);
    expect(backupsIn(test.backups).map((backup) => readManifest(backup).made_at)).toEqual([
      2 * 24 * hour,
      3 * 24 * hour,
    ]);
  });

  it('that a wrong clock has named is never the newest, and goes first', () => {
    using test = place();
    const now = Date.parse('2026-11-21T03:00:00Z');
    makeBackup(test.order(Date.parse('2038-01-19T03:00:00Z')));
    makeBackup(test.order(now - 24 * hour));
    const { backup } = makeBackup(test.order(now));
    const config = { directory: test.backups, at: '0 3 * * *', zone: 'UTC', keep: 2 };
    expect(backupStatus(config, { filled_at: 0, failing: notFailing, now })).toMatchObject({ newest: backup, late: 0 });
    expect(removeOld(test.backups, { keep: 2, now })).toBe(1);
    expect(backupsIn(test.backups).map((each) => readManifest(each).made_at)).toEqual([now - 24 * hour, now]);
    // By name alone it would be the newest for twelve years (control).
    const wrong = makeBackup(test.order(Date.parse('2038-01-19T03:00:00Z')));
    expect(backupsIn(test.backups).at(-1)).toBe(wrong.backup);
  });

  it('is whole or not there, however often the process that makes it is killed', async () => {
    using test = place();
    enlarge(test.path, 12);
    const { size } = statSync(test.path);
    const kills = thorough ? 12 : 4;
    const begun = (at: number, ...preloaded: string[]) => {
      const work: BackupWork = { make: test.order(at) };
      const script = fileURLToPath(new URL('../../../src/files/backup/child.ts', import.meta.url));
      const child = spawn(process.execPath, [...preloaded, script, JSON.stringify(work)], { stdio: 'ignore' });
      return { child, ended: once(child, 'close') };
    };
    for (let kill = 0; kill < kills; kill += 1) {
      const { child, ended } = begun(Date.now());
      const unfinished = join(test.backups, `.backup.${child.pid}.tmp`);
      const written = () =>
        (existsSync(unfinished) ? readdirSync(unfinished) : []).reduce(
          (sum, name) => sum + (statSync(join(unfinished, name), { throwIfNoEntry: false })?.size ?? 0),
          0,
        );
      while (child.exitCode === null && written() < (size * (kill + 0.5)) / kills) await setImmediate();
      child.kill('SIGKILL');
      await ended;
    }
    // The last one in the moment before it would be there: on a busy machine the others may have been whole before they were seen.
    // Its name is its own: one that is whole has that of the second.
    await begun(Date.now() + hour / 2, '--import', `data:text/javascript,${encodeURIComponent(killedAtItsName)}`).ended;
    expect(readdirSync(test.backups).filter((name) => name.startsWith('.backup.'))).toHaveLength(1);
    for (const backup of backupsIn(test.backups)) expect(tryBackup({ backup, now: 1 }).failure).toBeNull();
    // The next one, or a trial, clears away what they left.
    const { backup } = makeBackup(test.order(Date.now() + hour));
    expect(tryBackup({ backup, now: 1 }).failure).toBeNull();
    expect(readdirSync(test.backups).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

it('the commands make, list and restore backups, and name what is none', async () => {
  using test = place();
  using directory = temporaryDirectory();
  const config = join(directory.path, 'catalogued.yaml');
  const mirror = join(directory.path, 'mirror', 'mirror.db');
  mkdirSync(join(directory.path, 'mirror'));
  const db = new Database(test.path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  cpSync(test.path, mirror);
  writeFileSync(config, testConfigText(directory.path, 'http://127.0.0.1:9'));
  const run = (...args: string[]) => runHere(['--config', config, ...args]);
  expect(await run('backup', '--list')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('There is no backup'),
  });
  expect(await run('backup')).toMatchObject({ code: 0, stdout: expect.stringContaining('verified') });
  const [backup = ''] = backupsIn(join(directory.path, 'backup'));
  expect(await run('backup', '--list')).toMatchObject({ code: 0, stdout: expect.stringContaining(backup) });
  expect(await run('restore', join(directory.path, 'backup'))).toMatchObject({
    code: 65,
    stderr: expect.stringContaining(`name one of the backups in it: ${backup}`),
  });
  expect(await run('restore', join(directory.path, 'nothing'))).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('there is no directory'),
  });
  rmSync(mirror);
  expect(await run('restore', backup, '--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Nothing was changed.'),
  });
  expect(existsSync(mirror)).toBe(false);
  expect(await run('restore', backup)).toMatchObject({ code: 0, stdout: expect.stringContaining("is the backup's") });
  expect(existsSync(mirror)).toBe(true);
  expect(await run('upgrade', '--check')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('the next start changes no schema'),
  });
});

function feedOf(path: string): string | undefined {
  using reader = openReader(path);
  return reader.info().feed_id ?? undefined;
}
