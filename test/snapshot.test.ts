import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { startDaemon } from '../src/daemon/daemon.ts';
import { notFailing } from '../src/domain/files/failing.ts';
import { contractTables } from '../src/mirror/rows/capture.ts';
import { openMirrorForReading } from '../src/mirror/sql/files.ts';
import { Attempts } from '../src/mirror/status/attempts.ts';
import { keepSnapshots, snapshotStatus } from '../src/snapshot/snapshot.ts';
import { publishCopy, temporaryName } from '../src/sqlite/published-copy.ts';
import { openMirrorAt } from './fakes/mirror-at.ts';
import { needs } from './fakes/needs.ts';
import { runCli } from './fakes/run-cli.ts';
import { startSandbox } from './fakes/start-sandbox.ts';
import { testConfig, testConfigText } from './fakes/test-config.ts';
import { testLog } from './fakes/test-log.ts';
import { testMachine } from './fakes/test-machine.ts';
import { temporaryDirectory, testMirror } from './fakes/test-mirror.ts';
import { virtualHarness } from './fakes/virtual-harness.ts';
import { manualClock } from './upstream/manual-clock.ts';

const day = 86_400_000;
const never = new AbortController().signal;

/** Every row of every view at one instant. */
function shown(path: string, now: number): Record<string, unknown[]> {
  const db = openMirrorAt(path, now);
  const views = [
    ...contractTables,
    ...db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all(),
  ];
  const rows = views.map((view) => [
    view,
    db
      .prepare<[], object>(`SELECT * FROM ${view}`)
      .all()
      .map((row) => JSON.stringify(row))
      .sort(),
  ]);
  db.close();
  return Object.fromEntries(rows) as Record<string, unknown[]>;
}

/** A file of ours with this many megabytes in it, so that a copy takes a while. */
function large(megabytes: number) {
  const test = testMirror();
  const db = new Database(test.path);
  db.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO slot_day (product_id, currency, date, rest, slots) SELECT -i, 'EUR', '', '[]', hex(randomblob(50000)) FROM n`,
  ).run(megabytes * 10);
  db.close();
  return test;
}

describe('a published copy', () => {
  it('shows what the mirror shows, in every view, and is one file that needs no other', async () => {
    await using harness = await virtualHarness({ products: 8 });
    using place = temporaryDirectory();
    await harness.fill();
    const copy = join(place.path, 'mirror.db');
    const { bytes } = publishCopy(harness.daemon.config.mirror.path, copy, temporaryName(copy, 1));
    const now = harness.clock.now();
    expect(shown(copy, now)).toEqual(shown(harness.daemon.config.mirror.path, now));
    const { size, mode } = statSync(copy);
    expect([size, mode & 0o777]).toEqual([bytes, 0o444]);
    expect(readdirSync(place.path)).toEqual(['mirror.db']);
    // Its limits are those of the reader's clock, as always.
    expect(shown(copy, now).images?.length).toBeGreaterThan(0);
    const later = shown(copy, now + 15 * day);
    expect(later.images).toEqual([]);
    expect(later.products?.every((row) => String(row).includes('"stale":1'))).toBe(true);
  });

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

  it('is not published where it would be damaged, and leaves the last one as it is', () => {
    using test = large(1);
    using place = temporaryDirectory();
    const copy = join(place.path, 'mirror.db');
    publishCopy(test.path, copy, temporaryName(copy, 1));
    const before = statSync(copy);
    const torn = join(place.path, 'torn.db');
    publishCopy(test.path, torn, temporaryName(torn, 1));
    chmodSync(torn, 0o600);
    const bytes = readFileSync(torn);
    writeFileSync(torn, bytes.fill(0xff, bytes.length / 2, bytes.length / 2 + 8192));
    expect(() => publishCopy(torn, copy, temporaryName(copy, 2))).toThrow();
    expect(statSync(copy).ino).toBe(before.ino);
    expect(readdirSync(place.path).sort()).toEqual(['mirror.db', 'torn.db']);
  });
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
    expect(await killed(new URL('../src/snapshot/child.ts', import.meta.url), 3)).toBe(0);
  });

  it('and goes on alone publishes nothing once its file was removed as a leftover', async () => {
    using test = large(24);
    using place = temporaryDirectory();
    const copy = join(place.path, 'mirror.db');
    const program = fileURLToPath(new URL('../src/snapshot/child.ts', import.meta.url));
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
    expect(await killed(new URL('faults/straight-snapshot-child.ts', import.meta.url), 2)).toBeGreaterThan(0);
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

  it('is not done before the mirror is filled', async () => {
    using test = testMirror();
    using place = temporaryDirectory();
    const path = join(place.path, 'mirror.db');
    const ports = {
      mirror: test.mirror,
      clock: systemClock,
      log: testLog().log,
      attempts: new Attempts(notFailing, () => undefined),
    };
    await keepSnapshots(ports, { every: 60_000, path }).publishDue(never);
    expect(existsSync(path)).toBe(false);
  });

  it('is done by the daemon, and status says when; without one it says that it is late, and exits 1', async () => {
    using place = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 3 });
    const path = join(place.path, 'published.db');
    const more = { snapshot: { every: '1h', path } };
    const config = join(place.path, 'catalogued.yaml');
    writeFileSync(config, testConfigText(place.path, sandbox.url, more));
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

it('a path that leads to the mirror through a link is no snapshot: nothing is replaced, and it is said', async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  mkdirSync(join(path, 'data'));
  symlinkSync('data', join(path, 'pub'));
  const [mirror, link] = [join(path, 'data', 'mirror.db'), join(path, 'pub', 'mirror.db')];
  const db = new Database(mirror);
  db.exec('CREATE TABLE a (b)');
  db.close();
  const before = statSync(mirror).ino;
  const log = testLog('fatal');
  const ports = {
    mirror: { path: mirror, filledAt: () => 1 },
    clock: systemClock,
    log: log.log,
    attempts: new Attempts(notFailing, () => undefined),
  };
  const snapshots = keepSnapshots(ports, { every: 60_000, path: link });
  await snapshots.publishDue(never);
  expect(snapshots.failing().failure).toContain('by another name');
  expect(snapshotStatus({ every: 60_000, path: link }, mirror, notFailing, Date.now())).toMatchObject({
    published_at: null,
  });
  expect(statSync(mirror).ino).toBe(before);
});
