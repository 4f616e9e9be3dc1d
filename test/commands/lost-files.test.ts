import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMirroring } from '../../src/daemon/mirroring.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { putDelivery } from '../fakes/planted.ts';
import { openReader } from '../fakes/reader.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { testConfig, writeTestConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { someOf } from '../fakes/thorough.ts';

const stack = new AsyncDisposableStack();
let filled: string;
let url: string;
beforeAll(async () => {
  filled = stack.use(temporaryDirectory()).path;
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 12 }));
  url = sandbox.url;
  const done = await runHere(['--config', write(filled), 'resync', '--all', '--wait']);
  expect(done.code).toBe(0);
});
afterAll(() => stack.disposeAsync());

function write(directory: string, more: Record<string, unknown> = {}): string {
  const config = writeTestConfig(directory, url, more);
  return config;
}

interface Harness extends Disposable {
  readonly directory: string;
  readonly config: string;
  readonly mirror: string;
  readonly inbox: string;
}

/** A harness of its own that was filled and stopped in order. */
function harness(): Harness {
  const { path: directory, [Symbol.dispose]: dispose } = temporaryDirectory();
  for (const part of ['mirror', 'state']) cpSync(join(filled, part), join(directory, part), { recursive: true });
  const mirror = join(directory, 'mirror', 'mirror.db');
  const inbox = join(directory, 'state', 'inbox.db');
  return { directory, config: write(directory), mirror, inbox, [Symbol.dispose]: dispose };
}

function overwrite(path: string, from: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, from);
  closeSync(file);
}

const pages = (path: string) =>
  overwrite(path, 8192, Buffer.alloc(Math.min(100 * 4096, statSync(path).size - 8192), 0xff));
/** Damages pages that nobody reads by the way. */
const tail = (path: string) => overwrite(path, statSync(path).size - 20 * 4096, Buffer.alloc(20 * 4096, 0xff));
const zeroed = (path: string) => overwrite(path, 0, Buffer.alloc(100));
const emptied = (path: string) => writeFileSync(path, '');
const newer = (path: string) => {
  const db = new Database(path);
  db.pragma('user_version = 99');
  db.close();
};
/** As an unreleased version leaves them, or somebody with a tool. */
const otherColumns = (path: string) => {
  const db = new Database(path);
  db.exec(
    path.endsWith('inbox.db')
      ? 'ALTER TABLE delivery ADD COLUMN weight INTEGER'
      : 'ALTER TABLE product RENAME COLUMN detail_target_ms TO detail_promise_ms',
  );
  db.close();
};
const gone = (path: string) => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
};
const text = (path: string) => writeFileSync(path, 'notes of somebody, and no database at all\n'.repeat(200));
const foreign = (path: string) => {
  gone(path);
  const db = new Database(path);
  db.exec('PRAGMA application_id = 7; CREATE TABLE t (a)');
  db.close();
};

/** Every file below a directory, with its bytes. */
function bytesIn(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(directory, name)).isFile(),
  );
  // The locks are ours to make, and hold nothing; the index of a log is that of its readers.
  const kept = names.filter((name) => !/\.lock$|-shm$/.test(name)).sort();
  return Object.fromEntries(kept.map((name) => [name, hash('sha256', readFileSync(join(directory, name)))]));
}

/** The same without the side files that reading makes. */
function databasesIn(directory: string): Record<string, string> {
  return Object.fromEntries(Object.entries(bytesIn(directory)).filter(([name]) => name.endsWith('.db')));
}

/** A start, as far as it writes. */
async function start({ directory }: Harness): Promise<void> {
  await using mirroring = await openMirroring(testMachine(), testConfig(directory, url));
  putDelivery(mirroring, mirroring.mirror.lastDelivery());
}

/** Does what `Try:` says, word by word: each command in it, as a shell would read it. */
async function follow(hint: string, { config }: Harness): Promise<void> {
  const [command] = /\b(catalogued repair|mv \S+ \S+)/.exec(hint) ?? [];
  if (command === undefined) throw new Error(`there is nothing to do in: ${hint}`);
  if (command.startsWith('mv')) execFileSync('sh', ['-c', command]);
  else
    expect(await runHere(['--config', config, ...command.split(' ').slice(1)])).toMatchObject({ code: 0, stderr: '' });
}

describe('a file that cannot be used', () => {
  type Harm = (harness: Harness) => void;
  it.each(
    someOf<[string, Harm, number, RegExp, number]>([
      ['a mirror with damaged pages', ({ mirror }) => pages(mirror), 65, /mirror\.db is damaged/, 1],
      ['a mirror whose beginning is zeros', ({ mirror }) => zeroed(mirror), 65, /mirror\.db is damaged/, 1],
      ['a truncated mirror', ({ mirror }) => truncateSync(mirror, 40_960), 65, /mirror\.db is damaged/, 1],
      [
        'an empty mirror',
        ({ mirror }) => emptied(mirror),
        65,
        /is damaged: it is empty, but this is not the first run/,
        1,
      ],
      ['no mirror', ({ mirror }) => gone(mirror), 65, /there is no mirror at/, 1],
      ['a mirror of a newer version', ({ mirror }) => newer(mirror), 65, /newer catalogued \(schema 99/, 1],
      [
        'a mirror with other columns than its version',
        ({ mirror }) => otherColumns(mirror),
        65,
        /mirror\.db is damaged: table product has no column detail_target_ms, which schema \d has: /,
        1,
      ],
      [
        'a text as a mirror',
        ({ mirror }) => text(mirror),
        65,
        /mirror\.db is not a file of catalogued: it is not a database/,
        2,
      ],
      [
        'another program’s file as a mirror',
        ({ mirror }) => foreign(mirror),
        65,
        /mirror\.db is not a file of catalogued/,
        2,
      ],
      ['an inbox with damaged pages', ({ inbox }) => pages(inbox), 65, /inbox\.db is damaged/, 1],
      ['an inbox whose beginning is zeros', ({ inbox }) => zeroed(inbox), 65, /inbox\.db is damaged/, 1],
      ['an empty inbox', ({ inbox }) => emptied(inbox), 78, /belongs to another inbox.*is empty/, 1],
      ['no inbox', ({ inbox }) => gone(inbox), 78, /belongs to another inbox.*is not there/, 1],
      ['an inbox of a newer version', ({ inbox }) => newer(inbox), 65, /inbox\.db: it was written by a newer/, 1],
      [
        'an inbox with other columns than its version',
        ({ inbox }) => otherColumns(inbox),
        65,
        /inbox\.db is damaged: table delivery has a column weight, which schema \d does not have: /,
        1,
      ],
      [
        'another program’s file as an inbox',
        ({ inbox }) => foreign(inbox),
        65,
        /inbox\.db is not a file of catalogued/,
        2,
      ],
      ['the inbox of another mirror', ({ inbox }) => other(inbox), 78, /belongs to another inbox/, 1],
      ['two damaged files', ({ mirror, inbox }) => [mirror, inbox].forEach(pages), 65, /inbox\.db is damaged/, 1],
    ]),
  )(
    '%s is refused untouched, and what the error says to do is all that is needed',
    async (title, harm, code, says, steps) => {
      using place = harness();
      const feed = openReader(place.mirror);
      const { feed_id } = feed.info();
      feed.close();
      for (const path of [place.mirror, place.inbox])
        for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
      const intact = bytesIn(place.directory);
      harm(place);
      const before = bytesIn(place.directory);
      for (let step = 0; step < steps; step += 1) {
        const refused = await runHere(['--config', place.config, 'run']);
        expect(refused).toMatchObject({ code: step === 0 ? code : expect.any(Number) });
        if (step === 0) {
          expect(refused.stderr).toMatch(says);
          const after = bytesIn(place.directory);
          expect(Object.keys(after)).toEqual(Object.keys(before));
          expect(after).toEqual(before);
        }
        await follow(refused.stderr, place);
      }
      await start(place);
      using reader = openReader(place.mirror);
      expect(reader.info().feed_id).not.toBe(feed_id);
      // Nothing is destroyed: what cannot be used stands aside, byte by byte.
      const kept = Object.entries(bytesIn(place.directory)).filter(([name]) => /quarantine|\.other$/.test(name));
      expect(kept.every(([, digest]) => Object.values(before).includes(digest))).toBe(true);
      const broken = ['mirror/mirror.db', 'state/inbox.db'].filter((name) => before[name] !== intact[name]);
      expect(kept).toHaveLength(
        broken.filter((name) => before[name] !== undefined && !/another mirror/.test(title)).length,
      );
      expect((await runHere(['--config', place.config, 'repair'])).stdout).toMatch(/there is nothing to repair/);
    },
  );

  it.each<[string, Harm]>([
    ['no mirror', ({ mirror }) => gone(mirror)],
    ['an empty mirror', ({ mirror }) => emptied(mirror)],
    ['a mirror with damaged pages', ({ mirror }) => pages(mirror)],
    ['a mirror whose beginning is zeros', ({ mirror }) => zeroed(mirror)],
    ['a mirror of a newer version', ({ mirror }) => newer(mirror)],
    ['a mirror with other columns than its version', ({ mirror }) => otherColumns(mirror)],
    ['another program’s file as a mirror', ({ mirror }) => foreign(mirror)],
    ['no mirror and a damaged inbox', ({ mirror, inbox }) => [gone(mirror), pages(inbox)]],
  ])('%s beside no daemon: status says what a start would, and leaves the files alone', async (_, harm) => {
    using place = harness();
    harm(place);
    const before = databasesIn(place.directory);
    const status = await runHere(['--config', place.config, 'status']);
    expect(databasesIn(place.directory)).toEqual(before);
    expect(status).toEqual(await runHere(['--config', place.config, 'run']));
  });

  /** An inbox that has another pair, sound in itself. */
  function other(inbox: string): void {
    gone(inbox);
    cpSync(join(filled, 'state', 'inbox.db'), inbox);
    const db = new Database(inbox);
    db.exec("UPDATE inbox SET pair_id = 'another'");
    db.close();
  }

  it('of another program is not set aside by repair', async () => {
    using place = harness();
    foreign(place.mirror);
    const before = bytesIn(place.directory);
    const refused = await runHere(['--config', place.config, 'repair']);
    expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining('is not a file of catalogued') });
    expect(bytesIn(place.directory)).toEqual(before);
  });

  it('takes the newest sound copy instead, where there is one', async () => {
    using place = harness();
    for (const name of ['1', '2']) {
      const backup = join(place.directory, 'backup', name);
      mkdirSync(backup, { recursive: true });
      cpSync(place.mirror, join(backup, 'mirror.db'));
      writeFileSync(join(backup, 'manifest.json'), '{}');
    }
    pages(join(place.directory, 'backup', '2', 'mirror.db'));
    pages(place.mirror);
    const done = await runHere(['--config', place.config, 'repair']);
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('1/mirror.db has taken') });
    await start(place);
    using reader = openReader(place.mirror);
    expect(reader.products()).toHaveLength(12);
  });

  it('after a kill is gone through before it is used, after an orderly stop only where it was touched', async () => {
    using place = harness();
    await start(place);
    pages(place.mirror);
    await expect(start(place)).rejects.toThrow(/is damaged/);
  });
});

describe('a running daemon', () => {
  const ask = (socketPath: string, path: string, method = 'GET') =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const call = request({ socketPath, path, method }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: body }));
      });
      call.on('error', reject);
      call.end();
    });
  const until = async (done: () => Promise<boolean>) => {
    while (!(await done())) await systemClock.sleep(50);
  };

  it.each<[string, (harness: Harness) => void, 'mirror-lost' | 'inbox-lost']>([
    ['whose mirror is removed', ({ mirror }) => gone(mirror), 'mirror-lost'],
    ['whose mirror is replaced', ({ mirror }) => replaced(mirror), 'mirror-lost'],
    ['whose write-ahead log is removed', ({ mirror }) => rmSync(`${mirror}-wal`), 'mirror-lost'],
    ['whose inbox is removed', ({ inbox }) => gone(inbox), 'inbox-lost'],
  ])(
    '%s says so everywhere, stays alive, ends with 65, and goes on after what it said to do',
    async (_, harm, condition) => {
      using place = harness();
      const socket = join(place.directory, 'state', 'admin.sock');
      const daemon = startCli(['--config', place.config, 'run'], { cwd: place.directory });
      await daemon.said('daemon started');
      expect((await ask(socket, '/readyz')).status).toBe(200);
      harm(place);
      await until(async () => (await ask(socket, '/readyz')).status === 503);
      expect((await ask(socket, '/healthz')).status).toBe(200);
      expect((await ask(socket, '/metrics')).text).toContain(`kind="${condition}"`);
      expect((await ask(socket, '/')).text).toContain('catalogued repair');
      const status = await runHere(['--config', place.config, 'status', '--json']);
      expect(status.code).toBe(1);
      expect(JSON.parse(status.stdout).conditions.map(({ code }: { code: string }) => code)).toContain(condition);
      const { stdout } = await runHere(['--config', place.config, 'status']);
      expect(stdout.match(/^(Mirror|Inbox) /gm)).toEqual(['Mirror ', 'Inbox ']);
      const doctor = await runHere(['--config', place.config, 'doctor']);
      expect(doctor).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(new RegExp(`✗ +${condition} +[^]*catalogued repair`)),
      });
      daemon.child.kill('SIGTERM');
      const ended = await daemon.ended;
      expect(ended.code).toBe(65);
      await follow(ended.stderr, place);
      await start(place);
    },
  );

  it('whose mirror is put back goes on as if nothing had been', async () => {
    using place = harness();
    const socket = join(place.directory, 'state', 'admin.sock');
    const daemon = startCli(['--config', place.config, 'run'], { cwd: place.directory });
    await daemon.said('daemon started');
    renameSync(place.mirror, `${place.mirror}.aside`);
    await until(async () => (await ask(socket, '/readyz')).status === 503);
    renameSync(`${place.mirror}.aside`, place.mirror);
    await until(async () => (await ask(socket, '/readyz')).status === 200);
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('beside a file whose pages are damaged is not healthy to doctor', async () => {
    using place = harness();
    const healthy = await runHere(['--config', place.config, 'doctor', '--json']);
    const about = (text: string) => JSON.parse(text).checks.find(({ name }: { name: string }) => name === 'mirror');
    expect(about(healthy.stdout)).toMatchObject({ verdict: 'ok' });
    tail(place.mirror);
    const sick = await runHere(['--config', place.config, 'doctor', '--json']);
    expect(sick.code).toBe(1);
    expect(about(sick.stdout)).toMatchObject({
      verdict: 'wrong',
      advice: expect.stringContaining('catalogued repair'),
    });
  });

  function replaced(path: string): void {
    renameSync(path, `${path}.old`);
    cpSync(`${path}.old`, path);
    expect(existsSync(dirname(path))).toBe(true);
  }
});
