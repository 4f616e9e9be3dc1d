import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DayForm } from '../../src/dates/availability.rules.ts';
import { errorRate, isOftenWrong, rateCheck, rateOrder } from '../../src/desk/error-rate.rules.ts';
import { type DateOffer, judgeCheck, type SaleState, standingOf, type Wanted } from '../../src/desk/verdict.rules.ts';

/** Two times with two variants: 10 and 2 tickets in the morning, the afternoon dearer, the evening empty. */
const form: DayForm = [
  30,
  null,
  [
    [600, 12, [[1, 10, 2000], [2, 2, 1000]]],
    [840, 18, [[1, 10, 2500], [2, 10, 1200]]],
    [1200, 0, [[1, 10, 500]]],
  ],
]; // biome-ignore format: a table
const offer: DateOffer = { form, max_tickets_per_order: 8 };
const one: Wanted = { time: null, variants: [], quantity: 1 };
const tickets = (time: string | null, ...counts: [number, number][]): Wanted => ({
  time,
  variants: counts.map(([variant_id, count]) => ({ variant_id, count })),
  quantity: counts.reduce((sum, [, count]) => sum + count, 0),
});

describe('what is wanted of a date', () => {
  it.each<[string, Wanted, Partial<{ offer: DateOffer | null; sale: SaleState }>, string]>([
    ['any ticket costs the cheapest', one, {}, 'can be had at 10:00 for 1000'],
    ['at a time', { ...one, time: '14:00' }, {}, 'can be had at 14:00 for 1200'],
    ['all variants together', tickets('10:00', [1, 2], [2, 1]), {}, 'can be had at 10:00 for 5000'],
    ['at the cheapest time that has enough', tickets(null, [2, 3]), {}, 'can be had at 14:00 for 3600'],
    ['more than are left', tickets('10:00', [2, 3]), {}, 'not-enough-tickets'],
    ['more than the slot holds', tickets('10:00', [1, 8], [2, 5]), {}, 'not-enough-tickets over-max-per-order'],
    ['more than an order may have', tickets('14:00', [1, 9]), {}, 'over-max-per-order'],
    ['a variant that is not offered then', tickets('14:00', [3, 1]), {}, 'variant-gone'],
    ['a time that is empty', { ...one, time: '20:00' }, {}, 'slot-gone'],
    ['a time that is not offered', { ...one, time: '11:00' }, {}, 'slot-gone'],
    ['a time of a day without times', { ...one, time: 'whole_day' }, {}, 'slot-gone'],
    ['a whole day', { ...one, time: 'whole_day' }, { offer: whole(4, 900) }, 'can be had at whole_day for 900'],
    ['a price that is not said', one, { offer: whole(4, null) }, 'can be had at whole_day for null'],
    [
      'without a limit that is said',
      tickets(null, [1, 999]),
      { offer: whole(null, 1) },
      'can be had at whole_day for 999',
    ],
    ['a date that is sold out', one, { offer: { ...offer, form: null } }, 'date-sold-out'],
    ['a date whose slots are all empty', one, { offer: whole(0, 900) }, 'date-sold-out'],
    ['a date without places', one, { offer: { ...offer, form: [0, null, form[2]] } }, 'date-sold-out'],
    ['a date that was never read', one, { offer: null }, 'not known'],
    ['a product that is off sale', one, { sale: 'not-on-sale' }, 'not-on-sale'],
    ['a product whose closure is not confirmed', one, { sale: 'closure-unconfirmed' }, 'closure-unconfirmed'],
    ['a product that is withdrawn, of an unread date', one, { sale: 'withdrawn', offer: null }, 'withdrawn'],
  ])('%s', (_, wanted, given, expected) => {
    const found = standingOf(wanted, given.sale ?? 'on-sale', given.offer === undefined ? offer : given.offer);
    const told = found?.sellable ? `can be had at ${found.time} for ${found.price}` : found?.reasons.join(' ');
    expect(told ?? 'not known').toBe(expected);
  });

  it('is never more than what is there', () => {
    const limit = fc.oneof(fc.constant(null), fc.nat(12));
    fc.assert(
      fc.property(limit, limit, limit, fc.integer({ min: 1, max: 20 }), (places, left, most, count) => {
        const day: DateOffer = { form: [null, null, [[600, places, [[1, left, 100]]]]], max_tickets_per_order: most };
        const found = standingOf(tickets(null, [1, count]), 'on-sale', day);
        const least = Math.min(...[places, left, most].map((each) => each ?? Number.POSITIVE_INFINITY));
        expect(found?.sellable).toBe(count <= least);
      }),
    );
  });
});

describe('the verdict', () => {
  const at = (price: number | null) => standingOf(one, 'on-sale', whole(9, price));
  const soldOut = standingOf(one, 'on-sale', { ...offer, form: null });
  it.each<[string, ReturnType<typeof at>, ReturnType<typeof at>, number | null, string]>([
    ['holds at the price shown', at(900), at(900), null, 'holds'],
    ['holds at the price expected, whatever was shown', at(900), at(800), 900, 'holds'],
    ['is changed where the price shown is another', at(900), at(800), null, 'changed price-changed'],
    ['is changed where the price expected is another', at(900), at(900), 800, 'changed price-changed'],
    ['is changed where the service names no price any more', at(null), at(800), null, 'changed price-not-said'],
    ['holds where nothing was shown', at(900), null, null, 'holds'],
    ['holds where it was shown as sold out', at(900), soldOut, null, 'holds'],
    ['is gone where it is sold out, at any price', soldOut, at(900), 100, 'gone date-sold-out'],
    [
      'is changed by the quantity alone',
      standingOf(tickets(null, [1, 12]), 'on-sale', whole(9, 1)),
      null,
      5,
      'changed not-enough-tickets',
    ],
  ])('%s', (_, now, shown, expected, says) => {
    if (now === null) throw new Error('nothing was read');
    const { verdict, reasons } = judgeCheck(now, shown, expected);
    expect([verdict, ...reasons].join(' ')).toBe(says);
  });

  it('rates the mirror by what it had shown', () => {
    const now = at(900);
    if (now === null || soldOut === null) throw new Error('nothing was read');
    expect([at(900), at(800), soldOut, null].map((shown) => rateCheck(shown, now))).toEqual([
      'right', 'said-price', 'said-sold-out', 'unknown',
    ]); // biome-ignore format: one row
    expect([at(900), soldOut].map((shown) => rateCheck(shown, soldOut))).toEqual(['said-available', 'right']);
    const failed = { outcome: 'failed', code: 'timeslot_not_available' } as const;
    const confirmed = { outcome: 'confirmed', code: null } as const;
    expect([at(900), soldOut, null].map((shown) => rateOrder(shown, failed))).toEqual([
      'said-available', 'right', 'unknown',
    ]); // biome-ignore format: one row
    expect([at(900), soldOut].map((shown) => rateOrder(shown, confirmed))).toEqual(['right', 'said-sold-out']);
    expect(rateOrder(at(900), { outcome: 'failed', code: 'payment_declined' })).toBeNull();
    expect(errorRate({ checks: 0, wrong: 0, orders: 0, orders_wrong: 0 })).toBeNull();
    expect(errorRate({ checks: 8, wrong: 1, orders: 2, orders_wrong: 1 })).toBe(0.2);
  });
});

describe('the mirror is often wrong', () => {
  it.each([
    [0, 0, false],
    [1, 1, false],
    [2, 2, false],
    [3, 3, true],
    [18, 3, true],
    [20, 1, false],
    [20, 3, false],
    [200, 8, false],
    [200, 9, true],
    [1_000, 21, false],
    [1_000, 22, true],
    [10_000, 149, false],
    [10_000, 150, true],
    [1_000_000, 15_000, true],
  ])(
    'from 1.5 %% on, where that is not chance at 1 %%: of %i checks and orders, %i wrong',
    (reports, errors, often) => {
      const [wrong, orders_wrong] = [Math.ceil(errors / 2), Math.floor(errors / 2)];
      const counts = { checks: Math.ceil(reports / 2), wrong, orders: Math.floor(reports / 2), orders_wrong };
      expect(isOftenWrong(counts)).toBe(often);
    },
  );
});

function whole(left: number | null, price: number | null): DateOffer {
  return { form: [null, null, [[-1, null, [[1, left, price]]]]], max_tickets_per_order: null };
}
