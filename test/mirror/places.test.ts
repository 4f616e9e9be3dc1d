import { expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { imageLimitMs } from '../../src/domain/catalogue/image.ts';
import { decodeExperiencePage } from '../../src/upstream/decode-experience.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { openReader } from '../fakes/reader.ts';
import { rowsAnswered } from '../fakes/standard-answers.ts';
import { experienceOf, productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

/** Addresses that may be published: those of the service. */
const anywhere = (url: string) => url.startsWith('https://images.example/');

const at = instant(Date.parse('2026-12-05T10:00:00Z'));

function putExperiences(
  { mirror }: TestMirror,
  experiences: readonly ReturnType<typeof experienceOf>[],
  sent_at = at,
): void {
  mirror.transaction(() => {
    for (const experience of experiences)
      mirror.catalogue.experiences.store([experience], {
        currency: 'EUR',
        sent_at: instant(sent_at),
        stale_at: instant(sent_at + 1000),
        reason: 'cadence-elapsed',
        isUsable: () => true,
      });
  });
}

it('what is on sale is counted by city, by country and by experience, a product of two experiences in both', () => {
  using test = testMirror();
  putProducts(test, [
    productOf(1, { venue_id: 5 }),
    productOf(2, { venue_id: 6, city_id: 2, city_name: 'Utrecht' }),
    productOf(3, { venue_id: 6, city_id: 2, city_name: 'Utrecht', sale_status: 'disabled' }),
    productOf(4, { venue_id: null, city_id: 3, city_name: null, country_id: 2, country_name: 'Belgium' }),
    productOf(5, { venue_id: null, city_id: null, country_id: null }),
  ]);
  putExperiences(test, [experienceOf(5, { product_ids: [1, 2, 99] }), experienceOf(6), experienceOf(7)]);
  using reader = openReader(test.mirror.path);
  const counts = (rows: readonly { products: number; sellable_products: number }[]) =>
    rows.map(({ products, sellable_products }) => [products, sellable_products]);
  expect(reader.cities().map(({ city_id, name, country_id }) => [city_id, name, country_id])).toEqual([
    [2, 'Utrecht', 1],
    [1, 'Amsterdam', 1],
    [3, null, 2],
  ]);
  expect(counts(reader.cities())).toEqual([
    [2, 1],
    [1, 1],
    [1, 1],
  ]);
  expect(reader.cities({ country_id: 2 }).map(({ city_id }) => city_id)).toEqual([3]);
  expect(reader.countries().map(({ name }) => name)).toEqual(['Netherlands', 'Belgium']);
  expect(counts(reader.countries())).toEqual([
    [3, 2],
    [1, 1],
  ]);
  expect(reader.experiences().map(({ experience_id }) => experience_id)).toEqual([5, 6, 7]);
  expect(counts(reader.experiences())).toEqual([
    [2, 2],
    [2, 1],
    [0, 0],
  ]);
  expect(reader.experiences({ city_id: 2 }).map(({ experience_id }) => experience_id)).toEqual([6]);
  expect(reader.experiences({ after: 5, limit: 1 }).map(({ experience_id }) => experience_id)).toEqual([6]);
  expect(reader.experience(8)).toBeNull();
});

it('a city that products put into two countries stands once, in that of most of them', () => {
  using test = testMirror();
  putProducts(
    test,
    [1, 2, 2].map((country_id, index) => productOf(index + 1, { country_id })),
  );
  expect(test.all('SELECT city_id, country_id, products FROM cities')).toEqual([
    { city_id: 1, country_id: 2, products: 3 },
  ]);
});

it('what the list leaves out of an experience is said by the first product whose venue it is', () => {
  using test = testMirror();
  const document = JSON.stringify({ venue: { name: 'Tower', address: 'Quay 1' } });
  putProducts(test, [productOf(1, { document })]);
  putExperiences(test, [experienceOf(5, { title: null }), experienceOf(6, { title: null })]);
  const shown = 'title, address, city_id, city_name, latitude';
  expect(test.all(`SELECT ${shown} FROM experiences ORDER BY experience_id`)).toEqual([
    { title: 'Tower', address: 'Quay 1', city_id: 1, city_name: 'Amsterdam', latitude: 52.37 },
    { title: null, address: null, city_id: null, city_name: null, latitude: null },
  ]);
});

it('a price of an experience is that of the primary currency, and none where the list was read in another one', () => {
  using test = testMirror();
  putExperiences(test, [experienceOf(5, { from_price: 900 })]);
  test.mirror.transaction(() => {
    const read = {
      currency: 'USD',
      sent_at: at,
      now: at,
      stale_at: instant(at + 1000),
      reason: 'cadence-elapsed',
      isUsable: () => true,
    } as const;
    test.mirror.catalogue.experiences.store([experienceOf(6, { from_price: 900 })], read);
  });
  expect(test.all('SELECT from_price, currency FROM experiences ORDER BY experience_id')).toEqual([
    { from_price: 900, currency: 'EUR' },
    { from_price: null, currency: 'EUR' },
  ]);
});

it('what the list says of an experience with another type is not said', () => {
  const decoded = (given: object) =>
    decodeExperiencePage(rowsAnswered('experiences', { experiences: [{ id: 5, ...given }] }), 'EUR', anywhere)
      .entries[0];
  const nothing = { ...experienceOf(5, { title: null }), document: undefined };
  for (const value of [5, true, null, [], ['a'], '', {}])
    expect(
      decoded({
        tagline: value,
        description: value,
        experience_url: value,
        address: { street: value, city_name: value },
        ratings: value,
        geolocation: value,
      }),
      JSON.stringify(value),
    ).toMatchObject({
      tagline: null,
      description: null,
      url: null,
      address: null,
      city_name: null,
      rating: null,
      latitude: null,
    });
  for (const value of [-1, 9.999, 'dear', [9], {}]) expect(decoded({ from_price: value })?.from_price).toBeNull();
  expect(decoded({ from_price: 9, currency: 'USD' })?.from_price).toBeNull();
  expect(decoded({ ratings: { average: 0, total: 0 } })).toMatchObject({ rating: null, rating_count: 0 });
  expect({ ...decoded({}), document: undefined }).toEqual(nothing);
  expect(
    decoded({
      tagline: 'Tall',
      experience_url: 'https://shop.example/e5',
      address: { street: 'Quay 1', city_name: 'Harbourton', country_name: 'Norland' },
      geolocation: { lat: 52, lng: 4 },
      ratings: { average: 4.5, total: 9 },
      from_price: '9.5',
      currency: 'eur',
    }),
  ).toMatchObject({
    tagline: 'Tall',
    url: 'https://shop.example/e5',
    address: 'Quay 1',
    city_name: 'Harbourton',
    country_name: 'Norland',
    latitude: 52,
    rating: 4.5,
    rating_count: 9,
    from_price: 950,
  });
});

it('an experience that is read as it was tells the change feed nothing, and one that differs tells it once', () => {
  using test = testMirror();
  putProducts(test, [productOf(1)]);
  putExperiences(test, [experienceOf(5, { product_ids: [1] })]);
  test.mirror.transaction(() => test.mirror.markFilled(at));
  const kinds = (after: number) => test.all('SELECT kind FROM changes WHERE seq > ? ORDER BY seq', after);
  const first = test.mirror.changes.newest();
  putExperiences(test, [experienceOf(5, { product_ids: [1] })], instant(at + 2000));
  expect(kinds(first)).toEqual([]);
  expect(test.all('SELECT checked_at FROM experiences')).toEqual([{ checked_at: at + 2000 }]);
  const other = { product_ids: [1], rating: 4.5, document: '{"rating":4.5}' };
  putExperiences(test, [experienceOf(5, other)], instant(at + 3000));
  expect(kinds(first)).toEqual([{ kind: 'experience_changed' }]);
});

it('addresses of pages have plain letters and the id, which alone stands for a name without letters', () => {
  using test = testMirror();
  const cities = ['Saint-Émilion', 'København', '東京', "'s-Hertogenbosch", 'São  Paulo!', '…', null, 'x'.repeat(200)];
  putProducts(
    test,
    cities.map((city_name, index) => productOf(index + 1, { city_id: index + 1, city_name })),
  );
  putProducts(test, [productOf(1, { city_id: 1, city_name: 'Sint-Emilion' })], { language: 'nl' });
  putProducts(test, [productOf(9, { city_id: null })]);
  putExperiences(test, [experienceOf(5, { title: 'Musée d’Orsay' }), experienceOf(6, { title: null })]);
  const slugs = ['saint-emilion-1', 'kobenhavn-2', '東京-3', 's-hertogenbosch-4', 'sao-paulo-5', '6', '7'];
  const ofCities = test.all<{ slug: string }>("SELECT slug FROM cities WHERE language = 'en' ORDER BY city_id");
  expect(ofCities.map(({ slug }) => slug)).toEqual([...slugs, `${'x'.repeat(80)}-8`]);
  const inDutch = test.all<{ slug: string }>("SELECT slug FROM cities WHERE language = 'nl' ORDER BY city_id LIMIT 2");
  expect(inDutch.map(({ slug }) => slug)).toEqual(['sint-emilion-1', 'kobenhavn-2']);
  const ofProducts =
    "SELECT city_slug FROM products WHERE language = 'en' AND product_id IN (1, 7, 9) ORDER BY product_id";
  expect(test.all<{ city_slug: string }>(ofProducts).map((row) => row.city_slug)).toEqual([
    'saint-emilion-1',
    '7',
    null,
  ]);
  const ofVenues = test.all<{ slug: string }>(
    "SELECT slug FROM experiences WHERE language = 'en' ORDER BY experience_id",
  );
  expect(ofVenues.map(({ slug }) => slug)).toEqual(['musee-dorsay-5', '6']);
});

it('an image of a venue is shown for 14 days after the read that returned it, and no longer by a read that names none', () => {
  using test = testMirror();
  const read = (images: unknown) =>
    decodeExperiencePage(rowsAnswered('experiences', { experiences: [{ id: 5, images }] }), 'EUR', anywhere).entries;
  const image = (name: string) => ({ large: `https://images.example/${name}.jpg`, credit: name, alt_text: null });
  const shown = openMirrorWithClock(test.mirror.path);
  const credits = (now: number) => {
    shown.set(now);
    return shown.db.prepare('SELECT credit FROM experience_images ORDER BY position').pluck().all();
  };
  expect(credits(at)).toEqual([]);
  putExperiences(test, read([image('a'), { ...image('b'), large: 'http://10.0.0.1/b.jpg' }, image('c')]));
  expect(credits(at)).toEqual(['a', 'c']);
  putExperiences(test, read(null), instant(at + imageLimitMs / 2));
  putExperiences(test, read(undefined), instant(at + imageLimitMs / 2 + 1000));
  expect(credits(at + imageLimitMs - 1000)).toEqual(['a', 'c']);
  expect(credits(at + imageLimitMs)).toEqual([]);
  putExperiences(test, read([image('c')]), instant(at + imageLimitMs));
  expect(credits(at + imageLimitMs)).toEqual(['c']);
  test.mirror.transaction(() => test.mirror.markFilled(at));
  putExperiences(test, read([]), instant(at + imageLimitMs + 1000));
  expect(credits(at + imageLimitMs + 1000)).toEqual([]);
  expect(test.all('SELECT kind FROM changes')).toEqual([{ kind: 'experience_changed' }]);
  shown.db.close();
});
