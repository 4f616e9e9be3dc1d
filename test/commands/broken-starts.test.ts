import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import type { Ran } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { someOf } from '../fakes/thorough.ts';

const url = 'http://127.0.0.1:9';

/** A directory in which a daemon is to start, and what keeps it from starting. */
interface Place {
  readonly path: string;
  readonly config: string;
  /** Writes the configuration, with this laid over it. */
  says(more: Record<string, unknown>): void;
  readonly state: string;
  readonly mirror: string;
  /** Ends with the test. */
  readonly stack: AsyncDisposableStack;
}

/** Returns the environment of the start, where that is what is broken. */
type Break = (place: Place) => unknown;

const withKey = { service: { base_url: url, profile: { authorization: { header: 'Authorization' } } } };

const secret = (place: Place, name: string, text: string, mode = 0o600): string => {
  const path = join(place.path, name);
  writeFileSync(path, text, { mode });
  return path;
};

async function listening(place: Place, at: string | { port: number; host: string }): Promise<Server> {
  const server = place.stack.adopt(createServer(), async (own) => void own.close());
  await new Promise<void>((resolve) => server.listen(at as never, resolve));
  return server;
}

const database = (path: string, sql: string): void => {
  using _ = { [Symbol.dispose]: () => db.close() };
  const db = new Database(path);
  db.exec(sql);
};

const starts: readonly (readonly [title: string, code: number, says: RegExp, breaks: Break])[] = [
  ['no configuration', 78, /there is no configuration at/, ({ config }) => rmSync(config)],
  [
    'a directory for a configuration',
    78,
    /cannot read the configuration .*EISDIR/,
    ({ config }) => {
      rmSync(config);
      mkdirSync(config);
    },
  ],
  ['an empty configuration', 78, /base_url/, ({ config }) => writeFileSync(config, '')],
  ['a configuration that is no YAML', 78, /has .*problem/, ({ config }) => writeFileSync(config, 'service: [')],
  ['a binary configuration', 78, /has .*problem/, ({ config }) => writeFileSync(config, Buffer.from([0, 255, 254, 1]))],
  ['a list for a configuration', 78, /has .*problem/, ({ config }) => writeFileSync(config, '- a\n- b\n')],
  ['an unknown key', 78, /did you mean cadence\.images/, ({ says }) => says({ cadence: { image: '3d' } })],
  ['a wrong type', 78, /concurrency/, ({ says }) => says({ budget: { concurrency: 'many' } })],
  ['a limit that is loosened', 78, /hard limit/, ({ says }) => says({ cadence: { images: '20d' } })],
  ['a variable that names no key', 78, /CATALOGUED_LOG__LEVLE/, () => ({ CATALOGUED_LOG__LEVLE: 'debug' })],
  ['a variable of a wrong value', 78, /log\.level|LOG__LEVEL/, () => ({ CATALOGUED_LOG__LEVEL: 'loud' })],
  ['no key', 78, /there is no key for the service/, ({ says }) => says(withKey)],
  [
    'a key file that is missing',
    78,
    /there is no file/,
    (place) => place.says({ service: { ...withKey.service, api_key_file: join(place.path, 'no.key') } }),
  ],
  [
    'a key file that others can read',
    77,
    /others have access/,
    (place) => place.says({ service: { ...withKey.service, api_key_file: secret(place, 'key', 'k', 0o644) } }),
  ],
  [
    'a key of two lines',
    78,
    /malformed/,
    (place) => place.says({ service: { ...withKey.service, api_key_file: secret(place, 'key', 'a\nb') } }),
  ],
  [
    'a master secret that can be guessed',
    78,
    /at least 32/,
    (place) => place.says({ receiver: { secret_file: secret(place, 'secret', 'short') } }),
  ],
  [
    'a signing key that is none',
    78,
    /signing\.key_file/,
    (place) => place.says({ signing: { key_file: secret(place, 'pem', 'not a key') } }),
  ],
  ['TCP without an admin token', 78, /no admin token/, ({ says }) => says({ admin: { listen: '127.0.0.1:0' } })],
  [
    'a state directory that is a file',
    77,
    /not a directory/,
    ({ state, says }) => {
      writeFileSync(state, '');
      says({});
    },
  ],
  [
    'a state directory that others can enter',
    77,
    /can be entered by others/,
    ({ state }) => {
      mkdirSync(state);
      chmodSync(state, 0o755);
    },
  ],
  [
    'a socket that somebody answers',
    74,
    /it is in use/,
    async (place) => {
      mkdirSync(place.state, { mode: 0o700 });
      await listening(place, join(place.state, 'admin.sock'));
    },
  ],
  [
    'a file where the socket belongs',
    78,
    /a file that is not a socket/,
    ({ state }) => {
      mkdirSync(state, { mode: 0o700 });
      writeFileSync(join(state, 'admin.sock'), '');
    },
  ],
  [
    'a port in use',
    74,
    /it is in use/,
    async (place) => {
      const server = await listening(place, { host: '127.0.0.1', port: 0 });
      const { port } = server.address() as { port: number };
      place.says({ admin: { listen: `127.0.0.1:${port}`, token_file: secret(place, 'token', 'a-token') } });
    },
  ],
  [
    'an address of another machine',
    78,
    /no such address/,
    (place) => place.says({ admin: { listen: '192.0.2.1:8481', token_file: secret(place, 'token', 'a-token') } }),
  ],
  [
    'a path too long for a socket',
    78,
    /too long for a socket/,
    ({ path, says }) => says({ admin: { listen: `unix:${join(path, 'x'.repeat(120))}` } }),
  ],
  [
    'a mirror of a newer version',
    65,
    /newer catalogued/,
    ({ mirror }) =>
      database(mirror, `PRAGMA application_id = ${0x43415455}; PRAGMA user_version = 99; CREATE TABLE t (a)`),
  ],
  [
    'a mirror of another program',
    65,
    /not a mirror of catalogued/,
    ({ mirror }) => database(mirror, 'PRAGMA application_id = 7; CREATE TABLE t (a)'),
  ],
  ['a mirror that is no database', 65, /not a database/, ({ mirror }) => writeFileSync(mirror, 'x'.repeat(8192))],
  ['a mirror that is a directory', 65, /mirror\.db .*it is a directory/, ({ mirror }) => mkdirSync(mirror)],
  ['a link in a circle for a mirror', 65, /mirror\.db/, ({ mirror }) => symlinkSync(mirror, mirror)],
  [
    'a lock that another daemon holds',
    75,
    /another catalogued holds/,
    ({ state, stack }) => {
      mkdirSync(state, { mode: 0o700 });
      const lock = stack.adopt(new Database(join(state, 'catalogued.lock')), (db) => void db.close());
      lock.exec('BEGIN EXCLUSIVE');
    },
  ],
  [
    'an allow-list that could only match the proxy',
    78,
    /proxy/,
    (place) =>
      place.says({
        receiver: {
          listen: '127.0.0.1:0',
          secret_file: secret(place, 'secret', 'm'.repeat(32)),
          public_url: 'https://hooks.example.com',
          allow: ['192.0.2.0/24'],
        },
      }),
  ],
];

/** Every one of them needs root to be arranged, or a user that is not root. */
const arranged: typeof starts = [
  [
    'a state directory of somebody else',
    77,
    /belongs to somebody else/,
    ({ state }) => {
      mkdirSync(state, { mode: 0o700 });
      chownSync(state, 65_534, 65_534);
    },
  ],
  [
    'a full disk',
    74,
    /disk is full/,
    ({ state, stack }) => {
      mkdirSync(state);
      expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k,mode=0700', 'tmpfs', state]).status).toBe(0);
      stack.defer(() => void spawnSync('umount', ['--lazy', state]));
      try {
        writeFileSync(join(state, 'filler'), Buffer.alloc(65_536));
      } catch {
        // It is full.
      }
    },
  ],
  [
    'a read-only file system',
    77,
    /read-only/,
    ({ state, path, stack, says }) => {
      mkdirSync(state);
      expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,ro', 'tmpfs', state]).status).toBe(0);
      stack.defer(() => void spawnSync('umount', ['--lazy', state]));
      const state_dir = join(state, 'deeper');
      says({ mirror: { path: join(path, 'mirror', 'mirror.db'), state_dir } });
    },
  ],
  [
    // Not 77, with which systemd would never start it again.
    'files whose file system has become read-only',
    74,
    /read-only/,
    ({ state, stack }) => {
      mkdirSync(state);
      const mount = (options: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', state]).status;
      expect(mount('size=1m,mode=0700')).toBe(0);
      stack.defer(() => void spawnSync('umount', ['--lazy', state]));
      new Database(join(state, 'catalogued.lock')).exec('CREATE TABLE used (x)').close();
      expect(mount('remount,ro')).toBe(0);
    },
  ],
];

async function start(breaks: Break): Promise<Ran> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const config = join(path, 'catalogued.yaml');
  const says = (more: Record<string, unknown>) => writeFileSync(config, testConfigText(path, url, more));
  says({});
  mkdirSync(join(path, 'mirror'));
  const place = { path, config, says, state: join(path, 'state'), mirror: join(path, 'mirror', 'mirror.db'), stack };
  const broken = await breaks(place);
  const env = typeof broken === 'object' && broken !== null ? (broken as Record<string, string>) : {};
  return await runHere(['--config', config, 'run'], { cwd: path, env });
}

/** One line that says what is wrong, its problems below it, one line that says what to do; no stack; no daemon. */
function expectRefused({ code: found, stdout, stderr }: Ran, code: number, says: RegExp): void {
  expect(stderr).toMatch(says);
  const lines = stderr.trimEnd().split('\n');
  const kinds = lines.map((line) => /^(?:Error|Try)(?=: )|^ {2}(?! )/.exec(line)?.[0] ?? `another: ${line}`);
  expect({ found, first: kinds[0], last: kinds.at(-1), between: new Set(kinds.slice(1, -1)) }).toEqual({
    found: code,
    first: 'Error',
    last: 'Try',
    between: new Set(kinds.length > 2 ? ['  '] : []),
  });
  expect(stdout).not.toContain('daemon started');
}

describe('a start with', () => {
  it.each(someOf(starts))('%s ends with %i, one line and what to do', async (_, code, says, breaks) => {
    expectRefused(await start(breaks), code, says);
  });

  it.each(arranged)(
    '%s ends with %i, one line and what to do',
    needs('root', 'time'),
    async (_, code, says, breaks) => {
      expectRefused(await start(breaks), code, says);
    },
  );

  it('nothing wrong is none of these (control)', async () => {
    const refused = { code: 0, stdout: '', stderr: '' };
    expect(() => expectRefused(refused, 0, /^/)).toThrow();
    expect(() => expectRefused({ ...refused, stderr: 'Error: x\n    at y\nTry: z\n' }, 0, /^/)).toThrow();
  });
});
