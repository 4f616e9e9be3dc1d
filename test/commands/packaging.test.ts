import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, linkSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { runMark, startedBy } from '../fakes/no-child-outlives.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/* What a person installs and starts: the built program. */

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Starts a program, ends it with SIGTERM once it has said that the sandbox answers, and returns how it ended. */
async function startedAndEnded(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const closed = once(child, 'exit');
  const answers = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('answers on')) resolve();
    });
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await Promise.race([answers, closed]);
  child.kill('SIGTERM');
  const [code] = await closed;
  return { code, said };
}

describe('npm start', needs('time'), () => {
  it('ended by SIGTERM ends the demo in order, and leaves no process', async () => {
    using directory = temporaryDirectory();
    const run = `${process.env[runMark]}-npm-start`;
    const args = ['start', '--', '--products', '5', '--directory', join(directory.path, 'demo')];
    const ended = await startedAndEnded('npm', args, { cwd: root, env: { ...process.env, [runMark]: run } });
    expect(ended).toMatchObject({ code: 0 });
    expect(startedBy(run)).toEqual([]);
  });

  it('would leave one where the shell stayed between npm and the program (control)', async () => {
    using directory = temporaryDirectory();
    const run = `${process.env[runMark]}-npm-shell`;
    const start = "node -e \"console.log('it answers', 'on'); setTimeout(() => {}, 60000)\"; true";
    writeFileSync(join(directory.path, 'package.json'), JSON.stringify({ scripts: { start } }));
    await startedAndEnded('npm', ['start'], { cwd: directory.path, env: { ...process.env, [runMark]: run } });
    const left = startedBy(run);
    expect(left).toHaveLength(1);
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
  });
});

it('the tarball has production dependencies alone, and starts with a bare Node', needs('time'), async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  const archive = execFileSync(join(root, '.ci/tarball'), [path], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  execFileSync('tar', ['xzf', archive, '-C', path]);
  const [name = ''] = readdirSync(path).filter((each) => !each.endsWith('.gz'));
  const unpacked = join(path, name);
  expect(readdirSync(unpacked).sort()).toEqual(
    ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'config', 'dist', 'docs', 'package.json', 'schema'].sort(),
  );
  const { dependencies } = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8')) as Record<string, unknown>;
  expect(dependencies).toBeUndefined();
  const built = readdirSync(join(unpacked, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(built.filter((each) => each.endsWith('.map'))).toEqual([]);
  const declared = built.filter((each) => each.endsWith('.d.ts') && !each.startsWith('storefront/'));
  expect(
    declared.filter((each) => /^(admin|commands|cycle|daemon|desk|push|service|trust)\//.test(each)).sort(),
  ).toEqual([
    // Of the reader, and of catalogued/adapter.
    'service/adapter.rules.d.ts',
  ]);
  const notices = readFileSync(join(unpacked, 'dist/licenses.txt'), 'utf8');
  for (const name of ['better-sqlite3', 'fastify', 'kysely', 'pg'])
    expect(notices).toMatch(new RegExp(`^== ${name} \\d.*\\(MIT\\)\n\n.*Permission is hereby granted`, 'ms'));
  const addons = readdirSync(join(unpacked, 'dist/better-sqlite3/prebuilds'));
  expect(addons).toContain(`${process.platform}-${process.arch}.node`);
  expect(addons.filter((name) => !name.endsWith(`-${process.arch}.node`))).toEqual([]);

  const node = join(path, 'node');
  linkOrCopy(process.execPath, node);
  const args = [join(unpacked, 'dist/cli.js'), 'demo', '--products', '5', '--directory', join(path, 'demo')];
  const bare = { cwd: path, env: { [runMark]: process.env[runMark] } };
  expect(await startedAndEnded(node, args, bare)).toMatchObject({ code: 0 });
  // The control: it finds nothing of this checkout.
  renameSync(join(unpacked, 'dist/better-sqlite3'), join(path, 'better-sqlite3'));
  expect(await startedAndEnded(node, args, bare)).toMatchObject({
    code: 70,
    said: expect.stringMatching(/Cannot find module .*better-sqlite3/),
  });
});

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to);
  }
}
