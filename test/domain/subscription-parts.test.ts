import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changeTypes, type WantedSubscription } from '../../src/domain/push/subscription.ts';
import { type Part, wantedParts } from '../../src/domain/push/subscription-parts.ts';

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
