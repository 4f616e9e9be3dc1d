import { expect, it } from 'vitest';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const columns = `slug, url, summary, description, duration, languages, cancellation_policy, cancellation_window, supplier,
  venue_name, venue_address, wheelchair_access, is_package`;

const full = {
  product_slug: 'p1',
  product_url: 'https://shop.example/p1',
  summary: 'Short.',
  duration: '01:30',
  languages: ['en', 5, 'nl'],
  cancellation: { policy: 'never', window: 24 },
  supplier: { name: 'Museum' },
  venue: { name: 'Museum', address: 'Quay 1' },
  wheelchair_access: true,
  is_package: false,
};

const documents: readonly object[] = [
  full,
  {},
  { ...full, product_slug: 5, product_url: 'javascript:alert(1)', summary: '', duration: ['01:30'], languages: 5 },
  { ...full, cancellation: null, supplier: 'Museum', venue: [], wheelchair_access: 1, is_package: 'true' },
  { ...full, cancellation: { policy: null, window: -1 }, supplier: { name: {} }, venue: { name: null } },
  { ...full, cancellation: { policy: [], window: '24' }, product_url: 'HTTP://shop.example/p1' },
];

it('facts of a document are taken over only in the right type', () => {
  using test = testMirror();
  putProducts(
    test,
    documents.map((document, index) => productOf(index + 1, { document: JSON.stringify(document) })),
  );
  const said = test.all(`SELECT ${columns} FROM products ORDER BY product_id`);
  const none = Object.fromEntries(columns.split(/,\s+/).map((name) => [name, null]));
  const whole = {
    slug: 'p1',
    url: 'https://shop.example/p1',
    summary: 'Short.',
    description: null,
    duration: '01:30',
    languages: '["en","nl"]',
    cancellation_policy: 'never',
    cancellation_window: 24,
    supplier: 'Museum',
    venue_name: 'Museum',
    venue_address: 'Quay 1',
    wheelchair_access: 1,
    is_package: 0,
  };
  expect(said).toEqual([
    whole,
    none,
    { ...whole, slug: null, url: null, summary: null, duration: null, languages: null },
    {
      ...whole,
      cancellation_policy: null,
      cancellation_window: null,
      supplier: null,
      venue_name: null,
      venue_address: null,
      wheelchair_access: null,
      is_package: null,
    },
    {
      ...whole,
      cancellation_policy: null,
      cancellation_window: null,
      supplier: null,
      venue_name: null,
      venue_address: null,
    },
    { ...whole, url: 'HTTP://shop.example/p1', cancellation_policy: null, cancellation_window: null },
  ]);
});

it('a description that the list leaves out stays what the single-product read said', () => {
  using test = testMirror();
  const put = (source: 'list' | 'detail', sent_at: number, document: object) =>
    putProducts(test, [productOf(1, { document: JSON.stringify(document) })], { source, sent_at });
  put('list', 1000, { ...full, description: null });
  put('detail', 2000, { ...full, description: 'Long.' });
  put('list', 3000, { ...full, description: null, duration: '02:00' });
  expect(test.all('SELECT description, duration FROM products')).toEqual([{ description: 'Long.', duration: '01:30' }]);
});

it('a price before it was reduced is exact in its currency, or not there', () => {
  using test = testMirror();
  putProducts(test, [productOf(1, { prediscount_price: 1200 }), productOf(2)]);
  expect(test.all('SELECT product_id, prediscount_price FROM products ORDER BY 1')).toEqual([
    { product_id: 1, prediscount_price: 1200 },
    { product_id: 2, prediscount_price: null },
  ]);
  expect(test.all('SELECT prediscount_price FROM product_prices WHERE product_id = 1')).toEqual([
    { prediscount_price: 1200 },
  ]);
});

it('today at the venue is told by its zone and the reader’s clock, and is not told where the zone is unknown', () => {
  using test = testMirror();
  const now = Date.parse('2026-12-05T10:30:00Z');
  const zones = ['Pacific/Kiritimati', 'Pacific/Midway', 'Asia/Kolkata', null];
  putProducts(
    test,
    zones.map((timezone, index) => productOf(index + 1, { timezone })),
    { sent_at: now },
  );
  const at = (instant: number) => {
    const db = openMirrorAt(test.mirror.path, instant);
    const dates = db.prepare('SELECT venue_today FROM products ORDER BY product_id').pluck().all();
    db.close();
    return dates;
  };
  expect(at(now)).toEqual(['2026-12-06', '2026-12-04', '2026-12-05', null]);
  expect(at(Date.parse('2026-12-05T18:29:59.999Z'))).toEqual(['2026-12-06', '2026-12-05', '2026-12-05', null]);
  expect(at(Date.parse('2026-12-05T18:30:00Z'))).toEqual(['2026-12-06', '2026-12-05', '2026-12-06', null]);
});
