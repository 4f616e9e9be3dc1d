import { expect, it } from 'vitest';
import { applySearchRules } from '../../../src/mirror/catalogue/search.ts';
import { mirrorFile } from '../../../src/mirror/sql/files.ts';
import { openForWriting } from '../../../src/sqlite/database-file.ts';
import type { Reader } from '../../../src/storefront/reader.ts';
import { putLanguages } from '../../fakes/planted.ts';
import { openReader } from '../../fakes/reader.ts';
import { productOf, putProducts } from '../../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../../fakes/test-mirror.ts';

const english = [
  productOf(1, {
    title: 'Colosseum: Priority Entry',
    city_name: 'Rome',
    country_name: 'Italy',
    rating: 3,
    venue_id: null,
  }),
  productOf(2, { title: 'City Card', city_name: 'Florence', country_name: 'Italy', rating: 5, venue_id: null }),
  productOf(3, { title: 'Beer Garden', city_name: 'Munich', country_name: 'Germany', rating: 4, venue_id: null }),
  productOf(4, {
    title: 'Night Watch',
    city_name: 'The Hague',
    country_name: 'The Netherlands',
    rating: 4,
    venue_id: null,
  }),
];
const german = [
  productOf(1, { title: 'Kolosseum: Bevorzugter Einlass', city_name: 'Rom', country_name: 'Italien' }),
  productOf(2, { title: 'Stadtkarte', city_name: 'Florenz', country_name: 'Italien' }),
  productOf(3, { title: 'Biergarten', city_name: 'München', country_name: 'Deutschland' }),
];
const italian = [
  productOf(1, { title: 'Colosseo: Ingresso Prioritario', city_name: 'Roma', country_name: 'Italia' }),
  productOf(2, { title: 'Carta della città', city_name: 'Firenze', country_name: 'Italia' }),
];

const typed = [
  'kolosseum',
  'colosseo',
  'firenze',
  'Florenz',
  'münchen',
  'munchen',
  'deutschland',
  'kollosseum',
] as const;
const first = (reader: Reader) => typed.map((text) => reader.search({ text }).hits[0]?.product_id);

function translated(test: TestMirror): void {
  putProducts(test, german, { language: 'de' });
  putLanguages(test, ['en', 'de', 'it']);
  for (const entry of italian) putProducts(test, [entry], { language: 'it' });
  putLanguages(test, ['en', 'de', 'it']);
}

it('a city, a country and a landmark are found by their names in each mirrored language', () => {
  using test = testMirror();
  putProducts(test, english);
  using before = openReader(test.path);
  expect(before.search({ text: 'firenze' }).hits).toEqual([]);
  expect(before.search({ text: 'deutschland' }).hits).toEqual([]);
  translated(test);
  using reader = openReader(test.path);
  expect(first(reader)).toEqual([1, 1, 2, 2, 3, 3, 3, 1]);
});

it('the name of a city in another language puts its products first', () => {
  using test = testMirror();
  const elsewhere = productOf(9, { title: 'Firenze Restaurant', city_name: 'Munich', rating: 5, venue_id: null });
  putProducts(test, [...english, elsewhere]);
  translated(test);
  using reader = openReader(test.path);
  expect(reader.search({ text: 'firenze' }).hits.map(({ product_id }) => product_id)).toEqual([2, 9]);
});

it('a name that the service no longer has finds nothing, and the words are those that are made from scratch', () => {
  using test = testMirror();
  putProducts(test, english);
  translated(test);
  const renamed = productOf(3, { title: 'Bierhalle', city_name: 'Monaco', country_name: 'Baviera' });
  putProducts(test, [renamed], { language: 'de' });
  using reader = openReader(test.path);
  expect(reader.search({ text: 'münchen' }).hits).toEqual([]);
  const tables = ['search_words', '_search_text', 'search_deletes'];
  const words = () => tables.map((table) => test.all(`SELECT * FROM ${table} ORDER BY 1, 2`));
  const kept = words();
  expect(kept.flat().length).toBeGreaterThan(100);
  const db = openForWriting(test.path, mirrorFile);
  db.exec('DELETE FROM _search_rules');
  expect(applySearchRules(db)).toBe(true);
  db.close();
  expect(words()).toEqual(kept);
});
