import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './fakes/test-mirror.ts';

const older = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.9.0'})";

/** Runs this Node, which claims to be an older one. */
const onNode20 = (...args: string[]) =>
  spawnSync(process.execPath, ['--import', older, ...args], { encoding: 'utf8', timeout: 30_000 });

/** Copies the program's first file into an installation in `directory` that has nothing else in it. */
function installedIn(directory: string): string {
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  mkdirSync(join(directory, 'dist'));
  const cli = join(directory, 'dist', 'cli.ts');
  copyFileSync(fileURLToPath(new URL('../src/cli.ts', import.meta.url)), cli);
  return cli;
}

describe('under Node 20', () => {
  it('the reader is refused with a code of ours', () => {
    const reader = new URL('../src/storefront/reader.ts', import.meta.url).href;
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
