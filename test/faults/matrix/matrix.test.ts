import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { document } from '../../documents.ts';
import { judged } from './suite.ts';
import { type NamedTest, rows } from './table.ts';

const root = new URL('../../../', import.meta.url);
const numbers = (letter: string, last: number) => Array.from({ length: last }, (_, index) => `${letter}${index + 1}`);

/** Those that are not in their file. */
function missing(tests: readonly NamedTest[]): string[] {
  const gone = tests.filter(({ file, title }) => {
    const path = new URL(file, root);
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title);
  });
  return gone.map(({ file, title }) => `${file} “${title}”`);
}

describe('the matrix of faults', () => {
  it('has each of the eighty faults of a mirror, and those of its copies, once', () => {
    const mirror = ['D', 'W', 'U', 'T', 'P'].flatMap((letter, index) =>
      numbers(letter, [25, 15, 22, 7, 12][index] ?? 0),
    );
    const programs = ['memory', 'systemd', 'readers', 'followed', 'mutations', 'promises'];
    expect(rows.map(({ id }) => id)).toEqual([...mirror, ...numbers('S', 13), ...programs]);
  });

  it('says of each what shows it, or that nothing does', () => {
    const silent = rows.filter(
      ({ tests, by, commands, open }) => tests.length + by.length + commands.length === 0 && open === '',
    );
    expect(silent).toEqual([]);
  });

  it('names only tests, npm scripts and rows that there are', () => {
    expect(missing(rows.flatMap(({ tests }) => tests))).toEqual([]);
    const made = [
      { file: 'test/docs.test.ts', title: 'claims nothing' },
      { file: 'test/nowhere.test.ts', title: 'is' },
    ];
    expect(missing(made)).toEqual(['test/docs.test.ts “claims nothing”', 'test/nowhere.test.ts “is”']);
    const { scripts } = JSON.parse(document('package.json')) as { scripts: Record<string, string> };
    const named = rows.flatMap(({ commands }) => commands.map((each) => each.split(' ')[0] ?? ''));
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
    expect(rows.flatMap(({ by }) => by).filter((each) => rows.every(({ id }) => id !== each))).toEqual([]);
  });

  it('takes a test that was not run for one that failed, and one that was skipped for neither', () => {
    const assertionResults = [
      { status: 'passed', fullName: 'a disk is full' },
      { status: 'skipped', fullName: 'a disk is slow' },
    ];
    const results = { testResults: [{ name: '/x/test/a.test.ts', assertionResults }] };
    const tests = ['is full', 'is slow', 'is gone'].map((title) => ({ file: 'test/a.test.ts', title }));
    expect(judged(results, tests)).toEqual({
      passed: 1,
      skipped: 1,
      failed: ['test/a.test.ts has no test "is gone"'],
    });
  });
});
