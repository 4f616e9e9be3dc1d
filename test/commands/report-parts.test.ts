import { expect, it } from 'vitest';
import { partsOf } from '../../src/commands/report/parts.ts';
import type { WeekReport } from '../../src/domain/week/report.ts';
import type { ProductEvent } from '../../src/domain/week/turnover.ts';

const at = Date.UTC(2026, 10, 12, 9, 30);
const one = { product_id: 7, title: 'A canal cruise' };
const event: ProductEvent = {
  ...one,
  at,
  kind: 'product_added',
  reason: 'sold_out_for_good',
  expected_reopening: null,
};
const image = { ...one, image_key: 'a1', credit: 'Jo' };
const counts = { checks: 9, wrong: 4, orders: 3, orders_wrong: 2 };
const move = { ...one, date: '2026-12-05', old: 1000, new: 1250 };
const moves = { moved: 1, up: 1, down: 0, by_rate: 0, biggest: [move] };

const report: WeekReport = {
  at,
  week: { name: '2026-W46', from: at - 1, to: at + 1 },
  mirror: 'mirror.db',
  written_by: 'catalogued',
  filled_at: 1,
  known_since: null,
  currency: 'EUR',
  products: { added: [event], returned: [event], withdrawn: [event], closed: [event], reopened: [event] },
  prices: { products: moves, dates: { ...moves, products: 1 } },
  images: {
    must_go: [{ ...one, images: 5, hidden_from: at }],
    went: [{ ...image, last_confirmed_at: null, withdrawn_at: at, cause: 'product', returned_at: null }],
    back: [],
    credit_changes: [{ ...one, image_key: 'a1', old: 'Jo', new: null, at }],
  },
  sold_without_subscription: { covers_sales: 1, products: [{ ...one, tickets: 6, orders: 5 }] },
  truth: null,
  checkout: {
    ...{ ...counts, tickets: 6, said_available: 1, said_sold_out: 2, said_price: 3, unknown: 4, unanswered: 5 },
    rate: 0.5,
    worst: [{ ...one, ...counts }],
  },
  fruitless_searches: [{ words: 'opera', searches: 8 }],
  week_before: null,
};

it('each table of a report has its columns in one order, and the cells belong to their headings', () => {
  const tables = partsOf(report).flatMap((part) => part.tables);
  const shown = tables.map(({ caption, headings, rows }) => [
    caption,
    rows.map((row) => row.map((cell, index) => `${headings[index]}: ${cell}`).join(', ')).join('\n'),
  ]);
  const product = 'product: 7, title: A canal cruise';
  const when = `${product}, when: 2026-11-12 09:30`;
  const why = `${when}, why: sold out for good`;
  const by = 'was: 10.00 EUR, is: 12.50 EUR, by: +25 %';
  expect(shown).toEqual([
    ['New', when],
    ['Back after having been withdrawn', when],
    ['Withdrawn', why],
    ['Closed', `${why}, opens: not said`],
    ['On sale again', when],
    ['The biggest moves of products', `${product}, ${by}`],
    ['The biggest of dates, one a product', `${product}, date: 2026-12-05, ${by}`],
    [
      'Taken down, and not back',
      `${product}, image: a1, credit: Jo, when: 2026-11-12 09:30, because: product withdrawn`,
    ],
    ['Hidden unless they are confirmed', `${product}, images: 5, hidden from: 2026-11-12 09:30`],
    ['Other credits', `${product}, image: a1, was: Jo, is: none`],
    ['Those that sold most', `${product}, tickets: 6, orders judged: 5`],
    ['Products that were wrong most often', `${product}, orders: 3, wrong orders: 2, checks: 9, wrong checks: 4`],
    ['The most frequent', 'words: opera, searches: 8'],
  ]);
});

it('images that were taken down are counted as in the audit, also those that are back', () => {
  const [gone] = report.images.went;
  if (gone === undefined) throw new Error('no image went');
  const says = (went: number, back: number) =>
    partsOf({
      ...report,
      images: { must_go: [], credit_changes: [], went: Array(went).fill(gone), back: Array(back).fill(gone) },
    }).find(({ title }) => title.startsWith('Images'))?.says;
  expect(says(0, 0)).toEqual(['Taken down: 0.']);
  expect(says(0, 1)).toEqual(['Taken down: 1 (1 back since).']);
  expect(says(2, 1)).toEqual([
    'Taken down: 3 (1 back since).',
    'Remove what is not back from wherever else you have copied it: 2.',
  ]);
});
