import { describe, expect, it } from 'vitest';
import { unshownOf } from '../../src/domain/conditions/unshown.ts';
import { isAwaited } from '../../src/domain/push/awaited.ts';

const documents = [
  { description: 'Old', tag_ids: ['1', '2'], whats_included: '* Entry\n* A map', tagline: null },
  { must_know: 'x' },
];

describe('an announced update', () => {
  it.each<[string, string, unknown, unknown, boolean]>([
    ['of a text that we show is awaited', 'description', 'Old', 'New', true],
    ['of a text with other ends of lines is, too', 'whats_included', '* Entry\r\n* A map', '* Entry', true],
    ['of a list is, too', 'tag_ids', ['1', '2'], ['1'], true],
    ['that a read has shown already is not', 'description', 'Older', 'Old', false],
    ['of another language is not', 'description', 'Alt', 'Neu', false],
    ['of a field that we do not mirror is not', 'queue_length', 1, 2, false],
    ['that changes nothing is not', 'description', 'Old', 'Old', false],
    ['that does not tell what it was is not', 'description', undefined, 'New', false],
    ['of what was empty is not: anything may have been', 'tagline', null, 'New', false],
  ])('%s', (_, field, old_value, new_value, expected) => {
    expect(isAwaited(documents, [{ field, old_value, new_value }])).toBe(expected);
  });
});

describe('updates that no read shows', () => {
  const none = { products: 0, since: null };
  it.each([
    ['one that is awaited is enough', { ...none, shown: 0 }, { products: 1, since: 5 }, { products: 1, since: 5 }],
    ['two that name nothing we know are not', { products: 2, shown: 0, since: 5 }, none, null],
    ['three of them are', { products: 3, shown: 0, since: 5 }, none, { products: 3, since: 5 }],
    ['unless a read has shown one', { products: 3, shown: 1, since: 5 }, none, null],
    ['both count once', { products: 3, shown: 0, since: 7 }, { products: 1, since: 5 }, { products: 3, since: 5 }],
  ])('%s', (_, told, awaited, expected) => {
    expect(unshownOf({ told, awaited })).toEqual(expected);
  });
});
