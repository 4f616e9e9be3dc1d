import { expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const at = instant(Date.parse('2026-12-05T10:00:00Z'));

/** What the view says of one variant that the service sends like this. */
function shown(members: object): unknown {
  using test = testMirror();
  putProducts(test, [productOf(1)]);
  const read = {
    source: 'variants',
    product_id: 1,
    language: 'en',
    sent_at: at,
    stale_at: instant(at + 1000),
    now: at,
    reason: 'cadence-elapsed',
  } as const;
  const variant = { variant_id: 7, document: JSON.stringify({ id: 7, ...members }) };
  test.mirror.transaction(() => test.mirror.catalogue.variants.store(read, [variant], new Set([7])));
  return test.all('SELECT valid_with, visitors_details, group_ids FROM variants')[0];
}

it('a variant says which others go with it, what visitors have to give, and which group it is of', () => {
  expect(shown({ valid_with_variant_ids: [7, 8], requires_visitors_details: ['full_name'], group_ids: [3] })).toEqual({
    valid_with: '[7,8]',
    visitors_details: '["full_name"]',
    group_ids: '[3]',
  });
  expect(shown({ valid_with_variant_ids: [], requires_visitors_details: [], group_ids: [] })).toEqual({
    valid_with: '[]',
    visitors_details: '[]',
    group_ids: '[]',
  });
});

it('what is no list is not said, and a list has what is of its type', () => {
  const nothing = { valid_with: null, visitors_details: null, group_ids: null };
  for (const value of [undefined, null, 7, '', {}, true])
    expect(shown({ valid_with_variant_ids: value, requires_visitors_details: value, group_ids: value })).toEqual(
      nothing,
    );
  const mixed = [7, 'a', null, [8], 1.5, { id: 9 }];
  expect(shown({ valid_with_variant_ids: mixed, requires_visitors_details: mixed, group_ids: mixed })).toEqual({
    valid_with: '[7]',
    visitors_details: '["a"]',
    group_ids: '[7]',
  });
});

it('a read of the variants is believed of those that availability brought while it was under way', () => {
  using test = testMirror();
  putProducts(test, [productOf(1)]);
  const { mirror } = test;
  const { variants } = mirror.catalogue;
  const read = {
    product_id: 1,
    language: 'en',
    stale_at: instant(at + 1000),
    now: at,
    reason: 'cadence-elapsed',
  } as const;
  const called = (label: string) => [{ variant_id: 7, document: JSON.stringify({ id: 7, label }) }];
  const only = new Set([7]);
  mirror.transaction(() =>
    variants.store({ ...read, source: 'availability', sent_at: instant(at + 2) }, called('sold'), only),
  );
  mirror.transaction(() =>
    variants.store({ ...read, source: 'variants', sent_at: instant(at + 1) }, called('listed'), only),
  );
  expect(test.all('SELECT label, source FROM variants')).toEqual([{ label: 'listed', source: 'variants' }]);
  // One that was sent before the last of them is not.
  mirror.transaction(() => variants.store({ ...read, source: 'variants', sent_at: at }, called('older'), only));
  expect(test.all('SELECT label, source FROM variants')).toEqual([{ label: 'listed', source: 'variants' }]);
});
