import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { optionsWhere } from '../fakes/needs.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { skippedLines } from '../fakes/tools.ts';

describe('a test that needs what this machine lacks', () => {
  it('is skipped, and says for what', () => {
    expect(optionsWhere(['php', 'zsh'], ['sqlite3', 'php'], false)).toEqual({ skip: true, meta: { missing: ['php'] } });
    expect(optionsWhere(['php'], ['sqlite3'], false)).toEqual({});
  });

  it('runs, and so fails, where nothing may be skipped', () => {
    expect(optionsWhere(['php'], ['php'], true)).toMatchObject({ skip: false });
  });

  it('is counted in the line that the run ends with, with the command that installs what is missing', () => {
    expect(skippedLines([])).toEqual([]);
    expect(skippedLines([['php', 'python3'], ['php'], ['root']])).toEqual([
      '3 tests skipped: php, python3, root missing here. To run them: apt-get install --no-install-recommends php-cli php-sqlite3 python3, and root',
    ]);
    // Each package once, also where two tools need it.
    expect(skippedLines([['pod', 'iptables']])).toEqual([
      '1 test skipped: iptables, pod missing here. To run them: apt-get install --no-install-recommends iptables iproute2 curl procps, and root that may unshare',
    ]);
  });

  it('is counted by itself where nothing that can be installed helps, and no folder is named', () => {
    expect(skippedLines([['data', 'time'], ['data'], ['zsh']])).toEqual([
      '1 test skipped: zsh missing here. To run them: apt-get install --no-install-recommends zsh',
      '2 tests skipped: for answers of the service that are not published',
    ]);
  });
});

describe('a tool', () => {
  it('is missing where no program is found', () => {
    using empty = temporaryDirectory();
    const tools = fileURLToPath(new URL('../fakes/tools.ts', import.meta.url));
    const installed = execFileSync(process.execPath, [tools], { env: { PATH: empty.path }, encoding: 'utf8' });
    expect(installed.trim().split(' ')).toEqual(expect.arrayContaining(['php-cli', 'gcc', 'postgresql', 'dbus']));
  });

  it('is there where it can be used (control)', () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, 'zsh'), '#!/bin/sh\n', { mode: 0o755 });
    const tools = fileURLToPath(new URL('../fakes/tools.ts', import.meta.url));
    const installed = execFileSync(process.execPath, [tools], { env: { PATH: directory.path }, encoding: 'utf8' });
    expect(installed.trim().split(' ')).not.toContain('zsh');
  });
});

describe('npm ci and npm test', () => {
  const starts = fileURLToPath(new URL('../../.ci/node-starts', import.meta.url));
  const run = (node: string) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, 'node'), `#!/bin/sh\n${node}\n`, { mode: 0o755 });
    return spawnSync(starts, { env: { PATH: `${directory.path}:/usr/bin:/bin` }, encoding: 'utf8' });
  };

  it('say what is missing where their Node does not start, and end with 78', () => {
    const ran = run('echo "node: error while loading shared libraries: libatomic.so.1" >&2; exit 127');
    expect([ran.status, ran.stderr]).toEqual([
      78,
      expect.stringMatching(/^Error: .*\nTry: apt-get install libatomic1\n$/),
    ]);
  });

  it('go on where it starts (control)', () => {
    expect(run('echo v26')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });
});

const older = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.9.0'})";

/** Runs this Node, which claims to be an older one. */
const onNode20 = (...args: string[]) =>
  spawnSync(process.execPath, ['--import', older, ...args], { encoding: 'utf8', timeout: 30_000 });

/** Copies the program's first file into an installation in `directory` that has nothing else in it. */
function installedIn(directory: string): string {
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  mkdirSync(join(directory, 'dist'));
  const cli = join(directory, 'dist', 'cli.ts');
  copyFileSync(fileURLToPath(new URL('../../src/cli.ts', import.meta.url)), cli);
  return cli;
}

describe('under Node 20', () => {
  it('the reader is refused with a code of ours', () => {
    const reader = new URL('../../src/storefront/reader.ts', import.meta.url).href;
    const program = `import(${JSON.stringify(reader)}).catch(({ code, message }) => console.log(code, message))`;
    expect(onNode20('-e', program)).toMatchObject({
      status: 0,
      stdout: 'old-node catalogued/reader needs Node 22 or newer; this is Node 20.9.0\n',
    });
  });

  it('the program ends with 78, and says which Node to install', () => {
    using directory = temporaryDirectory();
    expect(onNode20(installedIn(directory.path), '--version')).toMatchObject({
      status: 78,
      stdout: '',
      stderr: expect.stringMatching(
        /^Error: catalogued needs Node 26 or newer, this is 20\.9\.0\nTry: install Node 26 .*\n$/,
      ),
    });
  });

  it('the program runs under the Node that npm ci has brought, where there is one', () => {
    using directory = temporaryDirectory();
    const cli = installedIn(directory.path);
    const brought = join(directory.path, 'node_modules/node/bin/node');
    mkdirSync(dirname(brought), { recursive: true });
    writeFileSync(brought, '#!/bin/sh\necho "handed over: $2"; exit 3\n', { mode: 0o755 });
    expect(onNode20(cli, 'status')).toMatchObject({ status: 3, stdout: 'handed over: status\n', stderr: '' });
  });
});
