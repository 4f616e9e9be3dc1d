import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { candidates, choose } from './choice.ts';

const root = join(import.meta.dirname, '../..');
const near = (...changed: string[]) => candidates(root, changed).map(({ test }) => test);

describe('the tests nearest to a change', () => {
  it.each([
    ['src/kernel/values/money.ts', 'test/kernel/money.test.ts'],
    ['schema/mirror/views.sql', 'test/mirror/views.test.ts'],
    ['schema/contract.json', 'test/mirror/contract/contract.test.ts'],
    ['schema/config.schema.json', 'test/config/equality.test.ts'],
    ['config/catalogued.yaml', 'test/config/equality.test.ts'],
    ['docs/operating.md', 'test/docs.test.ts'],
    ['test/faults/matrix/faults.yaml', 'test/faults/matrix/matrix.test.ts'],
    ['README.md', 'test/docs.test.ts'],
    ['package.json', 'test/docs.test.ts'],
    ['test/fakes/needs.ts', 'test/daemon/needs.test.ts'],
    ['src/commands/resync/resync.ts', 'test/commands/resync.test.ts'],
  ])('of %s has %s', (changed, test) => {
    expect(near(changed)).toContain(test);
  });

  it('are changed tests first, then in turn those of each changed file, each once', () => {
    const [one, other] = ['src/kernel/values/money.ts', 'src/kernel/log.ts'];
    const both = candidates(root, [one, other, 'test/kernel/log.test.ts']);
    expect(both[0]).toEqual({ test: 'test/kernel/log.test.ts', changed: 'test/kernel/log.test.ts' });
    expect(new Set(both.slice(1, 4).map(({ changed }) => changed))).toEqual(new Set([one, other]));
    expect(new Set(both.map(({ test }) => test)).size).toBe(both.length);
  });
});

describe('of these', () => {
  const of = (...tests: string[]) => tests.map((test) => ({ test, changed: 'src/a.ts' }));
  const chosen = (tests: readonly string[], most: number) => {
    const { run, left, seconds } = choose(of(...tests), { seconds: Number, most, processors: 2 });
    return { run: run.map(({ test }) => test), left: left.map(({ test }) => test), seconds };
  };

  it('as many run as the time allows, the nearest first', () => {
    expect(chosen(['5', '9', '30', '6', '4'], 10)).toEqual({ run: ['5', '9', '6'], left: ['30', '4'], seconds: 10 });
  });

  it('the nearest one runs, however long it takes', () => {
    expect(chosen(['30', '1'], 10)).toEqual({ run: ['30'], left: ['1'], seconds: 30 });
  });
});
