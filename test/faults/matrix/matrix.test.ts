import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { document } from '../../documents.ts';
import { withTables } from './document.ts';
import { type TestName, testOf, testsOf } from './row.ts';
import { rows } from './rows.ts';
import { judged } from './suite.ts';
import { trackRecord } from './track-record.ts';

const root = new URL('../../../', import.meta.url);
const numbers = (letter: string, last: number) => Array.from({ length: last }, (_, index) => `${letter}${index + 1}`);

/** Those that are not in their file. */
function missing(names: readonly TestName[]): string[] {
  return names.filter((name) => {
    const { file, title } = testOf(name);
    const path = new URL(file, root);
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title);
  });
}

describe('the matrix of faults', () => {
  it('has each of the eighty faults of a mirror, and those of its copies, once', () => {
    const mirror = ['D', 'W', 'U', 'T', 'P'].flatMap((letter, index) =>
      numbers(letter, [25, 15, 22, 7, 12][index] ?? 0),
    );
    const programs = ['memory', 'systemd', 'readers', 'followed', 'mutations', 'promises'];
    expect(rows.map(({ id }) => id)).toEqual([...mirror, ...numbers('S', 12), ...programs]);
  });

  it('says of each what shows it, or that nothing does', () => {
    const silent = rows.filter(
      ({ tests, harness, by, command, open }) => !tests && harness === undefined && !by && !command && !open,
    );
    expect(silent).toEqual([]);
    const { scripts } = JSON.parse(document('package.json')) as { scripts: Record<string, string> };
    const named = rows.flatMap(({ command }) => (command === undefined ? [] : [command.split(' ')[0] ?? '']));
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
    expect(rows.filter(({ by }) => by !== undefined && rows.every(({ id }) => id !== by))).toEqual([]);
  });

  it('names only tests that there are', () => {
    expect(missing(rows.flatMap(testsOf))).toEqual([]);
    expect(missing(['docs | claims nothing', 'nowhere | is'])).toEqual(['docs | claims nothing', 'nowhere | is']);
  });

  it('takes a test that was not run for one that failed, and one that was skipped for neither', () => {
    const assertionResults = [
      { status: 'passed', fullName: 'a disk is full' },
      { status: 'skipped', fullName: 'a disk is slow' },
    ];
    const results = { testResults: [{ name: '/x/test/a.test.ts', assertionResults }] };
    expect(judged(results, ['a | is full', 'a | is slow', 'a | is gone'])).toEqual({
      passed: 1,
      skipped: 1,
      failed: ['test/a.test.ts has no test "is gone"'],
    });
  });

  it('stands in docs/faults.md, each fault with what was measured; vitest -u writes the rest', async () => {
    const path = 'docs/faults.md';
    await expect(withTables(document(path))).toMatchFileSnapshot(fileURLToPath(new URL(path, root)));
  });
});

/** The names that are no commit of this branch's history: what only the machine has on which it was made is gone elsewhere. */
function notInHistory(names: readonly string[]): readonly string[] {
  const { stdout } = spawnSync('git', ['rev-list', 'HEAD'], { cwd: root, encoding: 'utf8' });
  const commits = stdout.split('\n');
  return names.filter((name) => !commits.some((commit) => commit.startsWith(name)));
}

const withHistory =
  spawnSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: root }).stdout?.toString() === 'false\n';

describe('the track record', () => {
  it('names at least 25 bugs, each held by a test that there is', () => {
    expect(trackRecord.length).toBeGreaterThanOrEqual(25);
    expect(missing(trackRecord.map(({ test }) => test))).toEqual([]);
  });

  it('names commits that there are, and of each mending the one before', { skip: !withHistory }, () => {
    const mended = trackRecord.filter((each) => each.mended !== null);
    expect(notInHistory(trackRecord.flatMap((each) => [each.wrong, each.mended ?? each.wrong]))).toEqual([]);
    expect(notInHistory(['0000000'])).toEqual(['0000000']);
    const { stdout } = spawnSync('git', ['rev-parse', ...mended.map((each) => `${each.mended}^`)], {
      cwd: root,
      encoding: 'utf8',
    });
    const before = stdout.trim().split('\n');
    expect(mended.filter(({ wrong }, index) => !before[index]?.startsWith(wrong))).toEqual([]);
  });
});
