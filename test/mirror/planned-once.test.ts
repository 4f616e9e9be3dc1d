import { join } from 'node:path';
import { expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { openInbox } from '../../src/inbox/inbox.ts';
import { preparedAtOnce } from '../fakes/prepared-when-used.ts';
import { recordedStatements } from '../fakes/recorded-statements.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';

it('no statement that the mirror keeps is planned again for each value: its parameters are expressions', () => {
  using _ = preparedAtOnce();
  const texts = recordedStatements(() => {
    using _ = testMirror();
  }).filter((text) => /[?@]/.test(text));
  expect(texts.length).toBeGreaterThan(150);
  expect(texts.filter((text) => /(?<!\+)[?@]/.test(text))).toEqual([]);
});

it('a start prepares every statement of the inbox, too, before it uses one', () => {
  using directory = temporaryDirectory();
  const opened = () =>
    recordedStatements(() =>
      openInbox(join(directory.path, 'inbox.db'), { master: null, now: instant(0) })[Symbol.dispose](),
    ).length;
  opened();
  const whenUsed = opened();
  using _ = preparedAtOnce();
  expect(opened()).toBeGreaterThan(whenUsed + 40);
});
