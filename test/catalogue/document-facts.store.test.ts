import { expect, it } from 'vitest';
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
  const uncancelled = { ...whole, cancellation_policy: null, cancellation_window: null };
  const bare = { ...uncancelled, supplier: null, venue_name: null, venue_address: null };
  expect(said).toEqual([
    whole,
    none,
    { ...whole, slug: null, url: null, summary: null, duration: null, languages: null },
    { ...bare, wheelchair_access: null, is_package: null },
    bare,
    { ...uncancelled, url: 'HTTP://shop.example/p1' },
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
