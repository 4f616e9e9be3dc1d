import { expect, it } from 'vitest';
import { cadenceOfDay } from '../../src/domain/catalogue/availability.ts';
import { replan } from '../../src/sync/records/replan.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;

it('dates and their records follow a new cadence of their tier, so that none is shown as stale before it is late', async () => {
  await using harness = await filledHarness({ products: 6 });
  const { mirror, sync } = harness.daemon;
  const believed = () => {
    const db = openMirrorAt(mirror.path, harness.clock.now());
    const shown = db.prepare<[], number>(
      'SELECT DISTINCT (stale_at - checked_at) / 3600000 FROM date_window ORDER BY 1',
    );
    const planned = db.prepare<[], number>(
      "SELECT DISTINCT (stale_at - fetched_at) / 3600000 FROM _record WHERE resource = 'availability' ORDER BY 1",
    );
    const found = { shown: shown.pluck().all(), planned: planned.pluck().all() };
    db.close();
    return found;
  };
  expect(believed()).toEqual({ shown: [6, 12, 24], planned: [6, 24] });
  const { near, middle, far } = sync.policy.cadence.availability;
  const availability = {
    ...sync.policy.cadence.availability,
    near: { ...near, every: 30 * hour },
    middle: { ...middle, every: 40 * hour },
    far: { ...far, every: 50 * hour },
  };
  const cadence = { ...sync.policy.cadence, availability };
  const extent = {
    ...sync.policy.extent,
    windows: sync.policy.extent.windows.map((each) => ({
      ...each,
      every: cadenceOfDay(availability, each.first_day),
    })),
  };
  const policy = { ...sync.policy, cadence, extent, of: () => ({ ...sync.policy, cadence, extent }) };
  mirror.transaction(() => replan({ ...sync, policy }, mirror.catalogue.products.ids()));
  expect(believed()).toEqual({ shown: [30, 40, 50], planned: [30, 50] });
});
