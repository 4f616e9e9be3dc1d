import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, it, test } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { networkFileSystem } from '../../src/kernel/sqlite/directory.ts';
import { contractVersion } from '../../src/mirror/contract/contract.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { type Check, isHealthy, olderThan } from '../../src/says/doctor/check.ts';
import { serviceChecks } from '../../src/says/doctor/doctor.ts';
import { longReaders, type ReaderQuestion, readerChecks } from '../../src/says/doctor/reader.ts';
import type { Outcome } from '../../src/service/outcome.ts';
import { cli } from '../fakes/built-program.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { needs } from '../fakes/needs.ts';
import { temporaryDirectory, testMirrorOptions } from '../fakes/test-mirror.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const isRoot = process.getuid?.() === 0;
/** Who reads: as root somebody else, else oneself, whom the modes of the owner bind. */
const user = isRoot ? 'nobody' : null;
const nogroup = 65_534;
/** Where no program is found: what storefronts are written in is asked for its SQLite in one test only. */
const search_path = '/nowhere';

/** A mirror of a daemon that is down; where there are two users, they share a group. */
function stopped(): Disposable & { readonly path: string; readonly directory: string; readonly root: string } {
  const { path: root, [Symbol.dispose]: remove } = temporaryDirectory();
  chmodSync(root, 0o755);
  const options = testMirrorOptions(root);
  openMirror(options)[Symbol.dispose]();
  const directory = dirname(options.path);
  if (isRoot) {
    for (const path of [directory, ...filesOf(options.path)]) chownSync(path, 0, nogroup);
    chmodSync(directory, 0o3770);
  }
  return {
    path: options.path,
    directory,
    root,
    [Symbol.dispose]: () => {
      for (const each of [root, directory]) if (existsSync(each)) chmodSync(each, 0o755);
      remove();
    },
  };
}

/** A mirror, and the log and its index, which its daemon leaves. */
const filesOf = (path: string) => [path, `${path}-wal`, `${path}-shm`];

/** Takes these bits from everybody. */
function deny(path: string, bits: number): void {
  chmodSync(path, statSync(path).mode & 0o7777 & ~(bits * 0o111));
}

/** A client that may write has closed the file last, and nobody else may make them. */
function removeSideFiles({ path, directory }: Harness): void {
  for (const each of ['-wal', '-shm']) rmSync(path + each);
  deny(directory, 0o2);
}

async function found(path: string, more: Partial<ReaderQuestion> = {}): Promise<Record<string, Check>> {
  const checks = await readerChecks({ path, user, search_path, ...more }, systemClock.sleep);
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

type Harness = ReturnType<typeof stopped>;

describe('doctor --reader', () => {
  const cases: [string, (harness: Harness) => void, string, Partial<Check>][] = [
    [
      'reads what is as it should be',
      () => {},
      'reading',
      { verdict: 'ok', found: `0 rows in products, contract ${contractVersion}, from the live file` },
    ],
    [
      'names the directory that may not be entered',
      ({ directory }) => deny(directory, 0o1),
      'way to the file',
      {
        verdict: 'wrong',
        found: expect.stringMatching(/may not enter .*\/mirror \(\d+ /),
        advice: expect.stringContaining('chmod g+x '),
      },
    ],
    [
      'names a directory further up',
      ({ root }) => deny(root, 0o1),
      'way to the file',
      {
        verdict: 'wrong',
        found: expect.stringMatching(/may not enter .*catalogued-test-\w+ \(/),
        advice: expect.stringContaining('chmod g+x '),
      },
    ],
    [
      'says that the file may not be read',
      ({ path }) => deny(path, 0o4),
      'way to the file',
      { verdict: 'wrong', found: expect.stringMatching(/may not read .*mirror\.db/) },
    ],
    [
      'says that there is none',
      ({ path }) => rmSync(path),
      'way to the file',
      { verdict: 'wrong', found: expect.stringMatching(/^there is no .*mirror\.db$/) },
    ],
    [
      'reads from a directory in which it may not write, where the daemon has stopped in good order',
      ({ directory }) => deny(directory, 0o2),
      'reading',
      { verdict: 'ok' },
    ],
    [
      'says what fails where nothing may be made beside it',
      removeSideFiles,
      'side files',
      {
        verdict: 'wrong',
        found: expect.stringMatching(/^missing, and .* may not write in .*: every read fails until the daemon has/),
      },
    ],
    ['tries nothing that could make it worse', removeSideFiles, 'reading', { verdict: 'skipped' }],
    [
      'refuses another database',
      ({ path }) => writeFileSync(path, 'CREATE TABLE t (x);'),
      'format',
      { verdict: 'wrong', found: expect.stringContaining('is not a mirror') },
    ],
    [
      'refuses a directory',
      ({ path }) => {
        rmSync(path);
        mkdirSync(path, { mode: 0o755 });
      },
      'format',
      { verdict: 'wrong', found: expect.stringContaining('is not a mirror') },
    ],
    [
      'takes a published snapshot for what it is: it needs nothing but to be read',
      ({ path, root }) => {
        const db = new Database(path);
        db.exec(`VACUUM INTO '${root}/copy.db'`);
        db.close();
        copyFileSync(`${root}/copy.db`, path);
        for (const each of ['-wal', '-shm']) rmSync(path + each, { force: true });
        chmodSync(path, 0o444);
        chmodSync(dirname(path), 0o555);
      },
      'reading',
      { verdict: 'ok', found: `0 rows in products, contract ${contractVersion}, from a snapshot` },
    ],
  ];
  test.each(cases)('%s', async (_, prepare, name, expected) => {
    using harness = stopped();
    prepare(harness);
    const checks = await found(harness.path);
    expect(checks[name]).toMatchObject(expected);
    // By the group, never for everybody.
    expect(Object.values(checks).map(({ advice }) => advice)).not.toContainEqual(
      expect.stringMatching(/chmod (o|a)?\+/),
    );
  });

  const shared: [string, (harness: Harness) => void, RegExp][] = [
    ['mode 0640, with which a reader locks the daemon out', ({ path }) => chmodSync(path, 0o640), /locks it out/],
    [
      'a directory whose files are not of the group',
      ({ directory }) => chmodSync(directory, 0o1770),
      /do not belong to the daemon/,
    ],
    [
      'a directory whose files a reader can remove',
      ({ directory }) => chmodSync(directory, 0o2770),
      /a reader can remove/,
    ],
  ];
  test.each(shared)('finds %s, unless reader and daemon are one user', async (_, prepare, words) => {
    using harness = stopped();
    prepare(harness);
    const { sharing } = await found(harness.path);
    expect(sharing).toMatchObject(
      isRoot ? { verdict: 'wrong', found: expect.stringMatching(words) } : { verdict: 'ok' },
    );
    expect((await found(harness.path, { user: null })).sharing).toMatchObject({ verdict: 'ok' });
  });

  it('finds a side file that the daemon or a reader has left closed', async () => {
    using harness = stopped();
    for (const each of ['-wal', '-shm']) writeFileSync(harness.path + each, '', { mode: 0o600 });
    deny(`${harness.path}-shm`, 0o6);
    expect((await found(harness.path))['side files']).toMatchObject({
      verdict: 'wrong',
      found: expect.stringMatching(/may not read .*mirror\.db-(wal|shm)/),
    });
  });

  it('knows a read-only mount, also as root', needs('unshare'), () => {
    using harness = stopped();
    for (const each of ['-wal', '-shm']) rmSync(harness.path + each);
    const mounted = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"';
    const command = [process.execPath, cli, 'doctor', '--reader', '--path', harness.path, '--json'];
    const shell = [
      '-Urm',
      'sh',
      '-c',
      `${mounted} || true`,
      'sh',
      harness.directory,
      'sh',
      '-c',
      '"$@"; true',
      'sh',
      ...command,
    ];
    const { checks } = JSON.parse(execFileSync('unshare', shell, { encoding: 'utf8' })) as { checks: Check[] };
    expect(checks.find(({ name }) => name === 'side files')).toMatchObject({
      verdict: 'wrong',
      found: expect.stringContaining('is mounted read-only: every read fails until'),
      advice: expect.stringContaining('snapshot'),
    });
  });

  it('looks at the SQLite that this user’s programs bring', async () => {
    using harness = stopped();
    const bin = join(harness.root, 'bin');
    mkdirSync(bin);
    const say = (name: string, text: string) => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    say('php', 'echo 3.34.1');
    say('python3', 'exit 1');
    const checks = await found(harness.path, { search_path: bin });
    expect(checks['SQLite of PHP']).toMatchObject({ verdict: 'wrong', found: '3.34.1: the views need 3.38' });
    expect(checks['SQLite of Python']).toMatchObject({ verdict: 'skipped', found: 'python3 has none' });
    expect(checks['sqlite3 shell']).toMatchObject({ verdict: 'skipped', found: 'not on this machine' });
    say('sqlite3', 'echo 3.51.2 2026-01-01');
    expect((await found(harness.path, { search_path: bin }))['sqlite3 shell']).toMatchObject({
      verdict: 'ok',
      found: '3.51.2; open the mirror read-only: writers need 3.51.3',
    });
  });

  it('names who holds an old snapshot while the log grows', needs('python3'), async () => {
    using harness = stopped();
    using mirror = openMirror(testMirrorOptions(harness.root));
    mirror.transaction(() => mirror.noteDelivery({ last_delivery_id: 1 }));
    const hold = `import sqlite3, sys
db = sqlite3.connect("file:${harness.path}?mode=ro", uri=True)
db.execute("BEGIN"); db.execute("SELECT * FROM mirror_info").fetchall(); print("holding", flush=True); sys.stdin.read()`;
    const reader = spawn('python3', ['-c', hold], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(reader.stdout, 'data');
    const never = async () => {};
    const [open, log] = await longReaders(harness.path, never, { large: 0 });
    expect(open).toMatchObject({ verdict: 'ok', found: expect.stringContaining(`python3 (${reader.pid})`) });
    expect(log).toMatchObject({
      verdict: 'wrong',
      found: expect.stringContaining(`because python3 (${reader.pid}) holds an old snapshot open`),
    });
    expect((await longReaders(harness.path, never))[1]).toMatchObject({ verdict: 'ok' });
    reader.stdin.end();
    await once(reader, 'close');
    expect((await longReaders(harness.path, never, { large: 0 }))[1]).toMatchObject({
      verdict: 'wrong',
      found: expect.stringContaining('not visible from here'),
    });
  });

  it('prints its checks as JSON, ends with 1 where one is wrong, and needs no configuration with --path', async () => {
    using harness = stopped();
    const env = { PATH: process.env.PATH ?? '' };
    const io = capturedIo(env);
    const args = ['doctor', '--reader', '--json', '--path', harness.path, ...(user === null ? [] : ['--user', user])];
    expect(await main(args, io)).toBe(0);
    const answer = JSON.parse(io.out()) as Record<string, unknown>;
    expect(Object.keys(answer).sort()).toEqual(['checks', 'healthy', 'path', 'user']);
    expect(answer).toMatchObject({ path: harness.path, user, healthy: true });
    deny(harness.path, 0o4);
    const worse = capturedIo(env);
    expect(
      await main(
        args.filter((arg) => arg !== '--json'),
        worse,
      ),
    ).toBe(1);
    expect(worse.out()).toMatch(/^✗ {2}way to the file {3}\S+ may not read .*\n +→ /m);
  });

  it('is nobody else where it is not root (77)', needs('unshare'), async () => {
    using harness = stopped();
    const args = [cli, 'doctor', '--reader', '--path', harness.path, '--user', 'nobody'];
    const code = '"$@"; echo "code $?"';
    const shell = ['-U', '--map-user=1000', '--map-group=1000', 'sh', '-c', code, 'sh', process.execPath, ...args];
    const said = execFileSync('unshare', shell, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    expect(said).toBe('code 77\n');
  });

  test.each([
    ['3.38.0', '3.38.0', false],
    ['3.37.2', '3.38.0', true],
    ['3.51.10', '3.51.3', false],
    ['4.0.0', '3.51.3', false],
  ])('%s is older than %s: %s', (version, needed, older) => {
    expect(olderThan(version, needed.split('.').map(Number))).toBe(older);
  });

  it('knows a network file system by its number', () => {
    expect(networkFileSystem('/', () => 26_985)).toBe('NFS');
    expect(networkFileSystem('/', () => 61_267)).toBe(null);
  });
});

/** Needs two users besides root. */
describe('a storefront of another user, in the group of the daemon', needs('root', 'sqlite3'), () => {
  const daemon = 1;
  const as = (who: number, command: readonly string[]) =>
    execFileSync('setpriv', [`--reuid=${who}`, `--regid=${nogroup}`, '--clear-groups', ...command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const child = fileURLToPath(new URL('../fakes/mirror-as.ts', import.meta.url));
  const startDaemon = (root: string) =>
    execFileSync(process.execPath, [child, root, String(daemon), String(nogroup)], { encoding: 'utf8', stdio: 'pipe' });
  const read = ['sqlite3', '-readonly'];

  function owned(): Harness {
    const harness = stopped();
    mkdirSync(join(harness.root, 'state'), { mode: 0o700 });
    for (const path of [harness.directory, ...filesOf(harness.path), join(harness.root, 'state')])
      chownSync(path, daemon, nogroup);
    chmodSync(harness.directory, 0o3770);
    return harness;
  }
  /** Reads where a client has removed the side files, and is killed: those that it made stay. */
  async function leaveSideFiles(path: string): Promise<void> {
    for (const each of ['-wal', '-shm']) rmSync(path + each, { force: true });
    const reader = spawn('setpriv', [
      '--reuid=65534',
      `--regid=${nogroup}`,
      '--clear-groups',
      'sqlite3',
      '-readonly',
      path,
    ]);
    reader.stdin.write('SELECT last_delivery_id FROM _mirror;\n');
    await once(reader.stdout, 'data');
    reader.kill('SIGKILL');
    await once(reader, 'close');
    expect(statSync(`${path}-shm`).uid).toBe(65_534);
  }

  it(
    'opens the file while the daemon is down, ten times, and the daemon starts and writes each time',
    needs('time'),
    async () => {
      using harness = owned();
      for (let round = 1; round <= 10; round += 1) {
        await leaveSideFiles(harness.path);
        startDaemon(harness.root);
        const count = as(65_534, [...read, harness.path, 'SELECT last_delivery_id FROM _mirror']);
        expect(count).toBe(`${round}\n`);
      }
    },
  );

  it('can neither remove nor replace what is the daemon’s, nor look into its state', async () => {
    using harness = owned();
    const other = join(harness.directory, 'other.db');
    const attempts = [
      ['rm', '-f', harness.path],
      ['mv', harness.path, other],
      ['sh', '-c', `echo x > ${other} && mv -f ${other} ${harness.path}`],
      ['ls', join(harness.root, 'state')],
      ['rm', '-rf', join(harness.root, 'state')],
    ];
    for (const attempt of attempts) expect(() => as(65_534, attempt), attempt.join(' ')).toThrow();
    startDaemon(harness.root);
  });

  it('locks it out where the file has mode 0640 (control)', async () => {
    using harness = owned();
    chmodSync(harness.path, 0o640);
    await leaveSideFiles(harness.path);
    expect(() => startDaemon(harness.root)).toThrow(/cannot write .*readonly/);
  });
});

const never = new AbortController().signal;
const tls: Outcome = { kind: 'unreachable', code: 'tls', message: 'TLS fails (CERT_HAS_EXPIRED)' };

/** Asks as the doctor does, in virtual time. Returns the check of the service, and the milliseconds that all of it took. */
async function examined({ daemon, drive, clock }: VirtualHarness): Promise<{ service: Check | undefined; ms: number }> {
  const { config, probe, serviceClock, subscriptions, notOffered } = daemon;
  const probes = { config, probe, offset: serviceClock.offset, subscriptions, notOffered, peers: null };
  const began_at = clock.now();
  const checks = await drive(serviceChecks(probes, never));
  expect(isHealthy(checks)).toBe(false);
  return { service: checks.find(({ name }) => name === 'service'), ms: clock.now() - began_at };
}

/** A daemon all of whose calls end like this, and which waits for longer after each. */
async function after(outcome: Outcome, calls: number): Promise<VirtualHarness> {
  const harness = await virtualHarness({ products: 2, lean: true });
  for (let call = 0; call < calls; call += 1)
    await harness.drive(harness.daemon.limiter.run(async () => outcome, never, 'near'));
  return harness;
}

it('the doctor names the TLS error that the daemon knows, within ten seconds', async () => {
  await using harness = await after(tls, 8);
  expect(harness.daemon.limiter.pause().not_before).toBeGreaterThan(harness.clock.now() + 10_000);
  const { service, ms } = await examined(harness);
  expect(service).toMatchObject({ verdict: 'wrong', found: 'TLS fails (CERT_HAS_EXPIRED)' });
  expect(ms).toBeLessThan(10_000);
});
