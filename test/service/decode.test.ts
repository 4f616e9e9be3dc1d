import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { documentToStore, type SharedMembers } from '../../src/catalogue/checkout-information.rules.ts';
import { summarise } from '../../src/dates/availability.rules.ts';
import { instant } from '../../src/kernel/clock.ts';
import { parseExact } from '../../src/kernel/values/exact-json.ts';
import { publishable } from '../../src/kernel/values/public-address.ts';
import { CommonMembers } from '../../src/service/client.ts';
import { decodeAvailability as decodeRow } from '../../src/service/decode-availability.ts';
import {
  decodeCheckoutInformation,
  decodeExperiencePage,
  decodeProductDetail,
  decodeProductPage,
} from '../../src/service/decode-product.ts';
import { needs } from '../fakes/needs.ts';
import { rowAnswered, rowsAnswered } from '../fakes/standard-answers.ts';
import { sharedData } from '../fakes/tools.ts';

const question = { from: '2026-12-01', to: '2026-12-31', currency: 'EUR', commission: false };

/** An answer of the service, with a member that nobody documents at every level. */
const availability = {
  success: true, sales_enabled: true, dynamic_pricing: false, capped_at: null, max_tickets_per_order: 20, weather: 'mild',
  dates: [{ date: '2026-12-01', availability: 38, holiday: 'yes', timeslots: [
    { time: '10:00', timezone: 'Europe/Amsterdam', availability: 18, gate: 'B', variants: [
      { id: 40101, max_tickets: 10, currency: 'EUR', pricing_restriction: null, note: 'x',
        price_mediation: { total_retail_price_incl_vat: 18.5, sale_ticket_value_incl_vat: 17.0, booking_fee_incl_vat: 1.5, distributor_commission_excl_vat: 1.2, levy: 0.1 } },
      { id: '40102', max_orders: 10, currency: 'EUR', pricing_restriction: 3,
        price_mediation: { total_retail_price_incl_vat: 9, sale_ticket_value_incl_vat: 8.255, booking_fee_incl_vat: 0.75, distributor_commission_excl_vat: 0.6 } }] }] }],
  variants: [{ id: 40101, label: 'Adult (18+)' }, { id: 40102, label: 'Child' }],
  groups: [{ id: 7, name: 'Default' }],
}; // biome-ignore format: the service's own layout

const decodeDates = (json: unknown, asked: typeof question) => decodeRow(rowAnswered('availability', json), asked);
const decodeList = (json: unknown, currency: string, mayPublish: (url: string) => boolean) =>
  decodeProductPage(rowsAnswered('products', json), currency, mayPublish);

describe('an availability answer', () => {
  it('becomes compact rows in minor units, and everything without a place is kept', () => {
    const answer = decodeDates(availability, question);
    expect(answer.days.get('2026-12-01')).toEqual([
      38,
      'Europe/Amsterdam',
      [[600, 18, [
        [40101, 10, 1850, 1700, 150, null, null, { note: 'x', price_mediation: { levy: 0.1 } }],
        [40102, 10, 900, null, 75, null, 3, { max_orders: 10, price_mediation: { sale_ticket_value_incl_vat: 8.255 } }],
      ], { gate: 'B' }]],
      { holiday: 'yes' },
    ]); // biome-ignore format: rows
    expect(answer.rest).toEqual({
      dynamic_pricing: false,
      weather: 'mild',
      groups: [{ id: 7, name: 'Default' }],
    });
    expect(answer).toMatchObject({ sales_enabled: true, covered_to: '2026-12-31', max_tickets_per_order: 20 });
  });

  it('names groups of variants, and passes over those that have no id or no name', () => {
    const named = (groups: unknown) => decodeDates({ ...availability, groups }, question).groups;
    expect(
      named([
        { id: 7, name: 'Default' },
        { id: '8', name: 'Tours' },
      ]),
    ).toEqual([
      { group_id: 7, name: 'Default' },
      { group_id: 8, name: 'Tours' },
    ]);
    expect(named([{ id: 7 }, { name: 'Tours' }, { id: 8, name: '' }, { id: 9, name: 5 }, null, 'Tours'])).toEqual([]);
    for (const none of [undefined, null, {}, 'Tours']) expect(named(none)).toEqual([]);
  });

  it('keeps the commission where it is asked for', () => {
    const day = decodeDates(availability, { ...question, commission: true }).days.get('2026-12-01');
    expect(day?.[2][0]?.[2][0]?.[5]).toBe(120);
  });

  it("has 24:00 at 00:00 of the next date, and shows it as sent, unsold and named, where that date is another answer's", () => {
    const late = availability.dates.map((day) => ({
      ...day,
      timeslots: day.timeslots.flatMap((slot) => [slot, { ...slot, time: '24:00' }]),
    }));
    const timesOf = (json: object, asked: object = {}) => {
      const { days, unread } = decodeDates({ ...availability, dates: late, ...json }, { ...question, ...asked });
      const shown = [...days].map(([date, [, , slots]]) => [date, ...slots.map(([time, places]) => [time, places])]);
      return { shown, named: [...(unread?.keys() ?? [])].filter((name) => name.includes('.time ')) };
    };
    const next = [['2026-12-01', [600, 18]], ['2026-12-02', [0, 18]]]; // biome-ignore format: dates
    expect(timesOf({})).toEqual({ shown: next, named: [] });
    const kept = [['2026-12-01', [600, 18], ['"24:00"', 0]]];
    const named = ['dates[].timeslots[].time (after the last date of its answer)'];
    expect(timesOf({}, { to: '2026-12-01' })).toEqual({ shown: kept, named });
    expect(timesOf({ capped_at: '2026-12-01' })).toEqual({ shown: kept, named });
  });

  it('ends where the service capped it', () => {
    expect(decodeDates({ ...availability, capped_at: '2026-12-20' }, question).covered_to).toBe('2026-12-20');
    expect(decodeDates({ ...availability, capped_at: '2027-06-01' }, question).covered_to).toBe('2026-12-31');
  });

  it('ends with its own last date where nobody can read how the service capped it', () => {
    const { covered_to, named } = decodeDates({ ...availability, capped_at: 'soon' }, question);
    expect(covered_to).toBe(named?.to);
    expect(decodeDates({ ...availability, dates: [], capped_at: 7 }, question).covered_to < question.from).toBe(true);
  });

  it('merges a date that stands twice, and names dates that were not asked for without their tickets', () => {
    const [date] = availability.dates;
    const answer = decodeDates({ ...availability, dates: [date, { ...date, date: '2027-03-01' }, date] }, question);
    expect([...answer.days.keys()]).toEqual([date?.date]);
    expect(answer.named).toEqual({ from: date?.date, to: '2027-03-01' });
  });

  it('in another currency than was asked for throughout is none', () => {
    expect(() => decodeDates(availability, { ...question, currency: 'USD' })).toThrow(
      'asked for prices in USD, answered in EUR',
    );
  });

  it('shows no price in a currency that was not asked for beside others, and keeps it', () => {
    const [date] = availability.dates;
    const [slot] = date?.timeslots ?? [];
    const [first] = slot?.variants ?? [];
    const dates = [{ ...date, timeslots: [{ ...slot, variants: [first, { ...first, id: 7, currency: 'USD' }] }] }];
    const [, offer] = [...decodeDates({ ...availability, dates }, question).days.values()][0]?.[2][0]?.[2] ?? [];
    expect(offer?.slice(0, 7)).toEqual([7, 10, null, null, null, null, null]);
    expect(offer?.[7]).toMatchObject({ currency: 'USD', price_mediation: { total_retail_price_incl_vat: 18.5 } });
  });

  it('has no price below zero: what it is of cannot be bought, and what was sent is kept beside it', () => {
    const [date] = availability.dates;
    const [slot] = date?.timeslots ?? [];
    const offer = { id: 5, max_tickets: 9, price_mediation: { total_retail_price_incl_vat: -5 } };
    const dates = [{ ...date, timeslots: [{ ...slot, variants: [offer] }] }];
    const answer = decodeDates({ ...availability, dates }, question);
    const [, , slots] = [...answer.days.values()][0] ?? [];
    expect(slots?.[0]?.[2]).toEqual([
      [5, 0, null, null, null, null, null, { max_tickets: 9, price_mediation: { total_retail_price_incl_vat: -5 } }],
    ]);
    const member = 'dates[].timeslots[].variants[].price_mediation.total_retail_price_incl_vat (below zero)';
    expect(answer.unread).toEqual(new Map([[member, { example: '-5', isAll: true }]]));
    expect([...answer.days.values()].map(summarise)).toMatchObject([{ available: false, lowest_price: null }]);
  });

  it.each<[string, unknown]>([
    ['success is false', { ...availability, success: false }],
    ['dates are missing', { ...availability, dates: undefined }],
    ['dates are null', { ...availability, dates: null }],
    ['variants are missing', { ...availability, variants: undefined }],
    ['a date is none', { ...availability, dates: [{ date: '2026-02-30', timeslots: [] }] }],
    [
      'a date stands twice, and differently',
      { ...availability, dates: [...availability.dates, { ...availability.dates[0], availability: 1 }] },
    ],
    ['a date is beyond the calendar', { ...availability, dates: [{ date: '9999-99-99', timeslots: [] }] }],
    ['a slot has no variants', { ...availability, dates: [{ date: '2026-12-01', timeslots: [{ time: '10:00' }] }] }],
    ['a slot has no time', { ...availability, dates: [{ date: '2026-12-01', timeslots: [{ variants: [] }] }] }],
    ['it is an array', []],
    ['it is null', null],
  ])('is a failed read where %s', (_, json) => {
    expect(() => decodeDates(json, question)).toThrow(expect.objectContaining({ name: 'WrongShape' }));
  });
});

describe('checkout information', () => {
  it('is a failed read without its flags', () => {
    expect(() => decodeCheckoutInformation(rowAnswered('checkout_information', { success: true }).row)).toThrow(
      expect.objectContaining({ name: 'WrongShape' }),
    );
  });
});

const anywhere = () => true;

describe('an experience', () => {
  it.each([
    ['Dam 1', { address: 'Dam 1' }],
    ['Dam 1', { address: { street: 'Dam 1', city_name: 'Amsterdam' } }],
    ['Dam 1', { address: { address: 'Dam 1' } }],
    [null, { address: { street: '' } }],
    [null, {}],
  ])('has the address %j of %j, and nothing of it is unreadable', (address, row) => {
    const list = rowsAnswered('experiences', { experiences: [{ id: 5, ...row }] });
    const [experience] = decodeExperiencePage(list, 'EUR', anywhere).entries;
    expect(experience).toMatchObject({ address, unread: undefined });
  });

  it('whose city is no text is noted', () => {
    const list = rowsAnswered('experiences', { experiences: [{ id: 5, address: { street: 'Dam 1', city_name: 7 } }] });
    const [experience] = decodeExperiencePage(list, 'EUR', anywhere).entries;
    expect([...(experience?.unread ?? [])]).toEqual([['address.city_name', { example: '7', isAll: true }]]);
  });
});

describe('a product page', () => {
  it('leaves out images at addresses that are not handed on, and a price below zero, and names them', () => {
    const images = [
      { large: 'https://images.example.com/a.jpg' },
      { large: 'https://images.example.com/b.jpg', small: 'javascript:alert(1)' },
      { large: 'file:///etc/passwd' },
      { large: 'http://169.254.169.254/latest/meta-data', small: '' },
    ];
    const [entry] = decodeList({ products: [{ id: 1, price: -5, images }] }, 'EUR', publishable([])).entries;
    expect(entry?.images?.map(({ document }) => document)).toEqual([JSON.stringify(images[0])]);
    expect(entry?.from_price).toBeNull();
    expect([...(entry?.unread ?? [])].map(([member, { example }]) => [member, example])).toEqual([
      ['price (below zero)', '-5'],
      ['images[].small (not public)', '"javascript:alert(1)"'],
      ['images[].large (not public)', '"file:///etc/passwd"'],
    ]);
    expect(entry?.document).toContain('-5');
  });

  it('has what a product cost before it was reduced, exact in the currency asked for, or nothing', () => {
    const prices = ['22.50', '9.99', '22.505', '-1', '"22.5"', 'null', '[9]', '"dear"', '1e400'];
    const rows = prices.map(
      (price, index) => `{"id":${index + 1},"currency":"EUR","price":9,"prediscount_price":${price}}`,
    );
    const foreign = '{"id":99,"currency":"USD","price":9,"prediscount_price":12}';
    const page = decodeList(parseExact(`{"products":[${[...rows, foreign].join()}]}`), 'EUR', anywhere);
    expect(page.entries.map(({ prediscount_price }) => prediscount_price)).toEqual([
      2250,
      999,
      null,
      null,
      2250,
      null,
      null,
      null,
      null,
      null,
    ]);
    expect(page.entries.map(({ from_price }) => from_price)).toEqual([...prices.map(() => 900), null]);
    const belowZero = page.entries.map(({ unread }) => unread?.has('prediscount_price (below zero)') === true);
    expect(belowZero).toEqual(prices.map((price) => price === '-1').concat(false));
  });

  it('rejects the row whose id cannot be told apart, and keeps the others', () => {
    const page = decodeList(
      parseExact(
        '{"success":true,"products":[{"id":"9007199254740993"},{"id":9007199254740993},{"id":"7","price":17.0,"currency":"EUR"}],"pagination":{"page":1,"page_size":100,"total":3}}',
      ),
      'EUR',
      anywhere,
    );
    expect(page.entries.map(({ product_id, from_price }) => [product_id, from_price])).toEqual([[7, 1700]]);
    expect(page.rejected).toHaveLength(2);
    expect(page).toMatchObject({ total: 3, short: true });
  });

  it('treats an unknown sale status as data that is not sellable', () => {
    const page = decodeList(
      {
        products: [
          { id: 1, sale_status: 'paused' },
          { id: 2, sale_status: 'available' },
        ],
      },
      'EUR',
      anywhere,
    );
    expect(page.entries.map((entry) => entry.sale_status)).toEqual(['unknown', 'enabled']);
  });

  it('knows both names of the credit, an empty one is none, and an image whose credit cannot be read is left out', () => {
    const url = (name: string) => `https://cdn.example/images/content/${name}.jpg?w=500`;
    const images = [
      { large: url('0A1B2C3D4E5F60718293A4B5C6D7E8F9'), credit: 'A. Photographer' },
      { large: url('1a1b2c3d4e5f60718293a4b5c6d7e8f9'), credits: 'B' },
      { large: url('2a1b2c3d4e5f60718293a4b5c6d7e8f9'), credit: '  ' },
      { large: url('short'), credit: null },
      { large: url('1a1b2c3d4e5f60718293a4b5c6d7e8f9'), credits: 'a second time' },
      { large: url('3a1b2c3d4e5f60718293a4b5c6d7e8f9'), credit: 7 },
    ];
    const [entry] = decodeList({ products: [{ id: 1, images }] }, 'EUR', anywhere).entries;
    expect(entry?.images?.map(({ image_key, position, credit }) => [image_key, position, credit])).toEqual([
      ['0a1b2c3d4e5f60718293a4b5c6d7e8f9', 0, 'A. Photographer'],
      ['1a1b2c3d4e5f60718293a4b5c6d7e8f9', 1, 'B'],
      ['2a1b2c3d4e5f60718293a4b5c6d7e8f9', 2, null],
      [expect.stringMatching(/^u-[0-9a-f]{32}$/), 3, null],
    ]);
  });
});

it('an answer with another product than the one that was asked for is refused', () => {
  const read = (id: number) => decodeProductDetail(rowAnswered('product', { product: { id } }).row, 7, 'EUR', anywhere);
  expect(() => read(8)).toThrow('asked for product 7, answered with 8');
  expect(read(7).product_id).toBe(7);
});

describe('the recorded answers of 2018', needs('data'), () => {
  it.each(['recorded-product_en_usd.json', 'recorded-product_nl_eur.json'])(
    '%s decodes without losing a member',
    (name) => {
      const json = JSON.parse(readFileSync(new URL(name, sharedData), 'utf8')) as { product: Record<string, unknown> };
      const entry = decodeProductDetail(
        rowAnswered('product', json).row,
        973698,
        name.includes('usd') ? 'USD' : 'EUR',
        anywhere,
      );
      const { images, ...rest } = json.product;
      expect(JSON.parse(entry.document)).toEqual(rest);
      expect(entry.images?.map(({ document }) => JSON.parse(document) as unknown)).toEqual(images);
      expect(entry).toMatchObject({ product_id: 973698, sale_status: 'enabled', venue_id: 124297 });
      expect(entry.images?.every(({ credit }) => credit === null)).toBe(true);
    },
  );
});

const second = 1000;

/** Returns what is known of the member `x` after answers with these values, a product each, so many seconds apart. */
function known(values: readonly unknown[], seconds = 1): 'common' | 'unsure' | 'own' {
  const members = new CommonMembers();
  let last: SharedMembers = { common: [], unsure: [] };
  for (const [index, value] of values.entries())
    last = members.of(index, value === undefined ? {} : { x: value }, instant(1e12 + index * seconds * second));
  return last.common.length > 0 ? 'common' : last.unsure.length > 0 ? 'unsure' : 'own';
}

describe('an undeclared member of an answer', () => {
  it.for([
    ['is common to all once five products have the same value', ['a', 'a', 'a', 'a', 'a'], 'common'],
    ['may be common after fewer', ['a', 'a', 'a', 'a'], 'unsure'],
    ['is common where it is an object', Array.from({ length: 5 }, () => ({ major: 2 })), 'common'],
    ['may be common where all have another value from one answer on', ['a', 'a', 'a', 'b', 'b', 'b'], 'unsure'],
    ["is the product's own where values come again", ['a', 'b', 'a', 'a', 'a', 'a'], 'own'],
    ["is the product's own where each has another value", ['a', 'b', 'c'], 'own'],
    ["is the product's own where some lack it", ['a', undefined, 'a', 'a', 'a', 'a'], 'own'],
  ] as const)('%s', ([, values, is]) => {
    expect(known(values)).toBe(is);
  });

  it('is compared with the answers of the last minute alone', () => {
    expect(known(['a', 'b', 'a', 'a'], 61)).toBe('unsure');
    expect(known(['a', 'a', 'a', 'a', 'a'], 61)).toBe('unsure');
  });
});

describe('the document that is stored', () => {
  const store = (document: object, shared: Partial<SharedMembers>, stored: object | null = null) =>
    JSON.parse(
      documentToStore(
        {
          ...{ has_timeslots: true, has_dynamic_pricing: false, must_know: null, good_to_know: null },
          document: JSON.stringify(document),
          shared: { common: [], unsure: [], ...shared },
        },
        stored === null ? null : JSON.stringify(stored),
      ),
    );

  it('lacks members that are or may be common to all answers', () => {
    expect(store({ a: 1, x: 1, y: 1 }, { common: ['x'], unsure: ['y'] })).toEqual({ a: 1 });
    expect(store({ a: 1, x: 1, y: 1 }, { common: ['x'], unsure: ['y'] }, { a: 2 })).toEqual({ a: 1 });
  });

  it('stays as it is where one of them changes that an earlier version has stored', () => {
    expect(store({ a: 1, x: 2 }, { common: ['x'] }, { a: 1, x: 1 })).toEqual({ a: 1, x: 1 });
  });

  it("follows a member that is the product's own, also while that is not known", () => {
    expect(store({ a: 1, x: 2 }, {}, { a: 1 })).toEqual({ a: 1, x: 2 });
    expect(store({ a: 1, x: 2 }, { unsure: ['x'] }, { a: 1, x: 1 })).toEqual({ a: 1, x: 2 });
  });
});
