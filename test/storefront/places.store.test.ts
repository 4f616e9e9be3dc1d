import { expect, it } from 'vitest';
import { imageLimitMs } from '../../src/catalogue/image.rules.ts';
import { instant } from '../../src/kernel/clock.ts';
import { decodeExperiencePage } from '../../src/service/decode-product.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
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
  // A clock that is two days behind the read is wrong.
  expect(credits(at - 2 * 86_400_000)).toEqual([]);
  putExperiences(test, read([image('c')]), instant(at + imageLimitMs));
  expect(credits(at + imageLimitMs)).toEqual(['c']);
  test.mirror.transaction(() => test.mirror.markFilled(at));
  putExperiences(test, read([]), instant(at + imageLimitMs + 1000));
  expect(credits(at + imageLimitMs + 1000)).toEqual([]);
  expect(test.all('SELECT kind FROM changes')).toEqual([{ kind: 'experience_changed' }]);
  shown.db.close();
});
