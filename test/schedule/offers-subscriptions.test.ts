import { expect, it } from 'vitest';
import { subscriptionHarness } from '../fakes/subscription-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const week = 7 * 24 * hour;
const never = new AbortController().signal;

it.each([404, 405] as const)(
  'a subscription that cannot be read (%i) is put, once more to be sure, and the answer to the PUT is believed',
  async (status) => {
    await using at = await subscriptionHarness();
    at.service.lacks.set('read', status);
    await at.work.maintain(never);
    await at.live(2 * 24 * hour, 10 * minute);
    const puts = status === 404 ? 2 : 1;
    expect(at.service.puts()).toHaveLength(puts);
    expect(at.test.all('SELECT * FROM _gap')).toEqual([]);
    expect(at.row()).toMatchObject({ status: 'active', failure: null });
    expect(at.noticed()).toEqual([]);
    const reads = at.service.calls.filter(({ method }) => method === 'GET').length;
    expect(reads).toBeLessThanOrEqual(3);
    expect(await at.work.compare(null, never)).toMatchObject([{ failure: null, differences: [] }]);
    at.restart();
    await at.live(hour, 10 * minute);
    expect(at.service.calls.filter(({ method }) => method === 'GET')).toHaveLength(reads);
    expect(at.missing()).toEqual(['subscription']);
    expect(at.log.lines().filter((line) => JSON.stringify(line).includes('does not offer'))).toHaveLength(1);

    at.service.lacks.clear();
    await at.live(week, hour);
    expect(at.missing()).toEqual([]);
    expect(at.service.puts()).toHaveLength(puts);
  },
);

it('a subscription that the service has lost is put again, where it can be read (control)', async () => {
  await using at = await subscriptionHarness();
  await at.work.maintain(never);
  await at.live(2 * hour, 10 * minute);
  at.service.held.clear();
  await at.live(2 * hour, 10 * minute);
  expect(at.service.puts()).toHaveLength(2);
  expect(at.missing()).toEqual([]);
});

it('a subscription is not taken for unreadable while the service answers its reads from a cache', async () => {
  await using at = await subscriptionHarness();
  at.service.lacks.set('read', 404);
  await at.work.maintain(never);
  await at.live(hour + minute);
  expect(at.service.puts()).toHaveLength(2);
  await at.work.compare(null, never);
  at.service.lacks.clear();
  await at.live(2 * hour, 10 * minute);
  expect(at.missing()).toEqual([]);
  expect(at.service.puts()).toHaveLength(2);
});

it.each([404, 405] as const)(
  'where nothing can be reactivated (%i), a degraded subscription is put instead',
  async (status) => {
    await using at = await subscriptionHarness();
    await at.work.maintain(never);
    await at.live(hour + minute, 10 * minute);
    const known = at.service.held.get('all');
    if (known !== undefined) at.service.held.set('all', { ...known, status: 'degraded' });
    at.service.lacks.set('reactivate', status);
    await at.live(2 * hour, 10 * minute);
    expect(at.missing()).toEqual(['reactivate']);
    expect(at.service.puts().length).toBeGreaterThanOrEqual(2);
    const asked = at.service.calls.filter(({ path }) => path.endsWith('/reactivate')).length;
    expect(asked).toBe(1);
    expect(await at.work.reactivate('all', never)).toMatchObject([{ done: true }]);
    expect(at.service.calls.filter(({ path }) => path.endsWith('/reactivate'))).toHaveLength(1);
  },
);
