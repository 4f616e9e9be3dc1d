import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/load.ts';
import { bytesOf } from '../../../src/files/backup/make.ts';
import { readManifest } from '../../../src/files/backup/manifest.ts';
import { checkUpgrade } from '../../../src/files/backup/try-upgrade.ts';
import {
  backUpBeforeUpgrade,
  type UpgradeProgress,
  type UpgradeWatch,
  unwatched,
} from '../../../src/files/backup/upgrade.ts';
import { backupsIn } from '../../../src/files/backups.ts';
import { instant, systemClock, systemEntropy } from '../../../src/kernel/clock.ts';
import { openForWriting, schemaVersion } from '../../../src/kernel/sqlite/database-file.ts';
import { lookAt } from '../../../src/kernel/sqlite/look.ts';
import { contractVersion } from '../../../src/mirror/contract/contract.ts';
import { mirrorFile } from '../../../src/mirror/sql/files.ts';
import { inboxFile, openInbox } from '../../../src/receiver/inbox.ts';
import { cli } from '../../fakes/built-program.ts';
import { needs } from '../../fakes/needs.ts';
import { type NextVersion, nextVersion } from '../../fakes/next-version.ts';
import { notifyProgram } from '../../fakes/notify-program.ts';
import { startProgram } from '../../fakes/run-cli.ts';
import { productOf, putProducts } from '../../fakes/stored-products.ts';
import { testLog } from '../../fakes/test-log.ts';
import { enlarge, host } from './hosts.ts';
import { place } from './places.ts';

function configOf({ mirror, backups }: ReturnType<typeof place>): Config {
  const inbox_path = join(backups, '..', 'inbox.db');
  return {
    mirror: { path: mirror.path, inbox_path, state_dir: join(backups, '..'), commission: false },
    backup: { directory: backups, at: null, zone: 'UTC', keep: 7 },
  } as Config;
}

let next: NextVersion;
beforeAll(() => {
  next = nextVersion();
  return () => next[Symbol.dispose]();
});

/** Puts a mirror that nobody has open in the place of the one there is. */
function closed(path: string): void {
  const db = new Database(path);
  db.exec(`VACUUM INTO '${path}.closed'`);
  db.close();
  for (const side of ['', '-wal', '-shm']) rmSync(`${path}${side}`, { force: true });
  renameSync(`${path}.closed`, path);
}

/** Gives a mirror the inbox that it needs for a start. */
function pairUp(mirror: string, state_dir: string): void {
  mkdirSync(state_dir, { mode: 0o700 });
  const path = join(state_dir, 'inbox.db');
  using inbox = openInbox(path, { master: null, now: instant(0), deliveries_bytes: 1_000_000, entropy: systemEntropy });
  const db = new Database(mirror);
  db.prepare('UPDATE _mirror SET pair_id = ?').run(inbox.pair_id);
  db.close();
}

const versionOf = (path: string) => {
  const db = new Database(path, { readonly: true });
  const version = db.pragma('user_version', { simple: true });
  db.close();
  return version;
};

/** How many rows each table has. */
function rowsIn(path: string): Record<string, unknown> {
  const db = new Database(path, { readonly: true });
  const tables = db.prepare<[], string>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'",
  );
  const names = tables.pluck().all();
  const rows = names.map((name) => [name, db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get()]);
  db.close();
  return Object.fromEntries(rows);
}

function backUp(config: Config, watch: UpgradeWatch = unwatched) {
  const { log, lines } = testLog('info');
  return { lines, ended: backUpBeforeUpgrade(config, { clock: systemClock, log, watch }) };
}

describe('before an upgrade', () => {
  it('a backup is made; without one nothing is changed, and the start is refused', async () => {
    using test = place();
    const config = configOf(test);
    await backUp(config).ended;
    expect(backupsIn(test.backups)).toEqual([]);
    using _ = next.install();
    writeFileSync(test.backups, 'no directory');
    await expect(backUp(config).ended).rejects.toMatchObject({
      message: expect.stringContaining('so nothing was changed'),
      exitCode: 77,
    });
    rmSync(test.backups);
    const { ended, lines } = backUp(config);
    await ended;
    expect(backupsIn(test.backups).map((backup) => readManifest(backup).why)).toEqual(['upgrade']);
    expect(lines().map(({ msg }) => msg)).toEqual([
      'backup before the upgrade begins',
      'backup made before the upgrade',
    ]);
  });

  it('no more backups are kept than configured, however often the upgrade begins', async () => {
    using test = place();
    using _ = next.install();
    const config = configOf(test);
    const one = { ...config, backup: { ...config.backup, keep: 1 } };
    await backUp(one).ended;
    const [first] = backupsIn(test.backups);
    await backUp(one).ended;
    expect(backupsIn(test.backups)).toHaveLength(1);
    expect(backupsIn(test.backups)).not.toEqual([first]);
  });

  it('the backup is followed while the loop turns, and the change is told before it begins', async () => {
    using test = place();
    using _ = next.install();
    const shown: UpgradeProgress[] = [];
    const show = async (progress: UpgradeProgress) => void shown.push(progress);
    await backUp(configOf(test), { ...unwatched, show }).ended;
    expect(shown[0]).toEqual({ phase: 'backup', done: 0, total: bytesOf(test.path) });
    expect(shown.at(-1)).toEqual({ phase: 'change' });
  });

  it(
    'the backup is the way back: the older version refuses what was changed, takes the copy, and it can be changed again',
    needs('time'),
    async () => {
      using test = place();
      const { path } = test;
      putProducts(test, [productOf(7)]);
      closed(path);
      const before = rowsIn(path);
      const olderVersion = { ...mirrorFile };
      using _ = next.install();
      await backUp(configOf(test)).ended;
      openForWriting(path, mirrorFile).close();
      const after = rowsIn(path);
      const changed = readFileSync(path);
      expect(() => openForWriting(path, olderVersion)).toThrow(
        expect.objectContaining({ code: 'newer-file', exitCode: 65 }),
      );
      expect(readFileSync(path)).toEqual(changed);
      const [backup] = backupsIn(test.backups);
      copyFileSync(join(backup ?? '', 'mirror.db'), path);
      expect(lookAt(path, olderVersion, 'whole')).toEqual({ condition: 'well', wrong: null });
      expect(rowsIn(path)).toEqual(before);
      openForWriting(path, mirrorFile).close();
      expect(rowsIn(path)).toEqual(after);
    },
  );

  it('whoever stops the start ends its backup: nothing is changed, and no half of it is left', async () => {
    using test = place();
    using _ = next.install();
    const stop = new AbortController();
    const show = async () => stop.abort(new Error('stopped by SIGTERM'));
    await expect(backUp(configOf(test), { signal: stop.signal, show }).ended).rejects.toBe(stop.signal.reason);
    expect(backupsIn(test.backups)).toEqual([]);
    expect(versionOf(test.path)).toBeLessThan(schemaVersion(mirrorFile));
  });
});

/** Installs the built program with the schema of the next version; returns its `cli.js`. */
function installNextVersion(directory: string): string {
  mkdirSync(directory);
  const built = join(dirname(cli), '..');
  cpSync(join(built, 'dist'), join(directory, 'dist'), { recursive: true });
  copyFileSync(join(built, 'package.json'), join(directory, 'package.json'));
  cpSync(next.schema, join(directory, 'schema'), { recursive: true });
  return join(directory, 'dist/cli.js');
}

describe('a supervised start that changes the schema', needs('time'), () => {
  it('tells systemd how far its backup is and asks for time, and is ready only then', async () => {
    using here = host();
    pairUp(here.mirror, join(here.path, 'state'));
    const program = notifyProgram(here.path);
    const installed = installNextVersion(join(here.path, 'next'));
    const env = { HOME: here.path, ...program.env };
    const daemon = startProgram([process.execPath, installed, '--config', here.config, 'run'], { cwd: here.path, env });
    await Promise.race([program.was('READY=1'), daemon.ended]);
    daemon.child.kill('SIGTERM');
    await daemon.ended;
    const told = program.told();
    const statuses = told.filter((line) => line.startsWith('STATUS=upgrade'));
    expect(statuses[0]).toMatch(/^STATUS=upgrade: 0\.0 MiB of .* backed up, 0 %$/);
    expect(statuses.at(-1)).toBe('STATUS=upgrade: backup made, changing the schema');
    expect(told.indexOf('READY=1')).toBeGreaterThan(told.indexOf('EXTEND_TIMEOUT_USEC=3600000000'));
    expect(told).toContain('EXTEND_TIMEOUT_USEC=120000000');
  });
});

describe('upgrade --check', () => {
  it('says what will change, measured on a copy, and leaves nothing', async () => {
    using test = place();
    const config = configOf(test);
    const versions = () => [mirrorFile, inboxFile].map(schemaVersion);
    const from = versions();
    openInbox(config.mirror.inbox_path, { master: null, now: instant(0) })[Symbol.dispose]();
    using _ = next.install();
    const before = readFileSync(test.path);
    const [mirror, inbox] = versions().map((to, index) => ({ from: from[index], to }));
    const check = await checkUpgrade(config, systemClock, unwatched.signal);
    expect(check).toMatchObject({ mirror, inbox, removed: [] });
    expect(check.contract).toEqual({ from: contractVersion, to: contractVersion });
    expect(check.added).toEqual(['products.next_version_line']);
    expect(check.needed_bytes).toBeGreaterThan(before.length);
    expect(readFileSync(test.path).equals(before)).toBe(true);
    expect(readdirSync(test.backups)).toEqual([]);
  });

  it('takes the time of the whole backup, not of the copy alone', async () => {
    using test = place();
    enlarge(test.path, 1);
    let now = 0;
    // A clock on which every look takes a second.
    const clock = { ...systemClock, monotonic: () => (now += 1000) };
    expect(await checkUpgrade(configOf(test), clock, unwatched.signal)).toMatchObject({
      backup_ms: 1000,
      change_ms: 1000,
    });
  });
});
