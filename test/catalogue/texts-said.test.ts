import { expect, it, test } from 'vitest';
import { takesAway } from '../../src/trust/claims.rules.ts';
import { textsSaid } from '../../src/trust/claims-of-answers.ts';
import { notifiedHarness } from '../fakes/notified-harness.ts';

const of = (document: object) => JSON.stringify(document);

/** Returns whether an answer takes a text away by itself. */
const taken = (before: string | null, after: object) => {
  const [first] = textsSaid(before, of(after), { titled: true });
  return first !== undefined && takesAway(first);
};

it.each([
  ['the only text goes', { summary: 'Old' }, {}, true],
  ['one of several goes', { title: 'Old', geolocation: { latitude: 1 } }, { title: 'Old', geolocation: {} }, true],
  ['one goes and another comes', { title: 'Old', tagline: 'New' }, { title: 'Old', summary: 'New' }, true],
  ['one deep in the answer goes', { product: { usage: 'Print it.' } }, { product: { usage: '' } }, true],
  ['a text comes', { title: 'Old' }, { title: 'Old', summary: 'New' }, false],
  ['a text is another', { title: 'Old' }, { title: 'New' }, false],
  ['a member goes that no shop shows', { title: 'Old', weight: 3 }, { title: 'Old' }, false],
])('an answer in which %s', (_, before, after, takes) => {
  expect(taken(of(before), after)).toBe(takes);
});

it('the first answer about a product takes nothing away', () => {
  expect(taken(null, { title: 'Old' })).toBe(false);
});

const minute = 60_000;

test('an announced text of the checkout information that a cache hides is shown by the look after two minutes', async () => {
  // The product's own reads come from a cache for 45 seconds.
  await using it = await notifiedHarness({ products: 6, hold_ms: 0, quirks: { cached_ms: 90_000 } });
  const [id = 0] = it.ids().filter((each) => each % 5 !== 0);
  const shown = () =>
    it.query<{ must_know: string }>(`SELECT must_know FROM checkout_information WHERE product_id = ${id}`)[0]
      ?.must_know;
  it.harness.sandbox.world.edit(id, { field: 'must_know', value: 'Bring a friend.' });
  await it.live(minute, 10_000);
  expect(shown()).toBe('Bring a photo ID.');
  await it.live(3 * minute, 10_000);
  expect(shown()).toBe('Bring a friend.');
});
