import { describe, expect, it } from 'vitest';
import { type OperationName, operations } from '../../src/admin/api.ts';
import { readRequest } from '../../src/admin/request.ts';
import { wantedOf } from '../../src/desk/check-question.rules.ts';

const nothing = { params: {}, query: {}, body: undefined };

/** The line with which a body is refused. */
function refusalOf(name: OperationName, body: unknown): string {
  try {
    readRequest(operations[name], { ...nothing, body });
    return 'taken';
  } catch (error) {
    expect(error).toMatchObject({ statusCode: 400 });
    return (error as Error).message;
  }
}

describe('a question', () => {
  const fine = { product_id: 7, date: '2026-12-24' };
  it('has defaults: any one ticket, five seconds', () => {
    const { body } = readRequest<'POST /v1/check'>(operations['POST /v1/check'], { ...nothing, body: fine });
    expect(body).toEqual({
      ...fine,
      time: null,
      variants: [],
      currency: null,
      expect_price: null,
      deadline_ms: 5000,
      caller: null,
    });
    expect(wantedOf(body)).toEqual({ time: null, variants: [], quantity: 1 });
  });

  it.each<[unknown, RegExp]>([
    [[], /^the body must be a JSON object$/],
    [{ date: '2026-12-24' }, /^product_id: found nothing; expected a product id$/],
    [{ ...fine, product_id: '7' }, /^product_id: found "7"/],
    [{ ...fine, product_id: Number.POSITIVE_INFINITY }, /^product_id: found null/],
    [{ ...fine, product_id: -1 }, /^product_id: found -1/],
    [{ ...fine, date: '2026-02-30' }, /^date: found "2026-02-30"; expected a date of the calendar/],
    [{ ...fine, date: '24.12.2026' }, /^date: /],
    [{ ...fine, time: '9:30' }, /^time: found "9:30"; expected HH:MM or whole_day$/],
    [{ ...fine, time: '24:00' }, /^time: /],
    [{ ...fine, time: 930 }, /^time: /],
    [{ ...fine, variants: {} }, /^variants: found \{\}; expected a list/],
    [
      { ...fine, variants: [{ variant_id: 1, count: 0 }] },
      /^variants\[0\]\.count: found 0; expected a number of tickets/,
    ],
    [{ ...fine, variants: [{ variant_id: 1, count: -2 }] }, /^variants\[0\]\.count: found -2/],
    [{ ...fine, variants: [{ variant_id: 1, count: Number.NaN }] }, /^variants\[0\]\.count: /],
    [{ ...fine, variants: [{ variant_id: 1, count: 1.5 }] }, /^variants\[0\]\.count: found 1.5/],
    [{ ...fine, variants: [{ variant_id: 1, count: 1000 }] }, /^variants\[0\]\.count: found 1000/],
    [{ ...fine, variants: [1] }, /^variants\[0\]: found 1/],
    [{ ...fine, variants: [{ variant_id: 1, count: 1, name: 'x' }] }, /^variants\[0\]\.name: is not known/],
    [
      {
        ...fine,
        variants: [
          { variant_id: 1, count: 1 },
          { variant_id: 1, count: 1 },
        ],
      },
      /given twice/,
    ],
    [{ ...fine, variants: Array(51).fill({ variant_id: 1, count: 1 }) }, /^variants: .*at most 50/],
    [{ ...fine, expect_price: 1850 }, /^expect_price: found 1850/],
    [
      { ...fine, expect_price: { amount: 18.5, currency: 'EUR' } },
      /^expect_price\.amount: found 18.5; expected an integer/,
    ],
    [{ ...fine, expect_price: { amount: 1850 } }, /^expect_price\.currency: found nothing/],
    [{ ...fine, deadline_ms: 0 }, /^deadline_ms: found 0; expected 50 to 30000 milliseconds$/],
    [{ ...fine, deadline_ms: 3_600_000 }, /^deadline_ms: /],
    [{ ...fine, email: 'jane@example.com' }, /^email: is not known; known are product_id, date/],
    [JSON.parse('{"__proto__": {"date": "2026-12-24"}, "product_id": 7}'), /^__proto__: is not known/],
  ])('%j is refused in one line', (body, says) => {
    const line = refusalOf('POST /v1/check', body);
    expect(line).toMatch(says);
    expect(line.length).toBeLessThan(200);
    expect(line).not.toContain('\n');
  });
});

it.each<[unknown, RegExp]>([
  [null, /the body must be a JSON object/],
  [{}, /product_id: found nothing/],
  [{ product_id: 1, date: '2026-02-30' }, /date: found "2026-02-30"; expected a date of the calendar/],
  [{ product_id: 1, date: '2026-12-24', quantity: 0 }, /quantity: found 0; expected a number of tickets/],
  [{ product_id: 1, date: '2026-12-24', quantity: -1 }, /quantity: found -1/],
  [{ product_id: 1, date: '2026-12-24', quantity: 1e6 }, /quantity: found 1000000/],
  [{ product_id: 1, date: '2026-12-24', quantity: 1, outcome: 'maybe' }, /outcome: found "maybe"/],
  [{ product_id: 1, date: '2026-12-24', time: '9:30' }, /time: found "9:30"; expected HH:MM/],
  [{ product_id: 1, date: '2026-12-24', quantity: 1, outcome: 'failed', code: 'a\nb' }, /code: found/],
  [
    { product_id: 1, date: '2026-12-24', quantity: 1, outcome: 'failed', name: 'Jane Doe' },
    /^name: is not known; known are product_id/,
  ],
])('an order %j is refused in one line', (body, says) => {
  expect(refusalOf('POST /v1/orders', body)).toMatch(says);
});

describe('a request', () => {
  it('that is wrong in several ways is refused with all of them', () => {
    const body = {
      product_id: 'x',
      date: '24.12.2026',
      variants: [{ variant_id: 1, count: 0, name: 'Jane' }],
      more: 1,
    };
    expect(
      refusalOf('POST /v1/check', body)
        .split('; ')
        .filter((line) => /: (found|is not)/.test(line)),
    ).toEqual([
      'variants[0].name: is not known',
      'more: is not known',
      'product_id: found "x"',
      'date: found "24.12.2026"',
      'variants[0].count: found 0',
    ]);
  });

  it('of a thousand members that nobody knows is refused in a line that ends', () => {
    const body = Object.fromEntries(Array.from({ length: 1000 }, (_, each) => [`m${each}`, each]));
    expect(refusalOf('POST /v1/check', body)).toMatch(/; and 982 more$/);
  });

  it.each<[OperationName, unknown, string]>([
    ['POST /v1/resync', undefined, 'the body must be a JSON object'],
    ['POST /v1/resync', {}, 'resources: found nothing; expected a list of resources'],
    ['POST /v1/resync', { resources: [] }, 'resources: found []; expected at least one resource'],
    [
      'POST /v1/resync',
      { resources: ['all'] },
      'resources[0]: found "all"; expected one of products, checkout, variants, images, availability',
    ],
    [
      'POST /v1/resync',
      { resources: ['images'], from: 'soon' },
      'from: found "soon"; expected a date, like 2026-12-24',
    ],
    [
      'POST /v1/held/approve',
      { kind: 'dates' },
      'kind: found "dates"; expected one of less, price, products, sale-status, near-dates, far-dates, variants, texts, fewer-near-dates, fewer-far-dates, fewer-times, fewer-variants, shorter-texts, alike-zones, alike-variant-types, alike-must-know, alike-titles, alike-texts, alike-images, other-ids, from-prices, near-prices, far-prices, alike-from-prices, alike-near-prices, alike-far-prices',
    ],
    [
      'POST /v1/subscriptions/reactivate',
      {},
      'subscription_id: found nothing; expected the id of a declaration or of one of its parts',
    ],
    ['POST /v1/notifications/replay', { since: -1 }, 'since: found -1; expected epoch milliseconds'],
  ])('to %s with %j says so: %s', (name, body, says) => {
    expect(refusalOf(name, body)).toBe(says);
  });

  it('may write ids as text, and hold what is not known, where it always could', () => {
    const given = { resources: ['images'], product_ids: ['7'], dry_run: 'true', more: 1 };
    expect(readRequest(operations['POST /v1/resync'], { ...nothing, body: given }).body).toEqual({
      resources: ['images'],
      product_ids: [7],
      from: null,
      to: null,
      dry_run: true,
    });
  });
});
