import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { declaredIn } from './declared.ts';
import { guarantees, linesOfRows, promised } from './promises.ts';

const root = join(import.meta.dirname, '../../..');

it('each line that keeps a promise stands once where its name is declared, and the tests that notice its change are there', () => {
  const tests = promised().flatMap((each) => each.tests ?? []);
  expect([...new Set(tests.map(({ file }) => file))].filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

it('the tests that show a guarantee are there', () => {
  const named = guarantees.flatMap(({ shown }) => shown.filter((each) => !each.includes(' -- ')));
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((name) => !existsSync(join(root, `test/${name}.test.ts`)))).toEqual([]);
});

it('at least three lines keep each guarantee', () => {
  const rows = linesOfRows();
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.filter(({ lines }) => lines < 3)).toEqual([]);
});

it('a name is that of what stands at the top of a file, or of a member of a class there', () => {
  const text = `/** Adds. */
export async function sum(a: number): Promise<number> {
  const inner = a;
  return inner;
}

export abstract class Counter<Of> implements Disposable {
  readonly #count = 0;

  get count(): number {
    return this.#count;
  }

  async #add(by: Of): Promise<void> {
    await this.write(by);
  }

  [Symbol.dispose](): void {}
}

const most = 3;
`;
  const declared = declaredIn('src/a.ts', text);
  const members = ['#count', 'count', '#add', '[Symbol.dispose]'].map((name) => `Counter.${name}`);
  expect(declared.map(({ name }) => name)).toEqual(['sum', 'Counter', ...members, 'most']);
  const add = declared.find(({ name }) => name === 'Counter.#add');
  expect(text.slice(add?.start, add?.end)).toContain('await this.write(by)');
});
