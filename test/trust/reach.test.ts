import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { isList, type Resource } from '../../src/schedule/resources.rules.ts';
import { someOf } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const never = new AbortController().signal;
const refusal = '{"success":false,"error":"unauthorized","message":"Key not accepted"}';
const refusedAt = (path: string | undefined, status = 401) =>
  ({ kind: 'status', status, body: refusal, ...(path === undefined ? {} : { path }) }) as const;

function idOf(harness: VirtualHarness, index = 0): number {
  return harness.sandbox.world.visible()[index]?.id ?? 0;
}

/** Records of products that fail, and those of lists by the status. */
function failing({ explain, products, status }: VirtualHarness): string[] {
  const own = products().flatMap((id) =>
    explain(id).records.flatMap(({ resource, failures }) => (failures > 0 ? [`${resource} ${id}`] : [])),
  );
  const all = status().failures.filter(({ resource }) => isList(resource as Resource));
  return [...all.map(({ resource }) => `${resource} 0`), ...own];
}

const calls = ({ sandbox }: VirtualHarness) => sandbox.calls.counts().calls;
const key = ({ daemon }: VirtualHarness) => daemon.sync.refusals.keyRefused();

async function conditions({ daemon }: VirtualHarness): Promise<Record<string, string>> {
  const shown = (await daemon.status.shown()).conditions;
  return Object.fromEntries(shown.map(({ code, says }) => [code, says]));
}

/** Lives on with a tick every five seconds: conditions are looked at every fifteen. */
async function liveFor(harness: VirtualHarness, ms: number, step = 5 * second): Promise<void> {
  await harness.live(ms, step);
}

/** Makes every record due, as a person does. */
const makeDue = ({ resync }: VirtualHarness) => resync(resyncResources);

describe('a record that is refused', () => {
  it('costs one call more where others are accepted, and many that are refused at once share it', async () => {
    await using harness = await filledHarness({ products: 12, lean: true });
    const before = calls(harness);
    harness.sandbox.faults.add(refusedAt('/checkout_information'));
    const ids = harness.products();
    await harness.resync(['checkout'], ids);
    await harness.drive(harness.daemon.schedule.run('pass'));
    expect(failing(harness)).toHaveLength(12);
    expect(key(harness)).toBeNull();
    expect(calls(harness) - before).toBeLessThanOrEqual(24);
  });
});

describe('a key that is refused', () => {
  it('at the first start: one call, then one a minute, one condition and one line in the log', async () => {
    await using harness = await virtualHarness({ products: 12, lean: true, key: 'right' }, {}, { conditions: true });
    await liveFor(harness, hour);
    expect(await conditions(harness)).toEqual({ 'key-refused': expect.stringContaining('Key not accepted') });
    expect(calls(harness)).toBeLessThanOrEqual(62);
    expect(calls(harness)).toBeGreaterThanOrEqual(58);
    expect(harness.products().length).toBe(0);
    expect(harness.log.lines().filter(({ msg }) => msg === 'the service refuses the key')).toHaveLength(1);
  });

  it.each(someOf([1, 2, 12]))(
    'of %i products later: three calls, then one a minute, after a restart too, and it ends with the first answer',
    async (products) => {
      await using harness = await filledHarness({ products, lean: true }, {}, { conditions: true });
      harness.sandbox.faults.add(refusedAt(undefined));
      const before = calls(harness);
      await makeDue(harness);
      await liveFor(harness, hour);
      expect(await conditions(harness)).toMatchObject({ 'key-refused': expect.stringContaining('Key not accepted') });
      // Those that were under way when the first one was refused.
      expect(calls(harness) - before).toBeLessThanOrEqual(60 + 3 + harness.daemon.config.budget.concurrency * 3);
      expect(failing(harness)).toEqual([]);
      await harness.restart();
      expect(key(harness)).toBeNull();
      await liveFor(harness, 3 * minute);
      expect(key(harness)).not.toBeNull();
      harness.sandbox.faults.clear();
      await liveFor(harness, 2 * minute);
      expect(key(harness)).toBeNull();
      expect(await conditions(harness)).not.toHaveProperty('key-refused');
      const due = harness.products().flatMap((id) => harness.explain(id).records.map(({ due_at }) => due_at));
      expect(due.filter((at) => at <= harness.clock.now())).toEqual([]);
    },
  );
});

describe('a live check that is refused', () => {
  it('is answered as it is, without waiting for the others that are asked, and counts for the key', async () => {
    await using harness = await filledHarness({ products: 6, lean: true });
    const checks = new CheckDesk(harness.daemon);
    const [id, date] = [idOf(harness), '2026-12-05'];
    harness.sandbox.faults.add(refusedAt('/availability'));
    harness.sandbox.faults.add({ kind: 'delay', ms: 20 * second, path: '^/v2/products\\?' });
    harness.sandbox.faults.add(refusedAt(undefined));
    const asked_at = harness.clock.now();
    const answer = await harness.drive(checks.check({ product_id: id, date }, never));
    expect(answer).toMatchObject({ verdict: 'unknown', reasons: ['key-refused'] });
    expect(harness.clock.now() - asked_at).toBeLessThan(second);
    expect(key(harness)).toBeNull();
    await harness.drive(harness.clock.sleep(minute));
    // The list has answered: only the dates are refused.
    expect(key(harness)).toBeNull();
    harness.sandbox.faults.clear();
    harness.sandbox.faults.add(refusedAt(undefined));
    await harness.drive(checks.check({ product_id: id, date }, never));
    await harness.drive(harness.clock.sleep(minute));
    expect(key(harness)).toBe('Key not accepted');
    expect(failing(harness)).toEqual([]);
    await checks[Symbol.asyncDispose]();
  });
});

async function filled(): Promise<VirtualHarness> {
  const harness = await filledHarness({ products: 12, lean: true }, { scheduling: 'fixed' }, { conditions: true });
  return harness;
}

const ask = <Row>({ rows }: VirtualHarness, sql: string): Row[] => rows(sql);

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
    const { sandbox, log } = harness;
    sandbox.faults.add(fault);
    // Near dates are due by then.
    await harness.live(7 * hour);
    const failing = ask<{ failures: number }>(harness, 'SELECT failures FROM _record WHERE failures > 0');
    expect(Math.max(0, ...failing.map(({ failures }) => failures))).toBeLessThanOrEqual(2);
    const shown = await conditions(harness);
    expect(Object.keys(shown)).toEqual(['service-unusable']);
    expect(shown['service-unusable']).toMatch(says);
    expect(log.lines().filter(({ condition }) => condition === 'service-unusable')).toMatchObject([
      { msg: 'condition began', hint: expect.stringContaining('Open service.base_url') },
    ]);
    sandbox.faults.clear();
    await harness.live(minute, 5 * second);
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
  await harness.live(3 * hour);
  const failing = () => ask<{ n: number }>(harness, 'SELECT count(*) AS n FROM _record WHERE failures > 4')[0]?.n;
  expect(failing()).toBeGreaterThan(3);
  sandbox.faults.clear();
  // The retry of one of them meets a stray failure, for which it waits minutes.
  sandbox.faults.add({ kind: 'status', status: 500, path: `^/v2/products/${one}/checkout_information`, times: 3 });
  const db = new Database(daemon.config.mirror.path);
  db.prepare("UPDATE _record SET due_at = ? WHERE failures > 4 AND resource = 'variants'").run(clock.now());
  db.close();
  await harness.live(minute, 5 * second);
  expect(failing()).toBe(0);
  await harness.live(15 * minute, 5 * second);
  expect(ask(harness, 'SELECT resource FROM _record WHERE failures > 0')).toEqual([]);
});
