import { expect, test } from 'vitest';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const day = 86_400_000;

/** Returns the calls for dates from day 92 on of eight days, after a fill, and the targets of the dates. */
async function live(beyond: { days: number; every: string } | undefined) {
  let [far, all] = [0, 0];
  const served = ({ at, path, query }: { at: number; path: string; query: URLSearchParams }) => {
    if (!path.endsWith('/availability')) return;
    all += 1;
    if (Date.parse(query.get('start_date') ?? '') >= at + 91 * day) far += 1;
  };
  const availability = { horizon: 365, ...(beyond === undefined ? {} : { beyond }) };
  await using harness = await filledHarness({ products: 2, lean: true, served }, { cadence: { availability } });
  const { clock, daemon } = harness;
  [far, all] = [0, 0];
  await harness.liveUntil(clock.now() + 8 * day);
  const reader = openMirrorAt(daemon.mirror.path, clock.now());
  const targets = reader
    .prepare<[], { tier: string; target_ms: number; records: number; stale: number }>(
      "SELECT tier, target_ms, records, stale FROM freshness WHERE resource = 'availability' ORDER BY target_ms",
    )
    .all();
  reader.close();
  return { far, near: all - far, targets };
}

test('dates from day 92 on are read every 8 days where that is configured, and else daily', async () => {
  const usual = await live(undefined);
  const seldom = await live({ days: 92, every: '8d' });
  const calls = (each: number) => each / 2 / 8;
  // Nine windows, of which each record is read a little sooner until it has found its own time of the day.
  expect(calls(usual.far)).toBeGreaterThanOrEqual(9);
  expect(calls(usual.far)).toBeLessThan(9 * 1.2);
  expect(calls(seldom.far)).toBeGreaterThanOrEqual(9 / 8);
  expect(calls(seldom.far)).toBeLessThan((9 / 8) * 1.2);
  expect(seldom.near).toBeGreaterThan(usual.near * 0.9);
  expect(usual.targets.map(({ tier }) => tier)).toEqual(['near', 'middle', 'far']);
  expect(seldom.targets).toMatchObject([
    { tier: 'near' },
    { tier: 'middle' },
    { tier: 'far', target_ms: day },
    { tier: 'beyond', target_ms: 8 * day, records: 20, stale: 0 },
  ]);
});
