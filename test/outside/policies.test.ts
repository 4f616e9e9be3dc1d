import { expect, it } from 'vitest';
import { ask, Stage } from './stage.ts';

const states = ['expired', 'fresh', 'stale', 'unknown'];
const actions = ['show', 'show_as_from', 'check_first', 'hide'];

interface Policy {
  readonly resource: string;
  readonly state: string;
  readonly action: string;
}

it('every state of every resource has one action, and nothing that was never read is shown', async () => {
  await using stage = await Stage.open({ service: ['--products', '6'] });
  const [unread = 0, read = 0] = await stage.service.products();
  // One product is in the list, and its own reads fail from the first on.
  await stage.service.quirks({ faults: [{ kind: 'status', status: 500, path: `^/v2/products/${unread}/` }] });
  await stage.live();
  await stage.rowsOnce(
    `SELECT 1 FROM variants v JOIN checkout_information c USING (product_id) JOIN bookable_days d USING (product_id)
     WHERE product_id = ${read} LIMIT 1`,
    (rows) => rows.length === 1,
  );
  await stage.rowsOnce(`SELECT 1 FROM products WHERE product_id = ${unread}`, (rows) => rows.length === 1);
  const dated = ['availability_days', 'availability_slots', 'bookable_days'];
  for (const view of ['variants', 'checkout_information', ...dated])
    expect(stage.rows(`SELECT * FROM ${view} WHERE product_id = ?`, unread), view).toEqual([]);
  const calendar = await ask(stage.admin, `/v1/products/${unread}/calendar?from=2026-01-01&to=2026-01-03`);
  expect(calendar.status).toBeLessThan(500);
  expect(calendar.text).not.toMatch(/sold_out|available/);

  const policies = stage.rows<Policy>('SELECT resource, state, action FROM policies');
  const resources = stage.rows<Policy>('SELECT DISTINCT resource FROM freshness').map(({ resource }) => resource);
  const wanted = [...resources, 'day_prices', 'product_prices'].flatMap((each) =>
    states.map((state) => `${each} ${state}`),
  );
  expect(policies.map(({ resource, state }) => `${resource} ${state}`).sort()).toEqual(wanted.sort());
  expect(policies.filter(({ action }) => !actions.includes(action))).toEqual([]);
  const hidden = policies
    .filter(({ action }) => action === 'hide')
    .map(({ resource, state }) => `${resource} ${state}`);
  expect(hidden).toEqual(
    expect.arrayContaining([...resources.map((each) => `${each} unknown`), 'images expired', 'availability expired']),
  );
  expect(hidden.filter((each) => each.endsWith(' fresh'))).toEqual([]);
});
