import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { skippedLine } from './fakes/needs.ts';
import { temporaryDirectory } from './fakes/test-mirror.ts';

const source = new URL('fakes/needs.ts', import.meta.url);

/** What `needs` answers in a process of its own that finds no program at all. */
function whereNothingIsInstalled(strict: boolean): unknown {
  using empty = temporaryDirectory();
  const program = `import { needs } from ${JSON.stringify(source.href)}; console.log(JSON.stringify(needs('php', 'root')))`;
  const env = { PATH: empty.path, ...(strict && { CATALOGUED_TEST_STRICT: '1' }) };
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' }));
}

describe('a test that needs what this machine lacks', () => {
  it('is skipped, and says for what', () => {
    expect(whereNothingIsInstalled(false)).toEqual({ skip: true, meta: { missing: ['php', 'root'] } });
  });

  it('runs, and so fails, where nothing may be skipped', () => {
    expect(whereNothingIsInstalled(true)).toMatchObject({ skip: false });
  });

  it('is counted in the line that the run ends with, with the command that installs what is missing', () => {
    expect(skippedLine([])).toBe(null);
    expect(skippedLine([['php', 'python3'], ['php'], ['root']])).toBe(
      '3 tests skipped: php, python3, root missing here. To run them: apt-get install --no-install-recommends php-cli php-sqlite3 python3, and root',
    );
    // Each package once, also where two tools need it.
    expect(skippedLine([['pod', 'iptables']])).toBe(
      '1 test skipped: iptables, pod missing here. To run them: apt-get install --no-install-recommends iptables iproute2 curl, and root that may unshare',
    );
  });
});

describe('npm ci and npm test', () => {
  const starts = fileURLToPath(new URL('../.ci/node-starts', import.meta.url));
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
