import { describe, expect, it } from 'vitest';
import { type ProductView, renderProduct } from '../../src/admin/page/product.ts';
import { now, view } from './known-status.ts';

function textOf(shown: ProductView): string {
  const [, body = ''] = renderProduct(shown, now).split('<main>');
  return body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

describe('the view of a product says', () => {
  const cases: [string, RegExp][] = [
    [
      'what the mirror says of it',
      /^ Museum of Bread &amp; Roses Shown yes, on sale Category museums Weight a stale copy does 1\.5 times/,
    ],
    [
      'which answer was refused last, and where',
      /variants \(en\) 1 h ago 3 bad-answer: variants\[2\]\.price: expected/,
    ],
    [
      'its next dates, and which of them are stale',
      /adult price .* 2026-11-22 available 12\.50 EUR .* 2026-11-23 sold_out - 9 h ago stale/,
    ],
    [
      'when and why each part is read',
      /2026-11-21 to 2026-12-21 \(EUR\) 2 h ago, cadence-elapsed in 4 h, cadence-elapsed near/,
    ],
    ['who announced what', /Notified 3 h ago: price \(all\)/],
    ['what was closed by notification', /Announced closures .* 4 d ago strike - 703295 over/],
    [
      'what changed',
      /Last changes .* It has another price: its cheapest ticket on 2026-11-22 is 12\.50 EUR, and was 11\.00 EUR\. 1 h ago/,
    ],
    ['which images are shown, with their credits', /Images .* 0 Photo: A\. Baker Loaves in 12 d/],
  ];
  it.each(cases)('%s', (_, words) => {
    expect(textOf(view)).toMatch(words);
  });

  it('whose price it is where no adult can buy', () => {
    const [first] = view.days;
    if (first === undefined) throw new Error('no day is known');
    const days = [{ ...first, price_variant_type: 'child' }];
    expect(textOf({ ...view, days })).toContain('12.50 EUR (child)');
  });

  it('nothing of what there is not', () => {
    const { explanation } = view;
    const bare = {
      ...view,
      days: [],
      images: [],
      changes: [],
      explanation: { ...explanation, closures: [], records: [] },
    };
    const text = textOf(bare);
    expect(text).toMatch(
      /None: the last answer of each part was good\. .*None is known\. .*None is in the feed\. .*None is shown\./,
    );
    expect(text).not.toContain('Announced closures');
  });
});

it('markup in titles, credits and answers is text in the view of a product', () => {
  const hostile = '"><img src=x onerror=alert(1)></style><script>alert(1)</script>\'\u202e';
  const planted = JSON.parse(JSON.stringify(view), (key, value: unknown) =>
    typeof value === 'string' && !['today', 'state', 'subject'].includes(key) ? hostile : value,
  ) as ProductView;
  const page = renderProduct(planted, now);
  expect(page.match(/<img|<script|<\/style>/g)).toEqual(['</style>']);
  expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(10);
  expect(page).not.toMatch(/\u202e/);
  expect(page).toContain(`<h1>${'&quot;&gt;&lt;img'}`);
});
