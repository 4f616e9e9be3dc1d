import { join } from 'node:path';
import { expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { openInbox } from '../../src/receiver/inbox.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const at = instant(Date.parse('2026-11-21T12:00:00Z'));
const minute = 60_000;
const held = (code: string, since: number | null = null) => ({
  code,
  since: since === null ? null : instant(since),
  says: 'it is so',
});

function testInbox() {
  const directory = temporaryDirectory();
  const inbox = openInbox(join(directory.path, 'inbox.db'), { master: null, now: at });
  const stack = new DisposableStack();
  stack.use(directory);
  stack.use(inbox);
  return { ...inbox, [Symbol.dispose]: () => stack.dispose() };
}

it('a condition that comes, goes and comes again has two periods, each from when it held', () => {
  using inbox = testInbox();
  const { conditions } = inbox;
  expect(conditions.note([held('a', at - minute), held('b')], at)).toEqual({ began: ['a', 'b'], ended: [] });
  expect(conditions.note([held('a', at - minute), held('b')], instant(at + minute))).toEqual({ began: [], ended: [] });
  expect(conditions.note([held('b')], instant(at + 2 * minute))).toEqual({ began: [], ended: ['a'] });
  expect(conditions.note([held('a'), held('b')], instant(at + 3 * minute))).toEqual({ began: ['a'], ended: [] });
  expect(conditions.flips({ from: instant(0) })).toMatchObject([
    { code: 'a', began_at: at - minute, ended_at: at + 2 * minute },
    { code: 'b', began_at: at, ended_at: null },
    { code: 'a', began_at: at + 3 * minute, ended_at: null },
  ]);
  expect(conditions.flips({ from: instant(at + 2 * minute + 1) })).toHaveLength(2);
});

it('what is acknowledged is so until the condition ends, and not when it comes again', () => {
  using inbox = testInbox();
  const { conditions } = inbox;
  expect(conditions.acknowledge('a', 'we know', at)).toBe(false);
  conditions.note([held('a')], at);
  expect(conditions.acknowledge('a', 'we know', instant(at + minute))).toBe(true);
  expect(conditions.open()).toMatchObject([{ acknowledged: 'we know', acknowledged_at: at + minute }]);
  conditions.note([], instant(at + 2 * minute));
  conditions.note([held('a')], instant(at + 3 * minute));
  expect(conditions.open()).toMatchObject([{ acknowledged: null }]);
});

it('a period is forgotten when it ended long ago, and never while it lasts', () => {
  using inbox = testInbox();
  const { conditions } = inbox;
  conditions.note([held('a'), held('b')], at);
  conditions.note([held('b')], instant(at + minute));
  conditions.prune(instant(at + minute));
  expect(conditions.flips({ from: instant(0) })).toHaveLength(2);
  conditions.prune(instant(at + minute + 1));
  expect(conditions.flips({ from: instant(0) })).toMatchObject([{ code: 'b' }]);
});

it('a clock that was set back ends no period before it began', () => {
  using inbox = testInbox();
  inbox.conditions.note([held('a')], at);
  inbox.conditions.note([], instant(at - minute));
  expect(inbox.conditions.flips({ from: instant(0) })).toMatchObject([{ began_at: at, ended_at: at }]);
});

it('conditions are watched since the first look, also of a look that finds nothing', () => {
  using inbox = testInbox();
  const { conditions } = inbox;
  expect(conditions.watchedSince()).toBeNull();
  conditions.note([], at);
  conditions.note([held('a', at - minute)], instant(at + minute));
  expect(conditions.watchedSince()).toBe(at);
});
