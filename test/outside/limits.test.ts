import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, happens, Stage } from './stage.ts';

const dayMs = 86_400_000;

it('a service that limits calls is not called while it has told to wait, and is mirrored to the end', async () => {
  await using stage = await Stage.open({
    service: ['--products', '2', '--throttle', '3'],
    // Of several calls in flight others are sent before the answer to one has come.
    config: { budget: { concurrency: 1, requests_per_second: 8 } },
  });
  await stage.filled();
  const { by_status, violations } = await stage.service.calls();
  expect(by_status['429']).toBeGreaterThan(0);
  expect(violations).toBe(0);
  expect(
    await happens(
      () => stage.differences(),
      (differences) => differences.length === 0,
    ),
  ).toEqual([]);
  // Who calls on and on is counted (control).
  for (let call = 0; call < 20; call += 1) await ask(stage.service.url, '/v2/products?page=1&page_size=1');
  expect((await stage.service.calls()).violations).toBeGreaterThan(0);
});

describe('calls', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ service: ['--products', '10'], config: { budget: { requests_per_second: 40 } } });
    await stage.live();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  it('of a first fill go on beside a flood of checks, which are answered meanwhile', async () => {
    const [day] = await stage.rowsOnce<{ product_id: number }>(
      'SELECT product_id FROM bookable_days LIMIT 1',
      (rows) => rows.length > 0,
    );
    const isFilled = () => stage.rows('SELECT 1 FROM mirror_info WHERE filled_at IS NOT NULL').length > 0;
    expect(isFilled()).toBe(false);
    const verdicts = new Map<string, number>();
    // Each check is another caller's, and asks for another date, so that few calls are shared.
    const flood = async (from: number) => {
      for (let each = from; !isFilled(); each += 12) {
        const date = new Date(Date.now() + (5 + (each % 80)) * dayMs).toISOString().slice(0, 10);
        const body = { product_id: day?.product_id, date, caller: `${each}` };
        const { verdict } = (await ask(stage.storefront, '/v1/check', { body })).json<{ verdict: string }>();
        verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, from) => flood(from)));
    expect(isFilled()).toBe(true);
    expect(verdicts.get('holds')).toBeGreaterThan(12);
  });

  it('that were told to wait for minutes are not made after a restart either', async () => {
    const told = { kind: 'status', status: 429, path: '^/v2/products[?]', headers: { 'retry-after': '600' } };
    await stage.service.quirks({ faults: [told] });
    const throttled = async () => /^catalogued_throttled_total (\d+)$/m.exec((await ask(stage.admin, '/metrics')).text);
    expect((await stage.run('resync', '--products')).code).toBe(0);
    await happens(throttled, (found) => Number(found?.[1]) > 0);
    await stage.ended();
    const before = await stage.service.calls();
    await stage.service.quirks({ faults: [] });
    await stage.live();
    const [day] = stage.rows<{ product_id: number; date: string }>(
      'SELECT product_id, date FROM bookable_days LIMIT 1',
    );
    // What nobody told to wait goes on: the daemon does call (control).
    await stage.run('check', `${day?.product_id}`, '--date', `${day?.date}`);
    const after = await stage.service.calls();
    expect(after.by_kind['/v2/products']).toBe(before.by_kind['/v2/products']);
    expect(after.calls).toBeGreaterThan(before.calls);
  });
});
