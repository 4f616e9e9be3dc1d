import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { document, section } from './documents.ts';
import { cli } from './fakes/built-program.ts';
import { filledDaemon } from './fakes/filled-daemon.ts';
import { needs } from './fakes/needs.ts';

/* The table of what is supported in docs/operating.md, held against what is used. */

/** Cells of the table's rows, by the first. */
const stated = new Map(
  [...section('What is supported').matchAll(/^\| (.+) \| (.+) \| (.+) \|$/gm)]
    .slice(1)
    .map(([, what = '', supported = '', tested = '']) => [what, { supported, tested }]),
);

const rows = {
  daemon: 'Node for the daemon and its commands',
  checkout: 'Node for `npm ci` in a checkout, which brings Node 26',
  reader: 'Node for `catalogued-reader`',
  ownSqlite: 'SQLite of the daemon, part of the program',
  sqlite: 'SQLite of other readers, read-only',
  postgres: 'PostgreSQL',
  systemd: 'systemd',
  debian: 'Debian, on the host and in the container',
  linux: 'Linux',
} as const;

const cells = (row: keyof typeof rows) => stated.get(rows[row]) ?? { supported: '', tested: '' };

/** Returns what a pattern finds in a file, of which there is only one. */
function only(text: string, pattern: RegExp): string {
  const found = new Set([...text.matchAll(new RegExp(pattern, 'gm'))].map(([, value = '']) => value));
  const [value = ''] = found;
  return found.size === 1 ? value : `${found.size} of ${pattern}`;
}

/** What the files of this repository use, in the words of the table. */
function used(read: (path: string) => string) {
  const { engines, devDependencies } = JSON.parse(read('package.json'));
  const needed = only(read('src/cli.ts'), /^const needed = (\d+);/);
  return {
    daemon: { supported: needed, tested: devDependencies.node },
    image: only(read('Dockerfile'), /^ARG BASE=node:(\d+)-/),
    checkout: {
      supported: `${only(engines.node, />=(\d+)$/)} or newer`,
      tested: only(read('.ci/run'), /with Node (\d+)/),
    },
    reader: `${only(read('.rolldown.ts'), /engines: \{ node: '>=([\d.]+)' \}/)} or newer`,
    sqlite: `${only(read('src/says/doctor/reader-probe.ts'), /the views need ([\d.]+)/)} or newer`,
    debian: {
      host: only(read('.ci/run'), /Debian (\d+)/),
      image: only(read('Dockerfile'), /^ARG BASE=node:\d+-(\w+)-/),
    },
  };
}

it('has a row for each of these, and no other', () => {
  expect([...stated.keys()]).toEqual(Object.values(rows));
});

it('names the versions of the packages, the image and .ci/run', () => {
  const { daemon, image, checkout, reader, sqlite, debian } = used(document);
  expect(cells('daemon')).toEqual(daemon);
  expect(image).toBe(cells('daemon').supported);
  expect(cells('checkout')).toEqual(checkout);
  expect(cells('reader').supported).toBe(reader);
  expect(cells('reader').tested.split(', ').at(-1)).toBe(daemon.tested);
  expect(cells('sqlite').supported).toBe(sqlite);
  expect(cells('debian')).toEqual({ supported: debian.host, tested: debian.host });
  expect(debian).toEqual({ host: '12', image: 'bookworm' });
});

it('would notice another base of the image (control)', () => {
  const changed = (path: string) => document(path).replace('BASE=node:26-bookworm', 'BASE=node:27-trixie');
  const { image, debian } = used(changed);
  expect(image).not.toBe(cells('daemon').supported);
  expect(debian.image).not.toBe('bookworm');
});

it('names the SQLite that comes along, and the systems that it comes along for', () => {
  const db = new Database(':memory:');
  const version = db.prepare<[], string>('SELECT sqlite_version()').pluck().get();
  db.close();
  expect(cells('ownSqlite')).toEqual({ supported: version, tested: version });
  const addons = readdirSync(join(import.meta.dirname, '../node_modules/better-sqlite3/prebuilds'));
  for (const processor of cells('linux').supported.split(', ')) expect(addons).toContain(`linux-${processor}.node`);
});

it('names what the suite runs on', needs('time', 'postgres', 'sqlite3', 'systemd-nspawn'), () => {
  const first = (command: string, ...args: string[]) =>
    execFileSync(command, args, { encoding: 'utf8' }).split('\n')[0];
  const clusters = readdirSync('/usr/lib/postgresql')
    .map(Number)
    .sort((a, b) => b - a);
  expect(String(clusters[0])).toBe(cells('postgres').tested);
  expect(first('sqlite3', '--version')?.split(' ')[0]).toBe(cells('sqlite').tested);
  expect(first('systemd-nspawn', '--version')?.split(' ')[1]).toBe(cells('systemd').tested);
  expect(first('cat', '/etc/debian_version')?.split('.')[0]).toBe(cells('debian').tested);
  expect(process.arch).toBe(cells('linux').tested);
  for (const row of ['postgres', 'systemd'] as const)
    expect(cells(row).supported).toBe(`${cells(row).tested} or newer`);
});

it('the built reader reads a mirror under each Node that it names', needs('time', 'registry'), async () => {
  await using stack = new AsyncDisposableStack();
  const { daemon } = await filledDaemon(stack);
  const built = join(dirname(cli), 'reader');
  const program = `
    const { openReader } = require(${JSON.stringify(join(built, 'index.cjs'))});
    const reader = openReader(${JSON.stringify(daemon.config.mirror.path)});
    import(${JSON.stringify(join(built, 'index.mjs'))}).then(({ openReader }) =>
      console.log(process.versions.node, reader.products().length, typeof openReader));`;
  const versions = cells('reader').tested.split(', ');
  expect(versions).toHaveLength(3);
  for (const version of versions) {
    const bringing = ['exec', '--yes', `--package=node-${process.platform}-${process.arch}@${version}`, '--'];
    const said = execFileSync('npm', [...bringing, 'node', '--no-warnings', '-e', program], { encoding: 'utf8' });
    expect(said.trim()).toBe(`${version} 6 function`);
  }
});
