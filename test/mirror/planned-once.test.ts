import { expect, it } from 'vitest';
import { recordedStatements } from '../fakes/recorded-statements.ts';
import { testMirror } from '../fakes/test-mirror.ts';

it('no statement that the mirror keeps is planned again for each value: its parameters are expressions', () => {
  const texts = recordedStatements(() => {
    using _ = testMirror();
  }).filter((text) => /[?@]/.test(text));
  expect(texts.length).toBeGreaterThan(150);
  expect(texts.filter((text) => /(?<!\+)[?@]/.test(text))).toEqual([]);
});
