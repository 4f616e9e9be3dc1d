import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SeenProduct, ViewCounter } from '../../src/desk/views.ts';
import { instant } from '../../src/kernel/clock.ts';
import { explainProduct } from '../../src/says/explain/explain.ts';
import { surveyDemand } from '../../src/schedule/call-value.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const day = 86_400_000;

/** Twelve products that have been read once, and what storefronts tell of them. */
async function world(stack: AsyncDisposableStack) {
  const harness = stack.use(
    await filledHarness(
      { products: 12, lean: true },
      { budget: { requests_per_second: 10, concurrency: 4, share: 0.25 } },
    ),
  );
  const { daemon, clock } = harness;
  const { sync, mirror } = daemon;
  const views = new ViewCounter(sync);
  const seen = (products: readonly Partial<SeenProduct>[], caller: string | null = null) => {
    const whole = products.map((each) => ({ product_id: 0, date: null, count: 1, ...each }));
    return views.seen({ seen: whole, caller });
  };
  const dateIn = (days: number) => new Date(clock.now() + days * day).toISOString().slice(0, 10);
  const survey = async () => {
    const last = mirror.schedule.budget.demand();
    if (last !== null) mirror.transaction(() => mirror.schedule.budget.saveDemand(last, instant(0)));
    await surveyDemand(sync, new AbortController().signal);
  };
  const ids = mirror.catalogue.products.ids();
  const weigh = (product_id: number | undefined) => {
    const found = explainProduct(sync, product_id ?? 0);
    if (found === null) throw new Error('no such product');
    const windows = found.records.filter(({ resource }) => resource === 'availability');
    return { ...found.weighed, weight: found.weight, windows: windows.map(({ weight }) => weight) };
  };
  return { harness, sync, mirror, clock, ids, views, seen, survey, weigh, dateIn };
}

describe('what shoppers look at', () => {
  const stack = new AsyncDisposableStack();
  let all: Awaited<ReturnType<typeof world>>;
  beforeAll(async () => {
    all = await world(stack);
  });
  afterAll(() => stack.disposeAsync());

  it('weighs a product and the window of the dates, fades by half in thirty days, and is told apart from its place', async () => {
    const { ids, views, seen, survey, weigh, dateIn, clock, mirror } = all;
    await survey();
    const [looked, other] = [weigh(ids[0]), weigh(ids[1])];
    expect([looked.views, other.views]).toEqual([0, 0]);

    expect(
      seen([
        { product_id: ids[0] ?? 0, date: dateIn(40), count: 25 },
        { product_id: ids[0] ?? 0, count: 5 },
      ]),
    ).toEqual({
      counted: 30,
      ignored: 0,
    });
    expect(weigh(ids[0]).views).toBe(0);
    await views.flush();
    await survey();
    const after = weigh(ids[0]);
    expect(after).toMatchObject({ views: 30, list_place: looked.list_place, limited: false });
    expect(after.interest - looked.interest).toBeCloseTo(3, 9);
    expect(after.windows[1]).toBeGreaterThan(2 * (after.windows[0] ?? 0));
    expect(after.windows.reduce((sum, each) => sum + each, 0) / after.windows.length).toBeCloseTo(after.weight, 9);
    // Views of one product update the split over windows of all products a little, and never their weight.
    const { windows, ...rest } = weigh(ids[1]);
    expect({ ...rest, windows: other.windows }).toEqual(other);
    expect(windows[1]).toBeGreaterThan(windows[0] ?? 0);

    await clock.advance(30 * day);
    expect(weigh(ids[0]).views).toBeCloseTo(15, 6);
    // What is left of them, and more.
    seen([{ product_id: ids[0] ?? 0, count: 5 }]);
    await views.flush();
    expect(weigh(ids[0]).views).toBeCloseTo(20, 6);
    expect(mirror.transaction(() => mirror.schedule.interest.prune({ before: clock.now() }))).toBe(1);
  });

  it('of products that are not mirrored, and of a caller beyond its limit, is ignored and said so', async () => {
    const { ids, seen, views, weigh, dateIn, clock } = all;
    expect(
      seen([
        { product_id: 999_999_999, count: 4 },
        { product_id: ids[2] ?? 0, count: 2 },
      ]),
    ).toEqual({ counted: 2, ignored: 4 });
    // Neither the past nor beyond the horizon has a window: the product was looked at all the same.
    expect(
      seen([
        { product_id: ids[2] ?? 0, date: dateIn(-9) },
        { product_id: ids[2] ?? 0, date: dateIn(2000) },
      ]).counted,
    ).toBe(2);
    const told = Array.from({ length: 31 }, () => seen([{ product_id: ids[3] ?? 0 }], 'a script').counted);
    expect([told.slice(0, 30).every((each) => each === 1), told[30]]).toEqual([true, 0]);
    expect(seen([{ product_id: ids[3] ?? 0 }], 'somebody else').counted).toBe(1);
    await clock.advance(60_000);
    expect(seen([{ product_id: ids[3] ?? 0 }], 'a script').counted).toBe(1);
    await views.flush();
    expect([weigh(ids[2]).views, weigh(ids[3]).views]).toEqual([expect.closeTo(4, 3), expect.closeTo(32, 3)]);
    const [first, second] = [ids[2], ids[3]].map((id) => weigh(id));
    expect((first?.windows[1] ?? 0) / (first?.weight ?? 0)).toBeCloseTo(
      (second?.windows[1] ?? 1) / (second?.weight ?? 1),
      9,
    );
  });
});
