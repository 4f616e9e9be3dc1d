import { describe, expect, it } from 'vitest';
import type { DayForm, Offer, Timeslot } from '../../src/dates/availability.rules.ts';
import { type PricedStretch, printedOn, printedSteps } from '../../src/dates/printed-price.rules.ts';

const types = new Map([
  [1, 'adult'],
  [2, 'child'],
  [3, 'senior'],
  [4, 'group'],
  [5, 'group'],
  [6, 'adult'],
]);

/** A slot that has these offers, by variant and price. */
const slot = (offers: readonly Offer[], places: number | null = 5, time: number | string = 540): Timeslot => [
  time,
  places,
  offers,
];
const offer = (variant_id: number, price: number | null, tickets: number | null = 5): Offer => [
  variant_id,
  tickets,
  price,
];
const day = (...slots: Timeslot[]): DayForm => [9, 'UTC', slots];
const price = (lowest_adult_price: number | null, price_variant_type: string | null) => ({
  lowest_adult_price,
  price_variant_type,
});

describe('what is printed of a date', () => {
  it.each<[string, DayForm, ReturnType<typeof price>]>([
    ['is what an adult pays, not a child', day(slot([offer(1, 2000), offer(2, 900)])), price(2000, 'adult')],
    ['is the adult’s where that is the cheaper one', day(slot([offer(1, 900), offer(2, 2000)])), price(900, 'adult')],
    ['is the lowest of its times', day(slot([offer(1, 2000)]), slot([offer(1, 1500)], 5, -1)), price(1500, 'adult')],
    ['is the lowest of two prices for adults', day(slot([offer(1, 2000), offer(6, 1200)])), price(1200, 'adult')],
    ['is the lowest above 0', day(slot([offer(1, 0), offer(6, 1200)])), price(1200, 'adult')],
    ['is 0 where adults pay nothing', day(slot([offer(1, 0), offer(2, 500)])), price(0, 'adult')],
    ['is no price of an adult who finds it sold out', day(slot([offer(1, 900, 0), offer(2, 500)])), price(500, 'child')],
    ['leaves out a time that is sold out', day(slot([offer(1, 900)], 0), slot([offer(1, 1900)])), price(1900, 'adult')],
    ['is unknown where the price of an adult is', day(slot([offer(1, null), offer(2, 500)])), price(null, null)],
    ['is the child’s on a date for children', day(slot([offer(2, 500)])), price(500, 'child')],
    [
      'is the dearest of the commonest type without an adult',
      day(slot([offer(3, 9000), offer(4, 3000), offer(5, 5000)])),
      price(5000, 'group'),
    ],
    ['is the dearer of two types as common', day(slot([offer(2, 500), offer(3, 800)])), price(800, 'senior')],
    [
      'is the dearest at its cheapest time',
      day(slot([offer(4, 3000), offer(5, 9000)]), slot([offer(5, 4000)], 5, 600)),
      price(4000, 'group'),
    ],
    ['names no type that nobody has said', day(slot([offer(99, 500)])), price(500, null)],
    ['is the price of what is restricted too: it can be bought', day(slot([[1, 5, 700, 600, 100, null, 1]])), price(700, 'adult')],
    ['is the price of a whole-day ticket', day(slot([offer(1, 700)], null, -1)), price(700, 'adult')],
    ['is nothing of a date that is sold out', [0, 'UTC', [slot([offer(1, 700)])]], price(null, null)],
    ['is nothing without times', day(), price(null, null)],
  ])('%s', (_, form, printed) => {
    expect(printedOn(form, types)).toEqual(printed);
  }); // biome-ignore format: a table
});

const stretch = (from_at: number, until_at: number, ...[lowest_price, amount, type]: (number | string | null)[]) =>
  ({ from_at, until_at, lowest_price, lowest_adult_price: amount, price_variant_type: type }) as PricedStretch;

describe('what is printed of a product', () => {
  it('is the least that an adult pays on any date, however cheap a date for children is', () => {
    expect(printedSteps([stretch(0, 10, 900, 2000, 'adult'), stretch(0, 20, 300, 300, 'child')])).toEqual([
      { until_at: 10, lowest_price: 300, ...price(2000, 'adult') },
      { until_at: 20, lowest_price: 300, ...price(300, 'child') },
    ]);
  });

  it('is the least of the type that most dates have, where none has an adult', () => {
    const dates = [stretch(0, 9, 1, 900, 'group'), stretch(0, 9, 1, 800, 'group'), stretch(0, 9, 1, 100, 'child')];
    expect(printedSteps(dates)).toEqual([{ until_at: 9, lowest_price: 1, ...price(800, 'group') }]);
  });
});
