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
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; optional?: true }>;
  };
  const wanted = Object.entries(lock.packages).filter(
    ([at, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(at) && dev !== true,
  );
  const found = packagesIn(join(unpacked, 'node_modules'));
  expect(found.sort()).toEqual(wanted.map(([at]) => at.slice('node_modules/'.length)).sort());
  expect(readdirSync(unpacked).sort()).toEqual(
    ['LICENSE', 'README.md', 'config', 'dist', 'docs', 'node_modules', 'package.json', 'schema'].sort(),
  );

  const node = join(path, 'node');
  linkOrCopy(process.execPath, node);
  const args = [join(unpacked, 'dist/cli.js'), 'demo', '--products', '5', '--directory', join(path, 'demo')];
  const bare = { cwd: path, env: { [runMark]: process.env[runMark] } };
  expect(await startedAndEnded(node, args, bare)).toMatchObject({ code: 0 });
  // The control: it finds nothing of this checkout.
  renameSync(join(unpacked, 'node_modules/better-sqlite3'), join(path, 'better-sqlite3'));
  expect(await startedAndEnded(node, args, bare)).toMatchObject({
    code: 70,
    said: expect.stringContaining("package 'better-sqlite3'"),
  });
});

/** Names as in a lock file: `@orama/stemmers`. */
function packagesIn(modules: string): string[] {
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name],
    );
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to);
  }
}
