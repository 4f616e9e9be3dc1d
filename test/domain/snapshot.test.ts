import { describe, expect, it } from 'vitest';
import { type SnapshotFacts, snapshotDue, snapshotLate } from '../../src/domain/files/snapshot.ts';

const minute = 60_000;
const hour = 60 * minute;
const now = Date.UTC(2026, 10, 21, 12);
const never: SnapshotFacts = { published_at: null, failures: 0, failed_at: null };

describe('a snapshot', () => {
  it.each<[string, Partial<SnapshotFacts>, boolean]>([
    ['is due when there is none', {}, true],
    ['is not due within its period', { published_at: now - hour + 1 }, false],
    ['is due after its period', { published_at: now - hour }, true],
    ['is due when its stamp lies ahead', { published_at: now + 6 * minute }, true],
    ['is not due for a clock that was set back a little', { published_at: now + 4 * minute }, false],
    ['waits a minute after a failure', { failures: 1, failed_at: now - minute + 1 }, false],
    ['is tried again after a minute', { failures: 1, failed_at: now - minute }, true],
    ['is tried again later each time', { failures: 4, failed_at: now - 7 * minute }, false],
    ['is tried again a period after the last failure at the latest', { failures: 60, failed_at: now - hour }, true],
    ['does not wait for a failure that lies ahead', { failures: 1, failed_at: now + hour }, true],
  ])('%s', (_, facts, due) => {
    expect(snapshotDue({ ...never, ...facts }, hour, now)).toBe(due);
  });

  it('is late after two periods, when there is none, and when its stamp lies ahead', () => {
    const late = [now - 2 * hour, now - 2 * hour - 1, null, now + hour].map((at) => snapshotLate(at, hour, now));
    expect(late).toEqual([false, true, true, true]);
  });
});
