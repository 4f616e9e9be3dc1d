import { expect, test } from 'vitest';
import { resyncResources } from '../../src/sync/records/resync.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const before = { api_version: { major: 2, minor: 7 }, message: 'Good morning.', build: { name: 'a', node: 1 } };
const after = { api_version: { major: 2, minor: 8 }, message: 'Good evening.', build: { name: 'b', node: 2 } };
const pages = { pagination: { page: 1, page_size: 1, total: 1 } };

/** Reads everything again, and returns the number of changes of each kind that this finds. */
async function readAgain({ rows, resync, clock, liveUntil }: VirtualHarness): Promise<Record<string, number>> {
  const [before] = rows<{ seq: number }>('SELECT max(seq) AS seq FROM changes');
  await resync(resyncResources);
  await liveUntil(clock.now() + 5 * minute);
  const found = rows<{ kind: string; changes: number }>(
    "SELECT kind, count(*) AS changes FROM changes WHERE seq > ? AND kind <> 'pass_completed' GROUP BY kind",
    before?.seq,
  );
  return Object.fromEntries(found.map(({ kind, changes }) => [kind, changes]));
}

test('members beside the payload are no change of any product, whatever becomes of them', async () => {
  let beside: Record<string, unknown> = before;
  await using harness = await virtualHarness({ products: 40, beside: () => beside });
  await harness.fill();
  const names = harness
    .rows('SELECT DISTINCT e.key FROM checkout_information, json_each(document) e')
    .map(({ key }) => key);
  expect(names).toEqual(expect.arrayContaining(['has_timeslots', 'additional_information', 'starting_point']));
  for (const name of ['success', ...Object.keys(before)]) expect(names, name).not.toContain(name);
  expect(await readAgain(harness)).toEqual({});
  beside = after;
  expect(await readAgain(harness)).toEqual({});
  beside = { ...after, ...pages };
  expect(await readAgain(harness)).toEqual({});
  // A change of the payload is found by the same reads (control).
  beside = before;
  const [id = 0] = harness.products().filter((each) => each % 5 !== 0);
  harness.sandbox.world.edit(id, { field: 'must_know', value: 'Bring a friend.' });
  expect(await readAgain(harness)).toEqual({ checkout_changed: 1 });
});
