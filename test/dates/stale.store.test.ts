import { expect, it } from 'vitest';
import { policyOf } from '../../src/daemon/policy.ts';
import { cadenceOfDay } from '../../src/dates/availability.rules.ts';
import { declarationOf } from '../../src/push/declaration.ts';
import { makePlan } from '../../src/schedule/call-plan.ts';
import { prepareRecords } from '../../src/schedule/prepare-records.ts';
import { moveStaleAt, replan } from '../../src/schedule/replan-products.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

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

it('a subscription never makes reads more frequent: of both cadences of a covered product the longer one counts', async () => {
  await using harness = await filledHarness({ products: 3, lean: true });
  const { mirror, sync, config } = harness.daemon;
  const writer = otherWriter(mirror.path);
  writer.exec('UPDATE _product SET covered = 1');
  const [product_id = 0] = harness.products();
  const saidOf = (covered_ms: number) => {
    const cadence = { ...sync.policy.cadence, covered: { checkout_information: covered_ms, variants: covered_ms } };
    const policy = { ...sync.policy, cadence, of: () => ({ ...sync.policy, cadence }) };
    const plan = makePlan({ mirror, clock: harness.clock, policy });
    const settings = { paths: config.service.profile.paths, cadence, subscriptions: 1, public_url: null };
    const known = mirror.catalogue.products.find(product_id);
    mirror.transaction(() => moveStaleAt({ ...sync, policy }, product_id, known));
    const rows = writer.prepare('SELECT DISTINCT stale_at - checked_at FROM _variant WHERE product_id = ?').pluck();
    return [rows.all(product_id), plan, declarationOf(settings, plan, () => true)];
  };
  const asOften = saidOf(7 * day);
  expect(asOften[0]).toEqual([7 * day]);
  expect(saidOf(day)).toEqual(asOften);
  writer.close();
});

it('texts and prices follow a new cadence of their own kind: of the category, for dynamic prices, for covered products', async () => {
  await using harness = await filledHarness({ products: 4, lean: true });
  const { mirror, sync, config } = harness.daemon;
  const writer = otherWriter(mirror.path);
  const [usual = 0, top = 0, dynamic = 0, covered = 0] = harness.products();
  writer.exec(`UPDATE checkout SET has_dynamic_pricing = product_id = ${dynamic};
    UPDATE _product SET covered = product_id = ${covered};
    UPDATE _variant SET stale_at = checked_at WHERE product_id = ${covered}`);
  const category = { name: 'top', match: { product_ids: [top] }, cadence: { products: 2 * day, variants: 3 * day } };
  const daysOf = (dynamic_pricing: object, categories: object[] = []) => {
    const slower = { products: 5 * day, checkout_information: 6 * day, variants: 8 * day, dynamic_pricing };
    const own = { ...config, categories, cadence: { ...config.cadence, ...slower } } as typeof config;
    prepareRecords({ ...sync, policy: policyOf(own, () => true) });
    return [usual, top, dynamic, covered].map((id) =>
      ['_price_read', '_text_read', 'checkout', '_variant'].map((table) =>
        writer.prepare(`SELECT max(stale_at - checked_at) / ${day} FROM ${table} WHERE product_id = ?`).pluck().get(id),
      ),
    );
  };
  expect(daysOf({ products: day, checkout_information: 2 * day }, [category])).toEqual([
    [5, 5, 6, 8],
    [2, 2, 6, 3],
    [1, 1, 2, 8],
    // Variants that only its dates have brought stay stale.
    [5, 5, 28, 0],
  ]);
  expect(daysOf({ products: day, checkout_information: 2 * day })[1]).toEqual([5, 5, 6, 8]);
  // Nothing but the cadences of dynamic prices has changed.
  expect(daysOf({ products: 3 * day, checkout_information: 4 * day })[2]).toEqual([3, 3, 4, 8]);
  writer.close();
});
