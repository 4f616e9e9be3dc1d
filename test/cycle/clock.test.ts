import { describe, expect, it } from 'vitest';
import { runChores } from '../../src/cycle/chores.ts';
import { needs } from '../fakes/needs.ts';
import { filledHarness, noon, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;
const never = new AbortController().signal;

async function filled(): Promise<VirtualHarness> {
  const harness = await filledHarness({ lean: true, products: 30 }, { scheduling: 'fixed' });
  return harness;
}

const broken = ({ rows }: VirtualHarness) =>
  rows<{ resource: string }>('SELECT resource FROM freshness WHERE met = 0').map(({ resource }) => resource);

const calls = ({ sandbox }: VirtualHarness) => sandbox.calls.counts().calls;

describe('a clock that jumps', () => {
  it.each([
    ['three days ahead and back', noon + 3 * day],
    ['to 2038 and back', Date.parse('2038-01-19T03:14:07Z')],
    ['two days back and forth', noon - 2 * day],
  ])('(%s) freezes nothing: half a day later every promise is kept', async (_, wrong) => {
    await using harness = await filled();
    const right = harness.clock.now();
    harness.clock.set(wrong);
    await harness.liveUntil(wrong + hour);
    harness.clock.set(right + hour);
    const before = calls(harness);
    await harness.drive(runChores(harness.daemon.sync, never));
    await harness.liveUntil(right + 13 * hour);
    expect(broken(harness)).toEqual([]);
    // Everything was read once more, and nothing was asked for again and again.
    expect(calls(harness) - before).toBeLessThan(30 * 6 + 30 * 3 + 10);
  });
});

describe('after a downtime of three days', () => {
  it('the near dates of everything come first, at the pace of the limiter, and then drift apart again', async () => {
    const order: string[] = [];
    await using harness = await filledHarness(
      {
        lean: true,
        products: 60,
        served: ({ path, query, at }) => order.push(`${path} ${query.get('start_date') ?? ''} ${at}`),
      },
      { scheduling: 'fixed', budget: { requests_per_second: 10, concurrency: 4 } },
    );
    await harness.live(6 * hour);
    order.length = 0;
    const start = harness.clock.now() + 3 * day;
    await harness.drive(harness.clock.sleep(3 * day));
    await harness.liveUntil(start + hour);
    const near = order.map((line) => line.includes('/availability') && !/2026-12|2027/.test(line.split(' ')[1] ?? ''));
    const last = near.lastIndexOf(true);
    expect(near.filter(Boolean).length).toBeGreaterThanOrEqual(56);
    // Ahead of the far dates, but for the share that these are sure of.
    expect(near.slice(0, last).filter((each) => !each).length / last).toBeLessThan(0.4);
    const at = order.map((line) => Number(line.split(' ')[2]));
    for (const [index, instant] of at.entries())
      expect((at[index + 30] ?? Number.POSITIVE_INFINITY) - instant).toBeGreaterThan(2000);
  });
});

it('a record that always fails delays nobody: the others are as fresh as without it', needs('time'), async () => {
  const worst = async (fails: boolean) => {
    const last = new Map<string, number>();
    let [late, lived] = [0, 0];
    await using harness = await virtualHarness(
      {
        lean: true,
        products: 40,
        served: ({ path, query, at }) => {
          if (!path.endsWith('/availability')) return;
          const key = `${path} ${Math.round((Date.parse(query.get('start_date') ?? '') - noon) / day / 31)}`;
          const before = last.get(key);
          if (before !== undefined)
            [late, lived] = [late + Math.max(0, at - before - 0.98 * 6 * hour), lived + at - before];
          last.set(key, at);
        },
      },
      { scheduling: 'fixed', budget: { requests_per_second: 10, concurrency: 4 } },
    );
    await harness.fill();
    const [first] = harness.sandbox.world.visible();
    if (fails) harness.sandbox.faults.add({ kind: 'garbage', path: `^/v2/products/${first?.id}/` });
    await harness.liveUntil(noon + 3 * day);
    for (const key of [...last.keys()]) if (key.includes(`/${first?.id}/`)) last.delete(key);
    const record = harness.daemon.mirror.schedule.records
      .ofProduct(first?.id ?? 0)
      .find(({ resource, part }) => resource === 'availability' && part === 0);
    return {
      mean: lived / Math.max(1, last.size),
      late,
      failures: record?.failures ?? 0,
      due_in: (record?.due_at ?? 0) - harness.clock.now(),
    };
  };
  const [without, beside] = [await worst(false), await worst(true)];
  expect(beside.failures).toBeGreaterThanOrEqual(5);
  expect(beside.due_in).toBeLessThanOrEqual(day);
  expect(Math.abs(beside.mean / without.mean - 1)).toBeLessThan(0.05);
});
