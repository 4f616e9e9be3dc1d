import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
import { someOf } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

async function filled(): Promise<VirtualHarness> {
  const harness = await filledHarness({ products: 12, lean: true }, { scheduling: 'fixed' }, { conditions: true });
  return harness;
}

const ask = <Row>({ rows }: VirtualHarness, sql: string): Row[] => rows(sql);

async function conditions({ daemon }: VirtualHarness): Promise<Record<string, string>> {
  const shown = (await daemon.status.shown()).conditions;
  return Object.fromEntries(shown.map(({ code, says }) => [code, says]));
}

const cases: [string, Omit<FaultRule, 'path'>, RegExp][] = [
  ['a login page', { kind: 'html' }, /^the service answers with HTML instead of JSON: `<.*`: readers keep/],
  ['a redirect', { kind: 'redirect' }, /^the service redirects to http\S+ \(30\d\): readers keep/],
  [
    'success and nothing else',
    { kind: 'status', status: 200, body: '{"success":true}' },
    /members: none; expected: \w+: `\{"success":true\}`/,
  ],
  ['a 500', { kind: 'status', status: 500 }, /^the service answered 500: readers keep/],
];

it.each(someOf(cases))(
  'where every call brings %s for seven hours no record fails, one line says why, and all is read within a minute of its end',
  async (_, fault, says) => {
    await using harness = await filled();
    const { clock, sandbox, log } = harness;
    sandbox.faults.add(fault);
    // Near dates are due by then.
    await harness.liveUntil(clock.now() + 7 * hour);
    const failing = ask<{ failures: number }>(harness, 'SELECT failures FROM _record WHERE failures > 0');
    expect(Math.max(0, ...failing.map(({ failures }) => failures))).toBeLessThanOrEqual(2);
    const shown = await conditions(harness);
    expect(Object.keys(shown)).toEqual(['service-unusable']);
    expect(shown['service-unusable']).toMatch(says);
    expect(log.lines().filter(({ condition }) => condition === 'service-unusable')).toMatchObject([
      { msg: 'condition began', hint: expect.stringContaining('Open service.base_url') },
    ]);
    sandbox.faults.clear();
    await harness.liveUntil(clock.now() + minute, 5 * second);
    expect(ask(harness, 'SELECT resource FROM _record WHERE failures > 0')).toEqual([]);
    expect(ask(harness, 'SELECT 1 FROM freshness WHERE met = 0')).toEqual([]);
    expect(await conditions(harness)).toEqual({});
    expect(
      log.lines().filter(({ msg, condition }) => msg === 'condition ended' && condition === 'service-unusable'),
    ).toHaveLength(1);
  },
);

it('the first usable answer about a product brings its other records, which would wait for up to a day', async () => {
  await using harness = await filled();
  const { clock, sandbox, daemon } = harness;
  const [one = 0] = sandbox.world.visible().map(({ id }) => id);
  sandbox.faults.add({ kind: 'status', status: 500, path: `^/v2/products/${one}\\b` });
  requestResync(daemon.sync, {
    resources: ['checkout', 'variants', 'availability'],
    product_ids: [one],
    from: null,
    to: null,
  });
  await harness.liveUntil(clock.now() + 3 * hour);
  const failing = () => ask<{ n: number }>(harness, 'SELECT count(*) AS n FROM _record WHERE failures > 4')[0]?.n;
  expect(failing()).toBeGreaterThan(3);
  sandbox.faults.clear();
  // The retry of one of them meets a stray failure, for which it waits minutes.
  sandbox.faults.add({ kind: 'status', status: 500, path: `^/v2/products/${one}/checkout_information`, times: 3 });
  const db = new Database(daemon.config.mirror.path);
  db.prepare("UPDATE _record SET due_at = ? WHERE failures > 4 AND resource = 'variants'").run(clock.now());
  db.close();
  await harness.liveUntil(clock.now() + minute, 5 * second);
  expect(failing()).toBe(0);
  await harness.liveUntil(clock.now() + 15 * minute, 5 * second);
  expect(ask(harness, 'SELECT resource FROM _record WHERE failures > 0')).toEqual([]);
});
