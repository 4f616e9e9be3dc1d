import { expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

const at = instant(Date.parse('2026-12-05T10:00:00Z'));

function mirrored(test: TestMirror, ...languages: readonly string[]): void {
  test.mirror.transaction(() => test.mirror.catalogue.languages.write(languages));
}

const shown = (test: TestMirror) =>
  test.all('SELECT product_id, language, language_shown, title FROM products ORDER BY product_id, language');

const row = (product_id: number, language: string, language_shown: string, title: string) => ({
  product_id,
  language,
  language_shown,
  title,
});

it('a product without a text in a language is shown there in the primary one, until it has one', () => {
  using test = testMirror();
  mirrored(test, 'en', 'nl');
  putProducts(test, [productOf(1), productOf(2)], { sent_at: at });
  putProducts(test, [productOf(1, { title: 'Toren 1' }), productOf(2, { title: null })], {
    language: 'nl',
    sent_at: instant(at + 1),
  });
  const before = [row(1, 'en', 'en', 'Tower 1'), row(1, 'nl', 'nl', 'Toren 1'), row(2, 'en', 'en', 'Tower 2')];
  expect(shown(test)).toEqual([...before, row(2, 'nl', 'en', 'Tower 2')]);
  putProducts(test, [productOf(2, { title: 'Toren 2' })], { language: 'nl', sent_at: instant(at + 2) });
  expect(shown(test)).toEqual([...before, row(2, 'nl', 'nl', 'Toren 2')]);
});

it('a language that the service says its texts are in is shown, where it is another than the one asked for', () => {
  using test = testMirror();
  for (const [product_id, said] of [
    [1, 'en'],
    [2, 'NL-be'],
    [3, 5],
    [4, ''],
    [5, 'Dutch'],
  ] as const) {
    const document = JSON.stringify({ language: said });
    putProducts(test, [productOf(product_id)], { sent_at: at });
    putProducts(test, [productOf(product_id, { document })], { language: 'nl', sent_at: instant(at + 1) });
  }
  expect(test.all("SELECT language_shown FROM products WHERE language = 'nl' ORDER BY product_id")).toEqual(
    ['en', 'nl', 'nl', 'nl', 'nl'].map((language_shown) => ({ language_shown })),
  );
});

it('what a sale needs to know, and each variant, is shown in the primary language where it is not there in another', () => {
  using test = testMirror();
  mirrored(test, 'en', 'nl');
  putProducts(test, [productOf(1)], { sent_at: at });
  const read = {
    product_id: 1,
    sent_at: at,
    stale_at: instant(at + 1000),
    now: at,
    reason: 'cadence-elapsed' as const,
  };
  const facts = { has_timeslots: true, has_dynamic_pricing: false, good_to_know: null, document: '{}' };
  const variant = (variant_id: number, label: string) => ({
    variant_id,
    document: JSON.stringify({ id: variant_id, label }),
  });
  test.mirror.transaction(() => {
    test.mirror.catalogue.checkoutInformation.store(
      { ...read, language: 'en' },
      { ...facts, must_know: 'Bring an ID.' },
    );
    test.mirror.catalogue.variants.store(
      { ...read, language: 'en', source: 'variants' },
      [variant(7, 'Adult'), variant(8, 'Child')],
      new Set([7, 8]),
    );
    test.mirror.catalogue.variants.store(
      { ...read, language: 'nl', source: 'variants' },
      [variant(7, 'Volwassene')],
      new Set([7]),
    );
  });
  const dutch = { language: 'nl', language_shown: 'en' };
  using reader = openReader(test.mirror.path, { language: 'nl' });
  expect(reader.checkoutInformation(1)).toMatchObject({ ...dutch, must_know: 'Bring an ID.' });
  expect(reader.variants(1)).toMatchObject([
    { language: 'nl', language_shown: 'nl', variant_id: 7, label: 'Volwassene' },
    { ...dutch, variant_id: 8, label: 'Child' },
  ]);
  expect(reader.variants(1, { language: 'en' })).toHaveLength(2);
});

it('what is added to the languages, or taken away, changes the rows and what is found in them', () => {
  using test = testMirror();
  putProducts(test, [productOf(1)], { sent_at: at });
  const found = () => test.all('SELECT language FROM product_search ORDER BY language');
  expect(found()).toEqual([{ language: 'en' }]);
  mirrored(test, 'en', 'nl');
  expect(found()).toEqual([{ language: 'en' }, { language: 'nl' }]);
  expect(shown(test)).toEqual([row(1, 'en', 'en', 'Tower 1'), row(1, 'nl', 'en', 'Tower 1')]);
  mirrored(test, 'en', 'fr');
  expect(found()).toEqual([{ language: 'en' }, { language: 'fr' }]);
  expect(test.all('SELECT language, is_primary FROM languages ORDER BY language')).toEqual([
    { language: 'en', is_primary: 1 },
    { language: 'fr', is_primary: 0 },
  ]);
});

it('a language, a currency, a city or a tag that is not mirrored is named, with what there is', () => {
  using test = testMirror();
  mirrored(test, 'en', 'nl');
  putProducts(test, [productOf(1, { tag_ids: [4] })], { sent_at: at });
  using reader = openReader(test.mirror.path);
  const refused = (message: string, hint: string) => expect.objectContaining({ code: 'bad-argument', message, hint });
  const language = 'fr';
  const noFrench = refused('language: "fr" is not mirrored', 'give one of en, nl');
  for (const ask of [
    () => reader.product(1, { language }),
    () => reader.products({ language }),
    () => reader.experience(1, { language }),
    () => reader.experiences({ language }),
    () => reader.cities({ language }),
    () => reader.countries({ language }),
    () => reader.checkoutInformation(1, { language }),
    () => reader.variants(1, { language }),
    () => reader.alternatives(1, { language }),
    () => reader.related(1, { language }),
    () => reader.exact({ text: 'a', language }),
    () => reader.search({ language }),
    () => openReader(test.mirror.path, { language }),
  ])
    expect(ask).toThrow(noFrench);
  const currency = 'USD';
  for (const ask of [
    () => reader.product(1, { currency }),
    () => reader.products({ currency }),
    () => reader.exact({ text: 'a', currency }),
    () => reader.search({ currency }),
    () => reader.calendar(1, { currency }),
    () => reader.slots(1, '2026-12-05', { currency }),
    () => reader.cheapest(1, { currency }),
    () => openReader(test.mirror.path, { currency }),
  ])
    expect(ask).toThrow(
      expect.objectContaining({ code: 'bad-argument', message: expect.stringContaining('"USD" is not mirrored') }),
    );
  const nowhere = refused('city_id: no product has 9', 'the commonest are 1 (Amsterdam)');
  for (const ask of [
    () => reader.search({ city_id: 9 }),
    () => reader.products({ city_id: 9 }),
    () => reader.exact({ city_id: 9 }),
    () => reader.experiences({ city_id: 9 }),
  ])
    expect(ask).toThrow(nowhere);
  const noTag = refused('tag_id: no product has 9', 'the commonest are 4');
  for (const ask of [() => reader.search({ tag_id: 9 }), () => reader.products({ tag_id: 9 })])
    expect(ask).toThrow(noTag);
  const noCountry = refused('country_id: no product has 9', 'the commonest are 1 (Netherlands)');
  for (const ask of [
    () => reader.search({ country_id: 9 }),
    () => reader.products({ country_id: 9 }),
    () => reader.cities({ country_id: 9 }),
  ])
    expect(ask).toThrow(noCountry);
});
