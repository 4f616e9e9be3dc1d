import { describe, expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { documentToStore, type SharedMembers } from '../../src/domain/catalogue/checkout-information.ts';
import { CommonMembers } from '../../src/upstream/common-members.ts';

const second = 1000;

/** Returns what is known of the member `x` after answers with these values, a product each, so many seconds apart. */
function known(values: readonly unknown[], seconds = 1): 'common' | 'unsure' | 'own' {
  const members = new CommonMembers();
  let last: SharedMembers = { common: [], unsure: [] };
  for (const [index, value] of values.entries())
    last = members.of(index, value === undefined ? {} : { x: value }, instant(1e12 + index * seconds * second));
  return last.common.length > 0 ? 'common' : last.unsure.length > 0 ? 'unsure' : 'own';
}

describe('an undeclared member of an answer', () => {
  it.for([
    ['is common to all once five products have the same value', ['a', 'a', 'a', 'a', 'a'], 'common'],
    ['may be common after fewer', ['a', 'a', 'a', 'a'], 'unsure'],
    ['is common where it is an object', Array.from({ length: 5 }, () => ({ major: 2 })), 'common'],
    ['may be common where all have another value from one answer on', ['a', 'a', 'a', 'b', 'b', 'b'], 'unsure'],
    ["is the product's own where values come again", ['a', 'b', 'a', 'a', 'a', 'a'], 'own'],
    ["is the product's own where each has another value", ['a', 'b', 'c'], 'own'],
    ["is the product's own where some lack it", ['a', undefined, 'a', 'a', 'a', 'a'], 'own'],
  ] as const)('%s', ([, values, is]) => {
    expect(known(values)).toBe(is);
  });

  it('is compared with the answers of the last minute alone', () => {
    expect(known(['a', 'b', 'a', 'a'], 61)).toBe('unsure');
    expect(known(['a', 'a', 'a', 'a', 'a'], 61)).toBe('unsure');
  });
});

describe('the document that is stored', () => {
  const store = (document: object, shared: Partial<SharedMembers>, stored: object | null = null) =>
    JSON.parse(
      documentToStore(
        {
          ...{ has_timeslots: true, has_dynamic_pricing: false, must_know: null, good_to_know: null },
          document: JSON.stringify(document),
          shared: { common: [], unsure: [], ...shared },
        },
        stored === null ? null : JSON.stringify(stored),
      ),
    );

  it('lacks members that are or may be common to all answers', () => {
    expect(store({ a: 1, x: 1, y: 1 }, { common: ['x'], unsure: ['y'] })).toEqual({ a: 1 });
    expect(store({ a: 1, x: 1, y: 1 }, { common: ['x'], unsure: ['y'] }, { a: 2 })).toEqual({ a: 1 });
  });

  it('stays as it is where one of them changes that an earlier version has stored', () => {
    expect(store({ a: 1, x: 2 }, { common: ['x'] }, { a: 1, x: 1 })).toEqual({ a: 1, x: 1 });
  });

  it("follows a member that is the product's own, also while that is not known", () => {
    expect(store({ a: 1, x: 2 }, {}, { a: 1 })).toEqual({ a: 1, x: 2 });
    expect(store({ a: 1, x: 2 }, { unsure: ['x'] }, { a: 1, x: 1 })).toEqual({ a: 1, x: 2 });
  });
});
