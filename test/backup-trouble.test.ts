import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Manifest, readManifest, sha256Of } from '../src/backup/manifest.ts';
import { backupsIn, manifestOf, mirrorCopy } from '../src/files/backups.ts';
import { needs } from './fakes/needs.ts';
import { runMark } from './fakes/no-child-outlives.ts';
import { runHere } from './fakes/run-here.ts';
import { testConfigText } from './fakes/test-config.ts';
import { temporaryDirectory, testMirror } from './fakes/test-mirror.ts';

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

/** A host with a mirror and no daemon. */
function host() {
  const directory = temporaryDirectory();
  const { path } = directory;
  const mirror = join(path, 'mirror', 'mirror.db');
  mkdirSync(join(path, 'mirror'));
  using made = testMirror();
  const db = new Database(made.mirror.path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  cpSync(made.mirror.path, mirror);
  const config = join(path, 'catalogued.yaml');
  writeFileSync(config, testConfigText(path, 'http://127.0.0.1:9'));
  return {
    path,
    mirror,
    config,
    backups: join(path, 'backup'),
    run: (...args: string[]) => runHere(['--config', config, ...args]),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

function amend(backup: string, change: (manifest: Manifest) => object): void {
  chmodSync(manifestOf(backup), 0o600);
  writeFileSync(manifestOf(backup), JSON.stringify(change(readManifest(backup))));
}

/** Another program's database, with a manifest that knows its bytes. */
function swap(backup: string): void {
  const path = mirrorCopy(backup);
  rmSync(path);
  const db = new Database(path);
  db.exec('CREATE TABLE bookmark (url TEXT)');
  db.close();
  const copy = { bytes: statSync(path).size, sha256: sha256Of(path), schema_version: 1 };
  amend(backup, (manifest) => ({ ...manifest, mirror: copy }));
}

describe('restore', () => {
  const stack = new DisposableStack();
  let here: ReturnType<typeof host>;
  let sound = '';
  afterAll(() => stack.dispose());
  beforeAll(async () => {
    here = stack.use(host());
    expect(await here.run('backup')).toMatchObject({ code: 0 });
    sound = backupsIn(here.backups)[0] ?? '';
  });

  it.each<[string, (backup: string) => void, RegExp]>([
    ['whose mirror was cut', (backup) => truncateSync(mirrorCopy(backup), 8192), /has 8192 bytes, and had \d+/],
    ['whose mirror is empty', (backup) => truncateSync(mirrorCopy(backup), 0), /has 0 bytes/],
    ['whose manifest was cut', (backup) => truncateSync(manifestOf(backup), 40), /is no manifest/],
    ['with the file of another program', swap, /is no mirror of catalogued/],
    ['that lost its mirror', (backup) => rmSync(mirrorCopy(backup)), /has no mirror\.db/],
    [
      'of a newer version',
      (backup) =>
        amend(backup, (each) => ({
          ...each,
          made_by: 'catalogued 9',
          mirror: { ...each.mirror, schema_version: 999 },
        })),
      /made by catalogued 9, which is newer/,
    ],
    [
      'of a layout to come',
      (backup) => amend(backup, (each) => ({ ...each, format: 2 })),
      /is no manifest that this version can read/,
    ],
  ])('refuses a backup %s (65), and leaves everything as it was', async (_, harm, says) => {
    const backup = join(here.path, 'harmed');
    rmSync(backup, { recursive: true, force: true });
    cpSync(sound, backup, { recursive: true });
    chmodSync(mirrorCopy(backup), 0o600);
    chmodSync(manifestOf(backup), 0o600);
    harm(backup);
    const before = readFileSync(here.mirror);
    expect(await here.run('restore', backup)).toMatchObject({
      code: 65,
      stdout: '',
      stderr: expect.stringMatching(says),
    });
    expect(readFileSync(here.mirror).equals(before)).toBe(true);
    expect(readdirSync(join(here.path, 'mirror')).filter((name) => name.includes('quarantine'))).toEqual([]);
  });
});

describe('backup', () => {
  it('makes a directory that is missing, with what is missing above it, for this user alone', async () => {
    using here = host();
    const away = join(here.path, 'not/yet/there');
    expect(await here.run('backup', away)).toMatchObject({ code: 0 });
    expect(statSync(away).mode & 0o777).toBe(0o700);
  });

  it('says what stands where its directory should be', async () => {
    using here = host();
    writeFileSync(here.backups, 'no directory');
    expect(await here.run('backup')).toMatchObject({ code: 77, stderr: expect.stringContaining(here.backups) });
    expect(readFileSync(here.backups, 'utf8')).toBe('no directory');
  });

  it.each([
    ['on a full disk', 'mount -t tmpfs -o size=100k full', 74, /needs up to .* free/],
    ['on a read-only disk', 'mount -t tmpfs -o ro full', 77, /read-only|EROFS|permission/i],
  ])('%s fails in one line, and leaves nothing', needs('pod', 'time'), (_, mount, code, says) => {
    using here = host();
    mkdirSync(here.backups);
    const script = `${mount} ${here.backups} && "$0" "$@"; echo "rc $?"; ls -A ${here.backups}`;
    const args = ['--mount', 'sh', '-c', script, process.execPath, cli, '--config', here.config, 'backup'];
    const { stdout, stderr } = spawnSync('unshare', args, {
      encoding: 'utf8',
      env: { ...process.env, [runMark]: process.env[runMark] },
    });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(stdout).toBe(`rc ${code}\n`);
  });
});
