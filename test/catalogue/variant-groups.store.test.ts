import { expect, it } from 'vitest';
import type { VariantGroup } from '../../src/catalogue/variant.rules.ts';
import { instant } from '../../src/kernel/clock.ts';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

const at = instant(Date.parse('2026-12-05T10:00:00Z'));
const tours = { group_id: 7, name: 'Guided tours' };
const entries = { group_id: 8, name: 'Entry tickets' };

/** A mirror with a product whose variants are of these groups, by their ids, and what availability calls the groups. */
function mirrored(groupsOf: Readonly<Record<number, unknown>>, languages = ['en']) {
  const test = testMirror();
  putProducts(test, [productOf(1)], { sent_at: at });
  test.mirror.transaction(() => {
    test.mirror.catalogue.languages.write(languages);
    test.mirror.markFilled(at);
  });
  const variants = Object.entries(groupsOf).map(([id, group_ids]) => ({
    variant_id: Number(id),
    document: JSON.stringify({ id: Number(id), group_ids }),
  }));
  const read = {
    product_id: 1,
    stale_at: instant(at + 1000),
    now: instant(at + 1000),
    reason: 'cadence-elapsed',
  } as const;
  const listed = new Set(variants.map(({ variant_id }) => variant_id));
  for (const language of languages)
    test.mirror.transaction(() =>
      test.mirror.catalogue.variants.store({ ...read, source: 'variants', language, sent_at: at }, variants, new Set()),
    );
  const told = () =>
    test.all("SELECT language, detail FROM changes WHERE kind = 'variants_changed' AND seq > @from ORDER BY seq", {
      from,
    });
  const from = (test.all('SELECT max(seq) AS seq FROM changes')[0] as { seq: number }).seq;
  return {
    test,
    told,
    names: (language = 'en') =>
      test
        .all('SELECT group_names FROM variants WHERE language = @language ORDER BY variant_id', { language })
        .map((row) => (row as { group_names: string | null }).group_names),
    answer: (
      groups: readonly VariantGroup[],
      sent_at = at + 1,
      by: { source?: 'availability' | 'variants'; language?: string } = {},
    ) =>
      test.mirror.transaction(() =>
        test.mirror.catalogue.variants.store(
          { ...read, source: 'availability', language: 'en', ...by, sent_at: instant(sent_at), groups },
          variants,
          listed,
        ),
      ),
    [Symbol.dispose]: () => test[Symbol.dispose](),
  };
}

it('a variant shows what availability calls its groups, in their order, and null where nobody has said', () => {
  using world = mirrored({ 1: [7], 2: [8, 7], 3: [9, 7], 4: [9], 5: [], 6: null, 7: 7 });
  expect(world.names()).toEqual([null, null, null, null, null, null, null]);
  world.answer([tours, entries]);
  const both = '["Entry tickets","Guided tours"]';
  expect(world.names()).toEqual(['["Guided tours"]', both, '[null,"Guided tours"]', null, null, null, null]);
  using reader = openReader(world.test.mirror.path);
  expect(reader.variants(1)[1]).toMatchObject({ group_ids: '[8,7]', group_names: both });
});

it('the feed names, once, the variants of a group that is called otherwise, in no language: it is all of them', () => {
  using world = mirrored({ 1: [7], 2: [8], 3: [7, 8] }, ['en', 'nl']);
  world.answer([tours, entries]);
  expect(world.told()).toEqual([{ language: null, detail: '{"variant_ids":[1,2,3]}' }]);
  world.answer([tours, { ...entries, name: 'Entry' }], at + 2);
  world.answer([tours, { ...entries, name: 'Entry' }], at + 3);
  expect(world.told().slice(1)).toEqual([{ language: null, detail: '{"variant_ids":[2,3]}' }]);
  expect(world.names('nl')).toEqual(['["Guided tours"]', '["Entry"]', '["Guided tours","Entry"]']);
});

it('a read of the variants names groups in the primary language, and renames none in a further one', () => {
  using world = mirrored({ 1: [7, null], 2: [8] }, ['en', 'nl']);
  world.answer([tours, entries], at + 10, { source: 'variants' });
  const named = ['["Guided tours"]', '["Entry tickets"]'];
  expect([world.names(), world.names('nl')]).toEqual([named, named]);
  const told = world.told();
  world.answer([{ ...tours, name: 'Rondleidingen' }], at + 20, { source: 'variants', language: 'nl' });
  expect([world.names(), world.names('nl')]).toEqual([named, named]);
  expect(world.told()).toEqual(told);
  world.answer([{ ...tours, name: 'Tours' }], at + 30, { source: 'variants' });
  expect(world.names('nl')).toEqual(['["Tours"]', '["Entry tickets"]']);
});

function withdraw({ mirror }: TestMirror, product_id: number): void {
  const by = { sent_at: at, reason: 'cadence-elapsed' } as const;
  mirror.transaction(() => mirror.catalogue.removals.withdraw(product_id, 'gone', at, by));
}

function successorOf(test: TestMirror, product_id: number): number | null | undefined {
  using reader = openReader(test.mirror.path);
  return reader.withdrawn(product_id)?.successor_product_id;
}

it('its successor is on sale: what the service recommended, else the most popular of its venue, else none', () => {
  using test = testMirror();
  putProducts(test, [
    productOf(1, { venue_id: 5 }),
    productOf(2, { venue_id: 5, sale_status: 'disabled' }),
    productOf(3, { venue_id: 5 }),
    productOf(4, { venue_id: 5 }),
    productOf(5, { venue_id: 6 }),
    productOf(6, { venue_id: null }),
  ]);
  for (const product_id of [1, 6]) withdraw(test, product_id);
  expect([successorOf(test, 1), successorOf(test, 6)]).toEqual([3, null]);
  test.mirror.transaction(() => test.mirror.catalogue.listPlaces.note([4, 3], 1));
  expect(successorOf(test, 1)).toBe(4);
  test.mirror.transaction(() => test.mirror.catalogue.listPlaces.clear());
  for (const product_id of [3, 4]) withdraw(test, product_id);
  // Only a product that is off sale is left of its venue.
  expect(successorOf(test, 1)).toBeNull();
});
