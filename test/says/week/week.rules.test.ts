import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { minorUnits, moneyText } from '../../../src/kernel/values/money.ts';
import { type ProductEvent, turnoverOf } from '../../../src/says/status/turnover.rules.ts';
import { type PriceChange, priceMovesOf } from '../../../src/says/week/prices.rules.ts';
import { daysOf, lastSevenDays, weekBefore, weekNamed } from '../../../src/says/week/week.rules.ts';
import { fruitlessWords } from '../../../src/storefront/search/fruitless.rules.ts';

const now = Date.parse('2026-11-22T12:04:05Z');
const at = (text: string) => Date.parse(`${text}Z`);

describe('a week by its name', () => {
  const cases: [string, string, string][] = [
    ['2026-W46', '2026-11-09T00:00', '2026-11-16T00:00'],
    ['2026w46', '2026-11-09T00:00', '2026-11-16T00:00'],
    // The year began on a Thursday: its first week began in the one before.
    ['2026-W01', '2025-12-29T00:00', '2026-01-05T00:00'],
    ['2021-W01', '2021-01-04T00:00', '2021-01-11T00:00'],
    ['2020-W53', '2020-12-28T00:00', '2021-01-04T00:00'],
    // Not over yet.
    ['2026-W47', '2026-11-16T00:00', '2026-11-22T12:04:05'],
  ];
  test.each(cases)('%s is of seven days, as far as they are over', (name, from, to) => {
    expect(weekNamed(name, now)).toMatchObject({ from: at(from), to: at(to) });
  });

  test.each(['2026-W00', '2026-W54', '2025-W53', '2026-46', '46', '2026-W4', '0000-W00', 'W46', ''])(
    '%j is none of the calendar',
    (name) => expect(weekNamed(name, now)).toBe('no-week'),
  );

  it('that lies ahead has not begun', () => {
    expect(weekNamed('2026-W48', now)).toBe('not-begun');
  });

  it('begins where the one before ends, over four hundred years', () => {
    const late = at('2400-01-01T00:00');
    for (let year = 2000; year < 2400; year += 1) {
      const [first, last] = [weekNamed(`${year}-W01`, late), weekNamed(`${year}-W53`, late)];
      const end = typeof last === 'object' ? last : weekNamed(`${year}-W52`, late);
      const next = weekNamed(`${year + 1}-W01`, late);
      if (typeof first !== 'object' || typeof end !== 'object') throw new Error(`${year}`);
      expect(new Date(first.from).getUTCDay()).toBe(1);
      if (typeof next === 'object') expect(end.to).toBe(next.from);
    }
  });
});

it('the last seven days are today and six whole days before it, and the week before has as many', () => {
  const week = lastSevenDays(now);
  expect(week).toMatchObject({ from: at('2026-11-16T00:00'), to: now });
  expect(daysOf(week.from, week.to)).toEqual({ first: 20_773, last: 20_779 });
  expect(weekBefore(week)).toMatchObject({ from: at('2026-11-09T00:00'), to: now - 7 * 86_400_000 });
});

describe('what became of a product in a week', () => {
  const event = (product_id: number, kind: ProductEvent['kind'], when = 10): ProductEvent => ({
    product_id,
    kind,
    at: when,
    title: null,
    reason: null,
    expected_reopening: null,
  });
  const told = (...events: ProductEvent[]) =>
    Object.fromEntries(
      Object.entries(turnoverOf(events, 5)).map(([name, list]) => [
        name,
        list.map((each: ProductEvent) => each.product_id),
      ]),
    );
  const none = { added: [], returned: [], withdrawn: [], closed: [], reopened: [] };

  it('is the last that happened to it', () => {
    expect(told(event(1, 'product_added'), event(1, 'product_withdrawn', 11))).toEqual({ ...none, withdrawn: [1] });
    expect(told(event(1, 'product_withdrawn'), event(1, 'product_returned', 11))).toEqual({ ...none, returned: [1] });
    expect(told(event(1, 'sale_disabled'), event(1, 'sale_enabled', 11))).toEqual({ ...none, reopened: [1] });
    expect(told(event(1, 'product_added'), event(1, 'sale_disabled', 11))).toEqual({
      ...none,
      added: [1],
      closed: [1],
    });
  });

  it('is one closure of a product whose dates went before it was closed, and one opening back', () => {
    const closing = [event(1, 'dates_withheld'), event(1, 'sale_disabled', 11)];
    expect(told(...closing)).toEqual({ ...none, closed: [1] });
    expect(told(...closing, event(1, 'sale_enabled', 12), event(1, 'dates_released', 13))).toEqual({
      ...none,
      reopened: [1],
    });
  });

  it('is told in the order in which it happened, listing and sale together', () => {
    expect(told(event(1, 'sale_disabled', 12), event(2, 'sale_disabled', 11), event(3, 'sale_disabled', 13))).toEqual({
      ...none,
      closed: [2, 1, 3],
    });
  });

  it('is told once of one that was closed before it was withdrawn', () => {
    expect(told(event(1, 'sale_disabled'), event(1, 'product_withdrawn', 11))).toEqual({ ...none, withdrawn: [1] });
  });

  it('is nothing new of what the first fill has found, and nothing at all before it', () => {
    expect(told(event(1, 'product_added', 5), event(2, 'product_added', 6))).toEqual({ ...none, added: [2] });
    expect(turnoverOf([event(1, 'product_added')], null)).toEqual(none);
  });
});

describe('prices', () => {
  const change = (
    product_id: number,
    date: string | null,
    old: number | null,
    to: number | null,
    by_rate: 0 | 1 = 0,
  ): PriceChange => ({ product_id, date, old, new: to, by_rate });

  it('that the exchange rate alone has moved are counted apart', () => {
    const moves = priceMovesOf([
      change(1, null, 100, 101, 1),
      change(1, '2026-12-01', 10, 11, 1),
      change(1, '2026-12-01', 11, 12, 1),
      change(1, '2026-12-02', 10, 11, 1),
      change(1, '2026-12-02', 11, 20),
    ]);
    expect(moves.products).toMatchObject({ moved: 0, by_rate: 1 });
    expect(moves.dates).toMatchObject({ moved: 1, up: 1, by_rate: 1, products: 1 });
  });

  it('moved from the first of a week to the last: what went up and came back did not', () => {
    const moves = priceMovesOf([
      change(1, null, 100, 120),
      change(1, null, 120, 90),
      change(1, '2026-12-01', 10, 20),
      change(1, '2026-12-01', 20, 10),
      change(1, '2026-12-02', 10, 30),
      change(2, '2026-12-02', 10, 5),
    ]);
    expect(moves.products).toEqual({
      moved: 1,
      up: 0,
      down: 1,
      by_rate: 0,
      biggest: [{ product_id: 1, date: null, old: 100, new: 90 }],
    });
    expect(moves.dates).toMatchObject({ moved: 2, up: 1, down: 1, products: 2 });
    expect(moves.dates.biggest.map(({ product_id }) => product_id)).toEqual([1, 2]);
  });
});

describe('the words of a search in vain', () => {
  const nothing = { matched: [] };

  it('are counted as one however they are written, and cut at sixty letters', () => {
    expect(fruitlessWords('  Northern   LIGHTS! ', nothing)).toBe('northern lights');
    expect(fruitlessWords('Ｎorthern-lights?', nothing)).toBe('northern-lights');
    expect(Array.from(fruitlessWords('𝒶b '.repeat(400), nothing) ?? '').length).toBeLessThanOrEqual(60);
    expect(fruitlessWords("musée d'orsay\u0000\u202e<b>", nothing)).toBe("musée d'orsay b");
  });

  test.each([undefined, '', '  ', '?!', 'ann@example.org', '+31 6 12345678', 'order 2026-44871'])(
    'are none of %j',
    (text) => expect(fruitlessWords(text, nothing)).toBeNull(),
  );

  it('are none where something has one of them', () => {
    expect(fruitlessWords('zoo', { matched: ['zoo'] })).toBeNull();
  });
});

it('an amount is written with the decimals of its currency, and read back as it was', () => {
  expect([
    moneyText(1250, 'EUR'),
    moneyText(5, 'EUR'),
    moneyText(-5, 'EUR'),
    moneyText(900, 'JPY'),
    moneyText(1, 'KWD'),
  ]).toEqual(['12.50 EUR', '0.05 EUR', '-0.05 EUR', '900 JPY', '0.001 KWD']);
  expect(moneyText(7, 'XYZ')).toBe('7 XYZ minor units');
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF'), (amount, currency) => {
      expect(minorUnits(moneyText(amount, currency).split(' ')[0] ?? '', currency)).toBe(amount + 0);
    }),
  );
});
