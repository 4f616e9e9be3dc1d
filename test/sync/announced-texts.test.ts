import { expect, test } from 'vitest';
import { notifiedHarness } from '../fakes/notified-harness.ts';

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
