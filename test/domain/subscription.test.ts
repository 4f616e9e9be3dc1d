import { describe, expect, test } from 'vitest';
import {
  differences,
  type HeldSubscription,
  isWorking,
  needsPut,
  type WantedSubscription,
} from '../../src/domain/push/subscription.ts';
import { right, wanted } from './declared-subscription.ts';

describe('what differs is said in words', () => {
  const cases: [title: string, held: HeldSubscription | null, expected: string[], put: boolean][] = [
    ['nothing, whatever the order', right, [], false],
    ['a status that nobody knows is a working one', { ...right, status: 'enabled' }, [], false],
    ['nothing is there', null, ['not there'], true],
    ['it is gone', { ...right, status: 'missing' }, ['not there'], true],
    ['its list', { ...right, entity_ids: [1, 9, 10] }, ['entity_ids: 2 more, 2 less'], true],
    ['its list is shorter', { ...right, entity_ids: [1] }, ['entity_ids: 2 more'], true],
    ['its list is not known', { ...right, entity_ids: null }, ['entity_ids: not known'], true],
    [
      'its change types',
      { ...right, change_types: ['checkout_disabled'] },
      ['change_types: checkout_disabled instead of checkout_disabled checkout_enabled product_details_update'],
      true,
    ],
    ['its type', { ...right, type: 'experience_ids' }, ['type: experience_ids instead of product_ids'], true],
    [
      'an older address',
      { ...right, address: 'grace' },
      ['callback_url: another epoch, which is still accepted'],
      true,
    ],
    [
      'an address of the past',
      { ...right, address: 'dropped' },
      ['callback_url: another epoch, which is accepted no more'],
      true,
    ],
    ['another public address', { ...right, address: 'moved' }, ['callback_url: another public address'], true],
    ["somebody else's address", { ...right, address: 'foreign' }, ['callback_url: an address that is not ours'], true],
    ['its status alone, which no PUT is needed for', { ...right, status: 'degraded' }, ['status: degraded'], false],
  ];
  test.each(cases)('%s', (_, held, expected, put) => {
    expect(differences(wanted, held)).toEqual(expected);
    expect(needsPut(wanted, held)).toBe(put);
  });

  test('and a list that the service keeps by itself is compared with nothing', () => {
    const sold: WantedSubscription = { ...wanted, type: 'products_i_sell', entity_ids: null };
    expect(differences(sold, { ...right, type: 'products_i_sell', entity_ids: null })).toEqual([]);
    expect(differences(sold, { ...right, type: 'products_i_sell', entity_ids: [] })).toEqual([]);
  });
});

test('works: every status but those that are named broken, and those never heard of', () => {
  expect(['active', 'accepted', 'enabled', 'on hold'].map(isWorking)).toEqual([true, true, true, true]);
  expect(['degraded', 'failed', 'cancelled', 'missing', null].map(isWorking)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});
