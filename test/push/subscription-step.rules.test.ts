import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EpochState } from '../../src/push/callback-epoch.rules.ts';
import {
  changeTypes,
  differences,
  isWorking,
  needsPut,
  type ServiceSubscription,
  type WantedSubscription,
} from '../../src/push/subscription.rules.ts';
import { type Part, wantedParts } from '../../src/push/subscription-parts.rules.ts';
import { afterSelfTest, type StepFacts, subscriptionStep } from '../../src/push/subscription-step.rules.ts';
import { right, wanted } from './declared-subscription.ts';

const now = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const day = 24 * hour;
test('a repair waits for the address to answer, but not for ever: not every network reaches itself', () => {
  expect(afterSelfTest('passed', 0)).toBe('go');
  expect([0, 1, 2, 3, 9].map((failures) => afterSelfTest('failed', failures))).toEqual([
    'wait',
    'wait',
    'wait',
    'go',
    'go',
  ]);
});

const epoch = (number: number, announced_at: number | null, until: number | null = null): EpochState => ({
  epoch: number,
  begun_at: announced_at ?? now,
  announced_at,
  until,
});

describe('the next step of a subscription', () => {
  const facts: StepFacts = {
    failure: null,
    not_before: null,
    can: { put: true, reactivate: true },
    readable: true,
    put_at: now - 2 * day,
    put: 'same',
    wrested_at: null,
    taken: false,
  };
  const announced = [epoch(1, now - day)];
  const degraded = { ...right, status: 'degraded' };
  const cases: [
    title: string,
    held: ServiceSubscription | null,
    epochs: EpochState[],
    facts: Partial<StepFacts>,
    expected: object,
  ][] = [
    ['is nothing where nothing differs', right, announced, {}, { step: 'nothing', reason: 'as-declared' }],
    ['is nothing before the first read', null, [], {}, { step: 'nothing', reason: 'not-read' }],
    ['puts one that nobody can read', null, [], { readable: false }, { step: 'put', reason: 'differs' }],
    [
      'is nothing where the service takes none',
      { ...right, entity_ids: [1] },
      announced,
      { put: 'other', can: { put: false, reactivate: false } },
      { step: 'nothing', reason: 'no-path' },
    ],
    ['puts what is not there', { ...right, status: 'missing' }, [], {}, { step: 'put', reason: 'missing' }],
    ['puts what was cancelled', { ...right, status: 'cancelled' }, announced, {}, { step: 'put', reason: 'cancelled' }],
    [
      'puts what differs',
      { ...right, entity_ids: [1] },
      announced,
      { put: 'other' },
      { step: 'put', reason: 'differs' },
    ],
    [
      'does not put within a day what was just accepted',
      { ...right, entity_ids: [1] },
      announced,
      { put_at: now - hour },
      { step: 'nothing', reason: 'put-today' },
    ],
    ['puts it again after a day', { ...right, entity_ids: [1] }, announced, {}, { step: 'put', reason: 'differs' }],
    [
      'waits for its time',
      { ...right, status: 'missing' },
      announced,
      { not_before: now + hour },
      { step: 'nothing', reason: 'paused' },
    ],
    [
      'waits after a failure, whatever differs',
      { ...right, entity_ids: [1] },
      announced,
      { put: 'other', failure: 'refused', not_before: now + hour },
      { step: 'nothing', reason: 'paused' },
    ],
    ['repairs what is degraded', degraded, announced, {}, { step: 'repair', action: 'reactivate' }],
    [
      'puts what is degraded where the service cannot reactivate',
      degraded,
      announced,
      { can: { put: true, reactivate: false } },
      { step: 'repair', action: 'put' },
    ],
    [
      'waits before the next repair',
      degraded,
      announced,
      { not_before: now + hour },
      { step: 'nothing', reason: 'paused' },
    ],
    [
      'repairs when its time has come',
      degraded,
      announced,
      { not_before: now },
      { step: 'repair', action: 'reactivate' },
    ],
    [
      'does not wait for an instant that no backoff makes',
      degraded,
      announced,
      { not_before: now + 12 * 365 * day },
      { step: 'repair', action: 'reactivate' },
    ],
    [
      'puts a difference before it repairs',
      { ...right, status: 'degraded', entity_ids: [1] },
      announced,
      { put: 'other' },
      { step: 'put', reason: 'differs' },
    ],
    [
      'puts once against an address that is not ours',
      { ...right, address: 'foreign' },
      announced,
      { taken: true },
      { step: 'put', reason: 'taken' },
    ],
    [
      'and no second time within a day',
      { ...right, address: 'foreign' },
      announced,
      { taken: true, wrested_at: now - 23 * hour },
      { step: 'nothing', reason: 'taken-today' },
    ],
    [
      'but once a day',
      { ...right, address: 'foreign' },
      announced,
      { taken: true, wrested_at: now - day },
      { step: 'put', reason: 'taken' },
    ],
    [
      'nor is it a war where the address may be an old one of our own',
      { ...right, address: 'foreign' },
      announced,
      { put: 'other', wrested_at: now - hour },
      { step: 'put', reason: 'differs' },
    ],
    ['rotates when it is time', right, [epoch(2, now - 30 * day), epoch(1, now - 60 * day)], {}, { step: 'rotate' }],
    ['rotates to its first address', right, [], {}, { step: 'rotate' }],
    [
      'tells the service of a new address',
      { ...right, address: 'grace' },
      [epoch(1, now - day), epoch(2, null)],
      {},
      { step: 'put', reason: 'rotation' },
    ],
    ['knows that the service has it already', right, [epoch(1, now - day), epoch(2, null)], {}, { step: 'announced' }],
  ];
  test.each(cases)('%s', (_, held, epochs, given, expected) => {
    expect(subscriptionStep(wanted, held, epochs, { ...facts, ...given }, { rotate_every: 30 * day, now })).toEqual(
      expected,
    );
  });
});

describe('what differs is said in words', () => {
  const cases: [title: string, held: ServiceSubscription | null, expected: string[], put: boolean][] = [
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

const declared = { id: 'all', type: 'product_ids', change_types: [...changeTypes] } as const;

function partsOf(ids: readonly number[], before: readonly Part[] = [], most = 3, taken: string[] = []) {
  return wantedParts(declared, ids, { before, taken: new Set(taken), most });
}

/** What is stored once these were put. */
function stored(wanted: readonly WantedSubscription[]): Part[] {
  return wanted.map(({ subscription_id, entity_ids }) => ({ subscription_id, entity_ids: entity_ids ?? [] }));
}

const shown = (wanted: readonly WantedSubscription[]) =>
  Object.fromEntries(wanted.map(({ subscription_id, entity_ids }) => [subscription_id, entity_ids]));

describe('a list that is too long is split', () => {
  test('into parts of at most so many, in ascending order', () => {
    expect(shown(partsOf([7, 1, 6, 2, 5, 3, 4]))).toEqual({ all: [1, 2, 3], 'all-2': [4, 5, 6], 'all-3': [7] });
  });

  test('and one that comes takes the place of one that went: one part changes', () => {
    const before = stored(partsOf([1, 2, 3, 4, 5, 6, 7]));
    const gone = partsOf([1, 3, 4, 5, 6, 7], before);
    expect(shown(gone)).toEqual({ all: [1, 3], 'all-2': [4, 5, 6], 'all-3': [7] });
    expect(shown(partsOf([1, 3, 4, 5, 6, 7, 8], stored(gone)))).toEqual({
      all: [1, 3, 8],
      'all-2': [4, 5, 6],
      'all-3': [7],
    });
  });

  test('and a part whose last entity goes is wanted no more, while the others stay', () => {
    const before = stored(partsOf([1, 2, 3, 4, 5, 6, 7]));
    expect(shown(partsOf([1, 2, 3, 7], before))).toEqual({ all: [1, 2, 3], 'all-3': [7] });
    expect(shown(partsOf([7], before))).toEqual({ 'all-3': [7] });
  });

  test('and no part takes the id of another declaration', () => {
    expect(shown(partsOf([1, 2, 3, 4], [], 3, ['all-2']))).toEqual({ all: [1, 2, 3], 'all-3': [4] });
    const before = stored(partsOf([1, 2, 3, 4]));
    expect(shown(partsOf([1, 2, 3, 4], before, 3, ['all-2']))).toEqual({ all: [1, 2, 3], 'all-3': [4] });
  });

  test('and products_i_sell has no list', () => {
    const sold = wantedParts({ ...declared, type: 'products_i_sell' }, null, { before: [], taken: new Set(), most: 3 });
    expect(sold).toEqual([
      {
        subscription_id: 'all',
        declared_id: 'all',
        type: 'products_i_sell',
        entity_ids: null,
        change_types: changeTypes,
      },
    ]);
  });

  test('whatever comes and goes: everybody is in one part, none is too long, and whoever stays stays where it was', () => {
    const list = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.array(list, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 7 }), (lists, most) => {
        let before: Part[] = [];
        for (const ids of lists) {
          const wanted = partsOf(ids, before, most);
          const all = wanted.flatMap(({ entity_ids }) => entity_ids ?? []);
          expect(all.toSorted((a, b) => a - b)).toEqual(ids.toSorted((a, b) => a - b));
          for (const { entity_ids } of wanted) expect(entity_ids?.length).toBeLessThanOrEqual(most);
          for (const { subscription_id, entity_ids } of before)
            for (const id of entity_ids.filter((each) => ids.includes(each)))
              expect(wanted.find((part) => part.subscription_id === subscription_id)?.entity_ids).toContain(id);
          before = stored(wanted);
        }
      }),
    );
  });

  test('and one product more or less changes one part', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 9 }), fc.nat(), (count, most, pick) => {
        const ids = Array.from({ length: count }, (_, index) => index + 1);
        const before = partsOf(ids, [], most);
        const changed = (after: readonly WantedSubscription[]) =>
          [...new Set([...after, ...before].map(({ subscription_id }) => subscription_id))].filter(
            (id) => JSON.stringify(shown(before)[id]) !== JSON.stringify(shown(after)[id]),
          );
        expect(changed(partsOf([...ids, count + 1], stored(before), most))).toHaveLength(1);
        expect(
          changed(
            partsOf(
              ids.filter((id) => id !== (pick % count) + 1),
              stored(before),
              most,
            ),
          ),
        ).toHaveLength(1);
      }),
    );
  });
});
