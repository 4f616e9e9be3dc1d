import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fruitlessSearches } from '../../src/daemon/fruitless.ts';
import { instant } from '../../src/kernel/clock.ts';
import { openInbox, openInboxForReading } from '../../src/receiver/inbox.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { manualClock } from '../service/manual-clock.ts';

const day = 20_779;
const now = instant(day * 86_400_000);

function testInbox() {
  const stack = new DisposableStack();
  const directory = stack.use(temporaryDirectory());
  const path = join(directory.path, 'inbox.db');
  const inbox = stack.use(openInbox(path, { master: null, now }));
  const counted = (least = 1, first = day, last = day) => {
    using reader = openInboxForReading(path);
    return reader.searches.fruitless({ first, last, least });
  };
  return { inbox, counted, [Symbol.dispose]: () => stack.dispose() };
}

it('searches in vain are counted by day and summed up over days, the most frequent first', () => {
  using test = testInbox();
  const { searches } = test.inbox;
  searches.add(
    day,
    new Map([
      ['zoo', 3],
      ['aquarium', 4],
    ]),
    10,
  );
  searches.add(day, new Map([['zoo', 2]]), 10);
  searches.add(day - 1, new Map([['zoo', 1]]), 10);
  expect(test.counted()).toEqual([
    { words: 'zoo', searches: 5 },
    { words: 'aquarium', searches: 4 },
  ]);
  expect(test.counted(5)).toEqual([{ words: 'zoo', searches: 5 }]);
  expect(test.counted(1, day - 1)).toContainEqual({ words: 'zoo', searches: 6 });
});

it('searches of days before retention are forgotten, and no others', () => {
  using test = testInbox();
  test.inbox.searches.add(day - 1, new Map([['old', 1]]), 9);
  test.inbox.searches.add(day, new Map([['new', 1]]), 9);
  test.inbox.searches.prune(day);
  expect(test.counted(1, 0)).toEqual([{ words: 'new', searches: 1 }]);
});

it('a flood of nonsense takes no more memory or rows than a thousand words, and nothing twice', () => {
  using test = testInbox();
  const searches = fruitlessSearches(test.inbox, manualClock(now));
  const vain = { matched: [] };
  for (let index = 0; index < 5000; index += 1)
    searches.note({ text: `x${'abcdefghij'[index % 10]}`.padEnd(3 + (index % 600), 'y') }, vain);
  for (let index = 0; index < 1200; index += 1) {
    const letters = index.toString(26).replaceAll(/\d/g, (digit) => 'zyxwvutsrq'[Number(digit)] ?? '');
    searches.note({ text: `word ${letters}` }, vain);
  }
  searches.flush();
  expect(test.counted().length).toBeLessThanOrEqual(1000);
  const before = test.counted();
  searches.flush();
  expect(test.counted()).toEqual(before);
});
