import { expect, it } from 'vitest';
import { recordedStatements } from '../fakes/recorded-statements.ts';
import { testMirror } from '../fakes/test-mirror.ts';

it('no statement that the mirror keeps is planned again for each value: its parameters are expressions', () => {
  const texts = recordedStatements(() => {
    using _ = testMirror();
  }).filter((text) => /[?@]/.test(text));
  expect(texts.length).toBeGreaterThan(150);
  // Once, before the tables are opened: it claims the file.
  const claim = texts.filter((text) => text.startsWith('INSERT INTO mirror '));
  expect(claim).toHaveLength(1);
  expect(texts.filter((text) => !claim.includes(text) && /(?<!\+)[?@]/.test(text))).toEqual([]);
});
