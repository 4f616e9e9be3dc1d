import { beforeAll, describe, expect, it } from 'vitest';
import { namedTests } from './named-tests.ts';

// The parser comes with vitest's own program, which looks at the machine as it is loaded.
let titlesIn: (text: string) => string[];
beforeAll(async () => {
  ({ titlesIn } = await import('./deleted.ts'));
});

describe('the titles of a test file', () => {
  it.each([
    ["it('adds', () => {});", 'adds'],
    ["it.skip('adds', needs('php'), () => {});", 'a sum adds'],
    ["it.each([[1, 'x']])('of %s adds $name.first to it', () => {});", 'of 1 adds 2 to it'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a test.
    ['describe(`x`, () => { for (const n of [1]) it(`adds ${n} (at most)`, () => {}); });', 'x adds 1 (at most)'],
    ["it.for(rows)('adds', () => {});", 'adds'],
  ])('%s is found and matches what is printed of it', (text, printed) => {
    const [title = '', ...others] = titlesIn(text);
    expect(others).toEqual([]);
    expect(printed).toMatch(new RegExp(title));
    expect(`${printed} too`).not.toMatch(new RegExp(title));
  });

  it('are none of a describe, an expectation or another function', () => {
    expect(titlesIn("describe('x', () => { expect('y'); each('z'); item('w'); });")).toEqual([]);
  });
});

it('a test that is named on a command line is a whole file or some of its titles', () => {
  const [whole, some] = namedTests(['test/a.test.ts', 'test/b.test.ts > x > y', 'test/b.test.ts > z']);
  expect(whole).toEqual({ file: 'test/a.test.ts', titles: null });
  expect(some?.file).toBe('test/b.test.ts');
  const isOne = (printed: string) => some?.titles?.some((title) => new RegExp(title).test(printed));
  expect(['x y', 'z', 'y', 'x y z2'].map(isOne)).toEqual([true, true, false, false]);
});
