import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { needs } from './fakes/needs.ts';
import { temporaryDirectory } from './fakes/test-mirror.ts';

/*
 * A machine with Node, npm, git and a shell collects every test, skips those that need more, and passes the rest. For that
 * no test file starts a program, touches a file outside the checkout or asks the network while it is collected, not even
 * in the body of a `describe` that is skipped. Node itself holds the workers to it.
 */

const root = join(import.meta.dirname, '..');

/** Options of Node for a worker that may read the checkout, and do nothing else with the machine. */
const confined = [
  '--permission',
  `--allow-fs-read=${root}`,
  `--allow-fs-write=${join(root, 'node_modules/.cache')}`,
  '--allow-addons',
  '--no-warnings',
];

/** Collects the tests below a directory where no tool is installed. */
async function collected(below: string) {
  using tools = temporaryDirectory();
  symlinkSync(process.execPath, join(tools.path, 'node'));
  for (const name of ['npm', 'git', 'sh']) {
    const found = spawnSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    symlinkSync(found, join(tools.path, name));
  }
  const { CATALOGUED_TEST_STRICT, CATALOGUED_TEST_RESULTS, ...env } = process.env;
  const options = ['--config', 'test/vitest.config.ts', '--no-static-parse', '--dir', below];
  const run = promisify(execFile)(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'list', ...options, ...confined.map((each) => `--execArgv=${each}`)],
    { cwd: root, env: { ...env, PATH: tools.path, NO_COLOR: '1' }, maxBuffer: 1 << 28 },
  );
  return await run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  );
}

/** Bodies that a test file may not have, by the permission that Node names when it refuses one. */
const planted = {
  ChildProcess: "describe.skip('x', () => void execFileSync('docker-compose'));",
  FileSystemRead: "readFileSync('/etc/passwd');",
  FileSystemWrite: "writeFileSync('planted.txt', '');",
  Net: "await once(connect(9, '127.0.0.1'), 'connect');",
};

const harmless = [
  "import { execFileSync } from 'node:child_process';",
  "import { readFileSync, writeFileSync } from 'node:fs';",
  "import { once } from 'node:events';",
  "import { connect } from 'node:net';",
  "import { describe, it } from 'vitest';",
  "it('passes', () => {});",
].join('\n');

describe('while the tests are collected', needs('time'), () => {
  it('no file starts a program, touches a file outside the checkout or asks the network', async () => {
    const { code, stdout, stderr } = await collected('test');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').length).toBeGreaterThan(2000);
  });

  it('files that do are refused, and one that does nothing is not (control)', async () => {
    mkdirSync(join(root, 'node_modules/.cache'), { recursive: true });
    using directory = mkdtempDisposableSync(join(root, 'node_modules/.cache/planted-'));
    const plant = (name: string, text: string) => writeFileSync(join(directory.path, `${name}.test.ts`), text);
    plant('harmless', harmless);
    expect(await collected(directory.path)).toMatchObject({ code: 0, stderr: '' });
    for (const [permission, body] of Object.entries(planted)) plant(permission, `${harmless}\n${body}`);
    const { code, stderr } = await collected(directory.path);
    expect(code).toBe(1);
    for (const permission of Object.keys(planted)) expect(stderr).toMatch(new RegExp(`permission: '${permission}'`));
  });
});
