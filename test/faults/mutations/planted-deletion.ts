import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startProgram } from '../../fakes/run-cli.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import type { Outcome } from '../run.ts';

const root = join(import.meta.dirname, '../../..');

const asserting = (claim: string) => `import { expect, it } from 'vitest';
import { sum } from '../src/sum.ts';

it('adds', () => ${claim});
`;
const whole = 'expect([sum(1, 2), sum(11, 2), sum(15, 2)]).toEqual([3, 12, 12])';

/** Files of a project with three tests of one function: two know what it returns, one only that it returns something. */
const project: Readonly<Record<string, string>> = {
  '.gitignore': 'node_modules\n',
  'package.json': '{ "type": "module" }',
  'src/sum.ts': 'export const sum = (a: number, b: number): number => (a > 10 ? 10 + b : a + b);\n',
  'test/vitest.config.ts': 'export default { test: { root: import.meta.dirname } };\n',
  'test/deleted.test.ts': asserting(whole),
  'test/heir.test.ts': asserting(whole),
  'test/stranger.test.ts': asserting('expect(sum(1, 2)).toBeDefined()'),
};

/** Deletes a test of a small project, once with an heir and once with none that knows as much: only the first may pass. */
export async function plantedDeletion(say: (line: string) => void): Promise<Outcome> {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'project');
  for (const [file, text] of Object.entries(project)) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  cpSync(join(root, 'tsconfig.json'), join(path, 'tsconfig.json'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=nobody', '-c', 'user.email=nobody@localhost', ...args], { cwd: path });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'project: three tests');
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'));
  rmSync(join(path, 'test/deleted.test.ts'));
  const codes: (number | null)[] = [];
  for (const heir of ['heir', 'stranger']) {
    const args = ['--root', path, '--mutants', '2', '--workers', '1', '--heirs', `test/${heir}.test.ts`];
    const { code, stdout, stderr } = await startProgram(
      [process.execPath, join(import.meta.dirname, 'deletion.ts'), ...args],
      { env: process.env },
    ).ended;
    for (const line of `${stdout}${stderr}`.trim().split('\n')) say(line);
    codes.push(code);
  }
  return { passed: codes.join() === '0,1', numbers: `exit ${codes[0]} with an heir, ${codes[1]} with a stranger` };
}
