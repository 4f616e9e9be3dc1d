import { expect, it } from 'vitest';
import type { Reader } from '../../../src/storefront/reader.ts';
import { openReader } from '../../fakes/reader.ts';
import { productOf, putProducts } from '../../fakes/stored-products.ts';
import { testMirror } from '../../fakes/test-mirror.ts';

const towns =
  'Arden Brock Calder Dunmore Elgin Farrow Glenco Harwick Inver Jarrow Kelso Lorne Moffat Nairn Oban Perrin Quarn Rosslyn'.split(
    ' ',
  );
const others = towns.map((town, index) =>
  productOf(100 + index, {
    title: `${town} Palace: Day Ticket`,
    city_name: town,
    city_id: 100 + index,
    rating: 5,
    venue_id: null,
  }),
);
const fillers = Array.from({ length: 200 }, (_, index) =>
  productOf(200 + index, { title: `Walk ${index}`, city_name: 'Sark', city_id: 99, rating: 4, venue_id: null }),
);
const colosseum = productOf(1, { title: 'Colosseum: Arena Floor', city_name: 'Rome', rating: 3, venue_id: null });

const arenas = ['Underground', 'By Night', 'Third Ring', 'With Forum', 'Audio Guide', 'For Families'].map(
  (title, index) => productOf(10 + index, { ...colosseum, product_id: 10 + index, title: `Colosseum: ${title}` }),
);

const places = (reader: Reader, text: string, language?: string) =>
  reader
    .search({ text, language })
    .hits.map(({ product_id }) => product_id)
    .slice(0, 3);

it.each([
  ['mistyped', 'colloseum palace'],
  ['mistyped twice', 'kolloseum palace'],
  ['half typed', 'palace coloss'],
  ['with an ending of another language', 'colosseumban palace'],
])('a rare word outweighs a common one that is typed as it stands: %s', (_, text) => {
  using test = testMirror();
  putProducts(test, [...others, ...fillers, ...arenas]);
  using reader = openReader(test.path);
  expect(places(reader, text).every((id) => id < 100)).toBe(true);
});

it('a word known from another language counts as the name that is shown for it', () => {
  using test = testMirror();
  const bistro = productOf(2, {
    title: 'Bistro',
    tagline: 'Kolosseum',
    city_name: 'Berlin',
    city_id: 2,
    rating: 5,
    venue_id: null,
  });
  putProducts(test, [...others, bistro, colosseum]);
  putProducts(test, [{ ...colosseum, title: 'Kolosseum: Bereich der Arena', city_name: 'Rom' }], {
    language: 'de',
  });
  using reader = openReader(test.path);
  const [first] = reader.search({ text: 'kolosseum' }).hits;
  expect(first).toMatchObject({ product_id: 1, found_in: 'name' });
  expect(places(reader, 'kolosseum palace')[0]).toBe(1);
});
