import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const repository = join(import.meta.dirname, '../..');

/** The directory of a commit, installed and built; without a commit, of what stands here. One that is there is not built again. */
export function builtCommit(commit: string | undefined): string {
  if (commit === undefined) {
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: repository, stdio: ['ignore', 'ignore', 'inherit'] });
    return repository;
  }
  const hash = execFileSync('git', ['rev-parse', '--short', commit], { cwd: repository, encoding: 'utf8' }).trim();
  const root = join(tmpdir(), `catalogued-built-${hash}`);
  if (existsSync(join(root, 'dist/cli.js'))) return root;
  mkdirSync(root, { recursive: true });
  const archive = execFileSync('git', ['archive', hash], { cwd: repository, maxBuffer: 1 << 28 });
  execFileSync('tar', ['-x', '-C', root], { input: archive });
  const same = readFileSync(join(root, 'package-lock.json')).equals(
    readFileSync(join(repository, 'package-lock.json')),
  );
  if (same) symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
  else
    execFileSync('npm', ['ci', '--silent', '--ignore-scripts=false'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  return root;
}
