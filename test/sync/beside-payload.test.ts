import { expect, test } from 'vitest';
import { requestResync, resyncResources } from '../../src/sync/records/resync.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const before = { api_version: { major: 2, minor: 7 }, message: 'Good morning.', build: { name: 'a', node: 1 } };
const after = { api_version: { major: 2, minor: 8 }, message: 'Good evening.', build: { name: 'b', node: 2 } };
const pages = { pagination: { page: 1, page_size: 1, total: 1 } };

/** Reads everything again, and returns the number of changes of each kind that this finds. */
async function readAgain({ daemon, clock, liveUntil }: VirtualHarness): Promise<Record<string, number>> {
  const count = openMirrorAt(daemon.mirror.path, clock.now());
  const seen = Number(count.prepare('SELECT max(seq) FROM changes').pluck().get());
  count.close();
  requestResync(daemon.ports, { resources: [...resyncResources], product_ids: [], from: null, to: null });
  await liveUntil(clock.now() + 5 * minute);
  const reader = openMirrorAt(daemon.mirror.path, clock.now());
  const rows = reader
    .prepare<[number], { kind: string; changes: number }>(
      "SELECT kind, count(*) AS changes FROM changes WHERE seq > ? AND kind <> 'pass_completed' GROUP BY kind",
    )
    .all(seen);
  reader.close();
  return Object.fromEntries(rows.map(({ kind, changes }) => [kind, changes]));
}

test('members beside the payload are no change of any product, whatever becomes of them', async () => {
  let beside: Record<string, unknown> = before;
  await using harness = await virtualHarness({ products: 40, beside: () => beside });
  await harness.fill();
  const reader = openMirrorAt(harness.daemon.mirror.path, harness.clock.now());
  const names = reader.prepare('SELECT DISTINCT e.key FROM checkout_information, json_each(document) e').pluck().all();
  reader.close();
  expect(names).toEqual(expect.arrayContaining(['has_timeslots', 'additional_information', 'starting_point']));
  for (const name of ['success', ...Object.keys(before)]) expect(names, name).not.toContain(name);
  expect(await readAgain(harness)).toEqual({});
  beside = after;
  expect(await readAgain(harness)).toEqual({});
  beside = { ...after, ...pages };
  expect(await readAgain(harness)).toEqual({});
  // A change of the payload is found by the same reads (control).
  beside = before;
  const [id = 0] = harness.daemon.mirror.catalogue.products.ids().filter((each) => each % 5 !== 0);
  harness.sandbox.world.edit(id, { field: 'must_know', value: 'Bring a friend.' });
  expect(await readAgain(harness)).toEqual({ checkout_changed: 1 });
});
