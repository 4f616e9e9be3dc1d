import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, statSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { cli } from '../fakes/built-program.ts';
import { runCli, startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** One `Error:`, one `Try:`, no stack, and the documented exit code. */
async function refuses(
  args: readonly string[],
  code: number,
  says: RegExp,
  { run = runHere, ...options }: { cwd: string; env?: Record<string, string>; run?: typeof runCli },
) {
  const ran = await run(args, options);
  expect(ran.stderr).toMatch(says);
  expect({
    code: ran.code,
    errors: ran.stderr.match(/^Error: /gm)?.length,
    tries: ran.stderr.match(/^Try: /gm)?.length,
  }).toEqual({ code, errors: 1, tries: 1 });
  expect(ran.stderr).not.toMatch(/^ {4}at /m);
}

function harness(directory: string, url = 'http://127.0.0.1:9', more: Record<string, unknown> = {}): string {
  const file = writeTestConfig(directory, url, more);
  return file;
}

describe('the mirror', () => {
  it.each<[string, (path: string, backup: string) => void, RegExp]>([
    [
      'of another program',
      (path) => database(path, 'PRAGMA application_id = 7; CREATE TABLE t (a)'),
      /not a mirror of catalogued/,
    ],
    [
      'of a newer catalogued',
      (path) => database(path, `PRAGMA application_id = ${0x43415455}; PRAGMA user_version = 99; CREATE TABLE t (a)`),
      /newer catalogued \(schema 99/,
    ],
    [
      'that is no database',
      (path) => writeFileSync(path, 'x'.repeat(8192)),
      /is not a file of catalogued: it is not a database/,
    ],
    [
      'that is empty beside a backup',
      (path, backup) => {
        writeFileSync(path, '');
        mkdirSync(join(backup, '2026-11-21T030000Z'), { recursive: true });
        writeFileSync(join(backup, '2026-11-21T030000Z', 'manifest.json'), '{}');
      },
      /it is empty, but this is not the first run/,
    ],
  ])('%s is refused untouched', async (_, prepare, says) => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'mirror', 'mirror.db');
    mkdirSync(join(directory.path, 'mirror'));
    prepare(path, join(directory.path, 'backup'));
    const before = readFileSync(path);
    await refuses(['--config', harness(directory.path), 'run'], 65, says, { cwd: directory.path });
    expect(readFileSync(path)).toEqual(before);
  });

  it.each<[string, (path: string) => void, string]>([
    ['a directory', (path) => mkdirSync(path), 'it is a directory'],
    ['a named pipe', (path) => execFileSync('mkfifo', [path]), 'it is a device, a pipe or a socket'],
    ['a device', (path) => symlinkSync('/dev/null', path), 'it is a device, a pipe or a socket'],
  ])('that is %s is called so by each command, and no failed disk', async (_, make, says) => {
    for (const [place, name] of [
      ['mirror', 'mirror.db'],
      ['state', 'inbox.db'],
    ] as const) {
      using directory = temporaryDirectory();
      const path = join(directory.path, place, name);
      mkdirSync(join(directory.path, place), { mode: 0o700 });
      make(path);
      const config = harness(directory.path);
      for (const command of [['run'], ['status'], ['repair'], ['resync', '--all', '--wait']]) {
        const { code, stderr } = await runHere(['--config', config, ...command]);
        expect(stderr, command[0]).toContain(`${path} is not a file of catalogued: ${says}`);
        expect(stderr, command[0]).not.toMatch(/disk|space/);
        expect(code, command[0]).toBe(65);
      }
    }
  });

  it('that was damaged while the daemon was away is refused, and named', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 12 });
    const config = harness(directory.path, sandbox.url);
    expect((await runHere(['--config', config, 'resync', '--all', '--wait'])).code).toBe(0);
    const path = join(directory.path, 'mirror', 'mirror.db');
    const fd = openSync(path, 'r+');
    for (let page = 20; page < statSync(path).size / 4096; page += 7)
      writeSync(fd, Buffer.alloc(2048, 0xab), 0, 2048, page * 4096);
    closeSync(fd);
    await refuses(['--config', config, 'run'], 65, /is damaged/, { cwd: directory.path });
  });

  it('is not there yet: status says so', async () => {
    using directory = temporaryDirectory();
    await refuses(['--config', harness(directory.path), 'status'], 65, /there is no mirror/, { cwd: directory.path });
  });
});

describe('a second process', () => {
  it('on the same state directory ends with 75, and leaves the first alone', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 12 });
    const config = harness(directory.path, sandbox.url);
    const first = startCli(['--config', config, 'run'], { cwd: directory.path });
    await first.said('daemon started');
    await refuses(['--config', config, 'run'], 75, /another catalogued holds/, {
      cwd: directory.path,
      run: runCli,
    });
    first.child.kill('SIGTERM');
    expect(await first.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('with another inbox refuses the mirror', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 12 });
    expect(
      (
        await runCli(['--config', harness(directory.path, sandbox.url), 'resync', '--images', '--wait'], {
          cwd: directory.path,
        })
      ).code,
    ).toBe(0);
    const other = join(directory.path, 'other');
    const mirror = {
      path: join(directory.path, 'mirror', 'mirror.db'),
      state_dir: other,
    };
    await refuses(
      ['--config', harness(directory.path, sandbox.url, { mirror }), 'run'],
      78,
      /belongs to another inbox/,
      {
        cwd: directory.path,
      },
    );
  });
});

function database(path: string, sql: string): void {
  const db = new Database(path);
  db.exec(sql);
  db.close();
}

describe('an option of the sandbox that is wrong', () => {
  it.each([
    ['--port', '65536', /expected a port from 0 to 65535/],
    ['--legacy', 'nowhere', /expected an address like http/],
  ])('is named: %s %s', async (option, value, says) => {
    using directory = temporaryDirectory();
    await refuses(['sandbox', '--products', '5', option, value], 64, says, { cwd: directory.path });
  });
});

it('output that cannot be written is no answer: neither yes nor no', () => {
  const full = openSync('/dev/full', 'w');
  const ran = spawnSync(process.execPath, [cli, 'config', 'schema'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  expect(ran.stderr.toString()).toMatch(/^Error: cannot write the output: ENOSPC.*\n$/);
  expect(ran.status).toBe(74);
});

it('the help that is named is that of a command that there is', async () => {
  expect((await runHere(['toString'])).stderr).toMatch(/\nTry: catalogued --help\n$/);
  expect((await runHere(['config', '--nope'])).stderr).toMatch(/\nTry: catalogued config --help\n$/);
});
