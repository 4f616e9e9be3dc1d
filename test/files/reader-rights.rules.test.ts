import { expect, it } from 'vitest';
import { shutOutOf } from '../../src/files/reader-rights.rules.ts';

it('readers are shut out by a mode or a group that has less than before, and by nothing else', () => {
  const before = { mode: 0o3770, gid: 7 };
  const check = (now: { mode: number; gid: number }, from = before) => {
    const found = shutOutOf('/m', from, now);
    return found === null ? null : [found.mode_was, found.group_was];
  };
  expect(check(before)).toBeNull();
  expect(check({ mode: 0o3775, gid: 7 })).toBeNull();
  expect(check({ mode: 0o3700, gid: 7 })).toEqual([0o3770, null]);
  expect(check({ mode: 0o3750, gid: 7 })).toEqual([0o3770, null]);
  expect(check({ mode: 0o3770, gid: 0 })).toEqual([null, 7]);
  // Others could read, and can no more.
  expect(check({ mode: 0o750, gid: 7 }, { mode: 0o755, gid: 7 })).toEqual([0o755, null]);
  // A group that could do nothing has lost nothing.
  expect(check({ mode: 0o700, gid: 0 }, { mode: 0o700, gid: 7 })).toBeNull();
});
