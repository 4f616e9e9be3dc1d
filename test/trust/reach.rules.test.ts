import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayAskAgain, type OfferFacts } from '../../src/schedule/offer.rules.ts';
import { listResources, resourceNames } from '../../src/schedule/resources.rules.ts';
import {
  type AskedRecord,
  isThere,
  judgeSubscriptionRead,
  othersOfKey,
  othersOfPath,
  reachOfKey,
  reachOfPath,
  type Shown,
  shownBy,
} from '../../src/trust/refusal-reach.rules.ts';

const now = 1_000_000_000;
const minute = 60_000;
const of = (resource: AskedRecord['resource'], product_id: number): AskedRecord => ({ resource, product_id });
const never: OfferFacts = {
  answered_at: null,
  refused_at: null,
  not_offered_at: null,
  asked_at: null,
  refusal: 'path',
};
const list = of('products', 0);
const whole = { resources: resourceNames, products: [1, 2, 3] };

describe('an answer to another record', () => {
  it.each([
    ['key', { kind: 'refused', status: 401 }, 'refused'],
    ['key', { kind: 'refused', status: 403 }, 'refused'],
    ['key', { kind: 'refused', status: 404 }, 'accepted'],
    ['key', { kind: 'answer' }, 'accepted'],
    ['key', { kind: 'read' }, 'accepted'],
    ['key', { kind: 'failed', status: 500 }, 'accepted'],
    ['key', { kind: 'failed' }, 'nothing'],
    ['key', { kind: 'throttled', status: 403 }, 'nothing'],
    ['key', { kind: 'unreachable' }, 'nothing'],
    ['path', { kind: 'refused', status: 404 }, 'refused'],
    ['path', { kind: 'refused', status: 405 }, 'refused'],
    ['path', { kind: 'missing', status: 404 }, 'refused'],
    ['path', { kind: 'read' }, 'accepted'],
    ['path', { kind: 'refused', status: 401 }, 'nothing'],
    ['path', { kind: 'refused', status: 410 }, 'nothing'],
    ['path', { kind: 'failed', status: 500 }, 'nothing'],
    ['path', { kind: 'throttled', status: 429 }, 'nothing'],
  ] as const)('about the %s, %o shows: %s', (about, said, shows) => {
    expect(shownBy(about, said)).toBe(shows);
  });
});

describe('after a refusal that may be about the key', () => {
  it.each([
    ['the list and another product are asked', of('variants', 2), whole, [list, of('variants', 3)]],
    [
      'of one product the list and another path',
      of('variants', 1),
      { ...whole, products: [1] },
      [list, of('availability', 1)],
    ],
    ['of the list two products on two paths', list, whole, [of('availability', 3), of('checkout_information', 2)]],
    [
      'of the list with one product two paths',
      list,
      { ...whole, products: [7] },
      [of('availability', 7), of('checkout_information', 7)],
    ],
    ['of the experiences the list and a product', of('experiences', 0), whole, [list, of('availability', 3)]],
    ['of the experiences of an empty mirror the list', of('experiences', 0), { ...whole, products: [] }, [list]],
    ['of the list of an empty mirror nobody', list, { ...whole, products: [] }, []],
  ] as const)('%s', (_, refused, known, others) => {
    expect(othersOfKey(refused, known)).toEqual(others);
  });

  it('two others are asked wherever two are known: never the refused one, and one at least on another path', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...resourceNames),
        fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 }),
        fc.nat(),
        (resource, products, pick) => {
          const isOfProduct = !listResources.includes(resource as never);
          const refused = of(resource, isOfProduct ? (products[pick % products.length] ?? 0) : 0);
          const others = othersOfKey(refused, { resources: resourceNames, products });
          expect(new Set(others.map((each) => `${each.resource} ${each.product_id}`)).size).toBe(2);
          expect(others).not.toContainEqual(refused);
          expect(others[0]?.resource).not.toBe(resource);
        },
      ),
    );
  });

  it.each([
    [['accepted'], 'record', 'another-accepted'],
    [['refused', 'accepted'], 'record', 'another-accepted'],
    [['nothing', 'accepted'], 'record', 'another-accepted'],
    [['refused', 'nothing'], 'record', 'nobody-answered'],
    [['refused', 'refused'], 'key', 'all-refused'],
    [['refused'], 'key', 'all-refused'],
    [[], 'key', 'account'],
  ] as const)('where the others show %o, it reaches the %s: %s', (others, to, because) => {
    expect(reachOfKey(others)).toEqual({ to, because });
  });
});

describe('after a refusal that may be about the path', () => {
  it.each([
    [[1, 2, 3, 4], 2, [4, 1]],
    [[1, 2, 3, 4], 4, [3, 1]],
    [[1, 2], 1, [2]],
    [[1], 1, []],
    [[], 1, []],
  ])('of the products %o and the refused one %i, %o are asked', (products, product_id, ids) => {
    expect(othersOfPath(of('product_detail', product_id), products)).toEqual(ids.map((id) => of('product_detail', id)));
  });

  it('nobody else has the path of a list', () => {
    expect(othersOfPath(of('experiences', 0), [1, 2, 3])).toEqual([]);
  });

  it('a path that has answered within a minute is there, and nobody is asked', () => {
    const at = [now, now - minute + 1, now - minute, now + 1, null];
    expect(at.map((answered_at) => isThere({ ...never, answered_at }, now))).toEqual([true, true, false, false, false]);
  });

  const before = { ...never, answered_at: now - 2 * minute };
  it.each<[readonly Shown[], AskedRecord['resource'], OfferFacts, string, string]>([
    [['refused', 'refused'], 'product_detail', never, 'path', 'three-refused'],
    [['refused', 'refused'], 'product_detail', before, 'path', 'three-refused'],
    [['refused', 'accepted'], 'product_detail', never, 'record', 'another-accepted'],
    [['refused', 'nothing'], 'product_detail', never, 'unknown', 'nobody-answered'],
    [['refused'], 'product_detail', never, 'unknown', 'refused-once'],
    [['refused'], 'product_detail', { ...never, refused_at: now - minute }, 'path', 'refused-again'],
    [['refused'], 'product_detail', { ...never, refused_at: now - minute + 1 }, 'unknown', 'refused-once'],
    [['refused'], 'product_detail', { ...never, refused_at: now + minute }, 'unknown', 'refused-once'],
    [['refused'], 'product_detail', { ...before, refused_at: now - minute }, 'record', 'products-gone'],
    [[], 'product_detail', never, 'unknown', 'refused-once'],
    [[], 'product_detail', before, 'record', 'products-gone'],
    [[], 'experiences', never, 'path', 'list-refused'],
    [[], 'experiences', before, 'unknown', 'refused-once'],
    [[], 'experiences', { ...before, refused_at: now - minute }, 'path', 'refused-again'],
  ])('where the others show %o of %s, with %o, it reaches the %s: %s', (others, resource, facts, to, because) => {
    expect(reachOfPath(others, of(resource, 1), facts, now)).toEqual({ to, because });
  });
});

describe('a subscription that is not found', () => {
  const refused = { ...never, refused_at: now - 10 * minute };
  const ago = (ms: number) => ({ put_at: now - ms, now });

  it.each([
    ['is missing if it was never put', 404, never, { put_at: null, now }, 'missing'],
    ['is missing if reads have been answered', 404, { ...never, answered_at: 0 }, ago(0), 'missing'],
    ['is doubted if no read was ever answered', 404, never, ago(minute), 'doubted'],
    ['is doubted until it was put after the refusal', 404, refused, ago(11 * minute), 'doubted'],
    ['may be cached in the instant in which it was put', 404, refused, ago(0), 'too-early'],
    ['may be cached for five minutes', 404, refused, ago(5 * minute - 1), 'too-early'],
    ['cannot be read if it was put and is still not found', 404, refused, ago(5 * minute), 'not-offered'],
    ['cannot be read if the method is refused', 405, never, { put_at: null, now }, 'not-offered'],
  ] as const)('%s', (_, status, facts, when, judged) => {
    expect(judgeSubscriptionRead(status, facts, when)).toBe(judged);
  });
});

describe('a path that is refused is asked again', () => {
  const hour = 60 * minute;
  it.each([
    ['after a minute where it was refused once and never answered', 'path', null, true, minute],
    ['after a week where it never answered', 'path', null, false, 7 * 24 * hour],
    ['after six hours where it has answered before', 'path', now, false, 6 * hour],
    ['after a day where the key could never read it', 'key', null, false, 24 * hour],
    ['after ten minutes where the key could read it before', 'key', now, false, 10 * minute],
  ] as const)('%s', (_, refusal, answered_at, isDoubted, ms) => {
    const asked = (ago: number) => mayAskAgain({ ...never, refusal, answered_at, asked_at: now - ago }, now, isDoubted);
    expect([asked(ms - 1), asked(ms)]).toEqual([false, true]);
    expect(mayAskAgain({ ...never, refusal, answered_at }, now, isDoubted)).toBe(true);
  });
});
