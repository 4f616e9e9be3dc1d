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
  { ...full, product_slug: 5, product_url: 'javascript:alert(1)', summary: '', duration: ['01:30'], languages: 'en' },
  { ...full, cancellation: null, supplier: 'Museum', venue: [], wheelchair_access: 1, is_package: 'true' },
  { ...full, cancellation: { policy: null, window: -1 }, supplier: { name: {} }, venue: { name: null } },
  { ...full, cancellation: { policy: [], window: '24' }, product_url: 'HTTP://shop.example/p1' },
];

it('a mirror of an older version says of its products what one that reads them now does', () => {
  using fresh = testMirror();
  putProducts(
    fresh.mirror,
    documents.map((document, index) => productOf(index + 1, { document: JSON.stringify(document) })),
  );
  const rows = documents.map((document, index) => {
    const text = JSON.stringify(document).replaceAll("'", "''");
    return `INSERT INTO product (product_id, sale_status, first_seen_at, read_at) VALUES (${index + 1}, 'enabled', 1, 1);
      INSERT INTO product_text (product_id, language, checked_at, changed_at, stale_at, list_document) VALUES (${index + 1}, 'en', 1, 1, 1, '${text}');`;
  });
  using older = testMirror({ migrations: 23, rows: rows.join('\n') });
  const said = (from: typeof fresh) => from.all(`SELECT ${columns} FROM products ORDER BY product_id`);
  expect(said(fresh)).toHaveLength(documents.length);
  expect(said(older)).toEqual(said(fresh));
  expect(said(fresh)[0]).toMatchObject({
    slug: 'p1',
    languages: '["en","nl"]',
    cancellation_window: 24,
    is_package: 0,
  });
});

it('a description that the list leaves out stays what the single-product read said', () => {
  using test = testMirror();
  const put = (source: 'list' | 'detail', sent_at: number, document: object) =>
    putProducts(test.mirror, [productOf(1, { document: JSON.stringify(document) })], { source, sent_at });
  put('list', 1000, { ...full, description: null });
  put('detail', 2000, { ...full, description: 'Long.' });
  put('list', 3000, { ...full, description: null, duration: '02:00' });
  expect(test.all('SELECT description, duration FROM products')).toEqual([{ description: 'Long.', duration: '01:30' }]);
});

it('a price before it was reduced is exact in its currency, or not there', () => {
  using test = testMirror();
  putProducts(test.mirror, [productOf(1, { prediscount_price: 1200 }), productOf(2)]);
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
    test.mirror,
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
