import { describe, expect, it } from 'vitest';
import {
  addInterest,
  addSplit,
  interestIn,
  mostInterest,
  noInterest,
  shareOfGreatest,
  viewsOfTicket,
  windowInterest,
} from '../../src/schedule/interest.rules.ts';

const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);
const among = (interests: readonly number[]) => interests.reduce(addInterest, noInterest);
/** What counts of each, and the whole of it. */
function counted(interests: readonly number[]) {
  const most = mostInterest(among(interests));
  const each = interests.map((interest) => Math.min(interest, most));
  return { each, all: sum(each) };
}

describe('interest in a product, by which it gets its share of reads,', () => {
  const places = Array.from({ length: 1000 }, (_, index) => index + 1);

  it('follows its place in the list, mildly, as long as nothing was seen; the mean over all places is 1', () => {
    const interests = places.map((list_place) => interestIn({ list_place, views: 0 }, 1000));
    expect(interests).toEqual(interests.toSorted((a, b) => b - a));
    expect([interests[0], interests[999]]).toEqual([expect.closeTo(6.67, 2), expect.closeTo(0.67, 2)]);
    expect(sum(interests) / 1000).toBeCloseTo(1, 1);
  });

  it('is usual where the list has no order, and where a place lies beyond the catalogue', () => {
    expect(interestIn({ list_place: null, views: 0 }, 1000)).toBe(1);
    expect(interestIn({ list_place: 5000, views: 0 }, 1000)).toBeCloseTo(2 / 3, 9);
    expect(interestIn({ list_place: 1, views: 0 }, 0)).toBeCloseTo(2 / 3, 9);
  });

  it('follows its own views more, the more there are: after some hundred, the place in the list hardly counts', () => {
    const interest = (list_place: number, views: number) => interestIn({ list_place, views }, 1000);
    expect(interest(1, 0) / interest(1000, 0)).toBeCloseTo(10, 9);
    expect(interest(1, 500) / interest(1000, 500)).toBeLessThan(1.15);
    expect(interest(1000, 1000) / interest(1, 100)).toBeGreaterThan(5);
  });
});

describe('however often one product is said to be seen', () => {
  it.each([
    ['among a thousand', 1000, 0.1],
    ['among a hundred', 100, 0.1],
    ['among eight', 8, 0.625],
  ])('it counts for a stated share, %s', (_, products, share) => {
    const forged = [1e9, ...Array.from({ length: products - 1 }, () => 1)];
    const { each, all } = counted(forged);
    expect((each[0] ?? 0) / all).toBeCloseTo(share, 9);
    expect(each.slice(1)).toEqual(forged.slice(1));
    expect(shareOfGreatest(among(forged), mostInterest(among(forged)))).toBeGreaterThanOrEqual(share - 1e-9);
  });

  it('others that are seen most keep their share of the rest', () => {
    const honest = Array.from({ length: 500 }, (_, rank) => 100 / (rank + 1) ** 0.7);
    const [before, after] = [counted(honest), counted([...honest, 1e12])];
    expect(after.each.at(-1)).toBeCloseTo(0.1 * after.all, 6);
    for (const rank of [0, 1, 10, 499])
      expect((after.each[rank] ?? 0) / after.all).toBeGreaterThan(
        (0.9 * (before.each[rank] ?? 0)) / before.all - 1e-12,
      );
  });

  it('nine at once take a tenth each, and thirty are all equal', () => {
    const nine = [...Array.from({ length: 9 }, () => 1e9), ...Array.from({ length: 991 }, () => 1)];
    const { each, all } = counted(nine);
    expect(each.slice(0, 9).map((one) => one / all)).toEqual(Array.from({ length: 9 }, () => expect.closeTo(0.1, 9)));
    expect(new Set(counted(Array.from({ length: 30 }, () => 1e9)).each).size).toBe(1);
  });
});

describe('the interest in a window of dates', () => {
  const windows = (views: readonly number[], split: readonly number[]) =>
    [0, 1, 2].map((part) => windowInterest(views, part, split));

  it('is the usual one without views, and above it where the views are', () => {
    expect(windows([0, 0, 0], [])).toEqual([1, 1, 1]);
    expect(windows([540, 60, 0], [])).toEqual([
      expect.closeTo(2.55, 2),
      expect.closeTo(0.36, 2),
      expect.closeTo(0.09, 2),
    ]);
  });

  it('is that of all products where its own views are few, of which each product counts once at most', () => {
    const split = Array.from({ length: 300 }, () => [40, 10, 10]).reduce(addSplit, []);
    expect(windows([0, 0, 0], split)).toEqual([
      expect.closeTo(1.98, 2),
      expect.closeTo(0.51, 2),
      expect.closeTo(0.51, 2),
    ]);
    const forged = addSplit(split, [0, 0, 1e9]);
    expect(windows([0, 0, 0], forged)[2]).toBeLessThan(0.53);
    // One ticket for the last window: a little more than usual, and not most of the product.
    expect(windows([0, 0, viewsOfTicket], split)[2]).toBeLessThan(1);
    expect(windows([0, 0, viewsOfTicket], split)[2]).toBeGreaterThan(0.7);
  });

  it.each([[[1e9, 0, 0]], [[3, 4, 5]], [[0, 0, 1]]])(
    'has a mean of 1, so that dates take nothing from other products: %j',
    (views) => {
      expect(sum(views.map((_, part) => windowInterest(views, part, [3, 1, 1]))) / views.length).toBeCloseTo(1, 9);
    },
  );
});
