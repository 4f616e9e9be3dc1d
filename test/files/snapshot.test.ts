import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { notFailing } from '../../src/files/failing.rules.ts';
import { keepSnapshots } from '../../src/files/snapshot/snapshot.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { publishCopy, temporaryName } from '../../src/kernel/sqlite/published-copy.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { Attempts } from '../../src/says/status/outcomes.store.ts';
import { needs } from '../fakes/needs.ts';
import { runCli } from '../fakes/run-cli.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig, testConfigText, writeTestConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { manualClock } from '../service/manual-clock.ts';

const never = new AbortController().signal;

/** A file of ours with this many megabytes in it, so that a copy takes a while. */
function large(megabytes: number) {
  const test = testMirror();
  const db = new Database(test.path);
  db.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO slot_day (product_id, currency, date, zero_at, rest, slots) SELECT -i, 'EUR', '', 0, '[]', hex(randomblob(50000)) FROM n`,
  ).run(megabytes * 10);
  db.close();
  return test;
}

describe('a published copy', () => {
  it(
    'is read from a directory that may not be written to, by a user who owns nothing, while nothing runs',
    needs('python3'),
    () => {
      using test = testMirror();
      using place = temporaryDirectory();
      const directory = join(place.path, 'published');
      mkdirSync(directory);
      const copy = join(directory, 'mirror.db');
      publishCopy(test.path, copy, temporaryName(copy, 1));
      chmodSync(place.path, 0o755);
      chmodSync(directory, 0o555);
      const program = `import os, sqlite3, sys
if os.getuid() == 0: os.setgid(65534); os.setuid(65534)
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
print(db.execute("SELECT count(*) FROM policies").fetchone()[0], db.execute("PRAGMA journal_mode").fetchone()[0], os.access(os.path.dirname(sys.argv[1]), os.W_OK))`;
      const said = execFileSync('python3', ['-c', program, copy], { encoding: 'utf8' });
      chmodSync(directory, 0o755);
      expect(said.trim()).toBe('40 delete False');
    },
  );
});

it('a copy that fails leaves the last one, and no other file', () => {
  using test = testMirror();
  using place = temporaryDirectory();
  const copy = join(place.path, 'mirror.db');
  const amend = () => {
    throw new Error('no more');
  };
  publishCopy(test.path, copy, temporaryName(copy, 1));
  expect(() => publishCopy(test.path, copy, temporaryName(copy, 2), { amend })).toThrow('no more');
  expect(readdirSync(place.path)).toEqual(['mirror.db']);
});

it('a copy is never made over the mirror, whatever the path that leads to it', () => {
  using test = testMirror();
  using place = temporaryDirectory();
  symlinkSync(dirname(test.path), join(place.path, 'link'));
  for (const path of [test.path, join(place.path, 'link', basename(test.path))])
    expect(() => publishCopy(test.path, path, temporaryName(path, 1))).toThrow('itself by another name');
});

/** Makes copies in a process that is killed each time when so much of one is written; returns how often what has the final name is not whole. */
async function killed(program: URL, kills: number): Promise<number> {
  using test = large(24);
  using place = temporaryDirectory();
  const copy = join(place.path, 'mirror.db');
  publishCopy(test.path, copy, temporaryName(copy, 1));
  const whole = statSync(copy).size;
  let torn = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const files = () =>
      readdirSync(place.path).flatMap((name) => {
        const found = statSync(join(place.path, name), { throwIfNoEntry: false });
        return found === undefined ? [] : [{ size: found.size, key: `${name} ${found.ino} ${found.mtimeMs}` }];
      });
    const before = new Set(files().map(({ key }) => key));
    const child = spawn(process.execPath, [fileURLToPath(program), test.path, copy], { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.on('close', resolve));
    const written = () => Math.max(0, ...files().map(({ key, size }) => (before.has(key) ? 0 : size)));
    while (child.exitCode === null && written() < (whole * (kill + 0.5)) / kills) await setImmediate();
    child.kill('SIGKILL');
    await ended;
    if (!isWhole(copy, whole)) torn += 1;
  }
  return torn;
}

function isWhole(path: string, size: number): boolean {
  if (!existsSync(path) || statSync(path).size !== size) return false;
  const db = new Database(path, { readonly: true });
  try {
    return db.pragma('quick_check', { simple: true }) === 'ok';
  } catch {
    return false;
  } finally {
    db.close();
  }
}

describe('a process that is killed while it makes a copy, or whose daemon is', () => {
  it('leaves the last copy under the final name, whole', async () => {
    expect(await killed(new URL('../../src/files/snapshot/child.ts', import.meta.url), 3)).toBe(0);
  });

  it('and goes on alone publishes nothing once its file was removed as a leftover', async () => {
    using test = large(24);
    using place = temporaryDirectory();
    const copy = join(place.path, 'mirror.db');
    const program = fileURLToPath(new URL('../../src/files/snapshot/child.ts', import.meta.url));
    const child = spawn(process.execPath, [program, test.path, copy], { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.on('close', resolve));
    const temporary = temporaryName(copy, child.pid ?? 0);
    const written = () => statSync(temporary, { throwIfNoEntry: false })?.size ?? 0;
    while (child.exitCode === null && written() < 1_000_000) await setImmediate();
    rmSync(temporary);
    expect(await ended).toBe(1);
    expect(readdirSync(place.path)).toEqual([]);
  });

  it('is caught by the harness where it writes straight to the final name (control)', async () => {
    expect(await killed(new URL('../faults/straight-snapshot-child.ts', import.meta.url), 2)).toBeGreaterThan(0);
  });
});

describe('publishing when it is due', () => {
  it('says why it failed, tries again a minute later, and removes what a kill has left', async () => {
    using test = testMirror();
    using place = temporaryDirectory();
    const path = join(place.path, 'published', 'mirror.db');
    const clock = manualClock(Date.now());
    const { log, lines } = testLog();
    const mirror = { path: test.path, filledAt: () => 1 };
    const snapshots = keepSnapshots(
      { mirror, clock, log, attempts: new Attempts(notFailing, () => undefined) },
      { every: 3_600_000, path },
    );
    await snapshots.publishDue(never);
    expect(lines().at(-1)).toMatchObject({ msg: 'snapshot failed', failures: 1 });
    expect(snapshots.failing()).toEqual({ failure: expect.stringContaining('is missing'), failing_since: clock.now() });
    mkdirSync(dirname(path));
    writeFileSync(temporaryName(path, 77), 'half');
    writeFileSync(join(dirname(path), `.${basename(path)}.mine`), 'not ours');
    await snapshots.publishDue(never);
    expect(existsSync(path)).toBe(false);
    clock.jump(60_000);
    await snapshots.publishDue(never);
    expect(snapshots.failing()).toEqual(notFailing);
    expect(readdirSync(dirname(path)).sort()).toEqual(['.mirror.db.mine', 'mirror.db']);
    const first = statSync(path).ino;
    await snapshots.publishDue(never);
    expect(statSync(path).ino).toBe(first);
    clock.jump(3_600_000);
    await snapshots.publishDue(never);
    expect(statSync(path).ino).not.toBe(first);
  });

  it('is done by the daemon, and status says when; without one it says that it is late, and exits 1', async () => {
    using place = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 3 });
    const path = join(place.path, 'published.db');
    const more = { snapshot: { every: '1h', path } };
    const config = writeTestConfig(place.path, sandbox.url, more);
    const status = () => runCli(['--config', config, 'status'], { cwd: place.path });
    const daemon = await startDaemon(testMachine(), testConfig(place.path, sandbox.url, more));
    while (!existsSync(path)) await systemClock.sleep(20);
    expect((await status()).stdout).toMatch(/^Snapshot {2}published \d+ s ago, \d+\.\d MiB:\s/m);
    await daemon[Symbol.asyncDispose]();
    const db = openMirrorForReading(path);
    expect(db.prepare('SELECT count(*) AS n FROM products').get()).toEqual({ n: 3 });
    db.close();
    writeFileSync(
      config,
      testConfigText(place.path, sandbox.url, { snapshot: { every: '1h', path: `${path}.other` } }),
    );
    expect(await status()).toMatchObject({
      code: 1,
      stderr: '',
      stdout: expect.stringMatching(/^Snapshot {2}.* was never published\.[\s\S]*\n +never published: /m),
    });
  });
});
