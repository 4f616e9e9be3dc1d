import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Shown } from '../oracle/shown.ts';
import { ask, happens, Stage } from './stage.ts';

interface Checked {
  readonly verdict: string;
  readonly reasons: readonly string[];
  readonly now: { readonly price: object | null } | null;
  readonly mirror: { readonly state: string; readonly price: object | null };
}

const stack = new AsyncDisposableStack();
let stage: Stage;
/** Products on sale; each test has its own. */
let onSale: readonly Shown[];

const check = async (question: object) =>
  (await ask(stage.storefront, '/v1/check', { body: question })).json<Checked>();
const order = async (body: object) => await ask(stage.storefront, '/v1/orders', { body });
const calls = async () => (await stage.service.get<{ calls: number }>('/sandbox/calls')).calls;
const faults = (...rules: readonly object[]) => stage.service.quirks({ faults: rules });
const datesOf = (id: number) => `/${id}/availability`;

/** Returns what orders have shown about the mirror until now. */
async function counted(): Promise<{ orders: number; orders_wrong: number }> {
  await stage.run('jobs', 'run', 'check-counts');
  return (await stage.json<{ error_rate: { orders: number; orders_wrong: number } }>('status')).error_rate;
}

/** Returns a date that is sold, not too near to its beginning. */
function question({ product_id, days }: Shown): { product_id: number; date: string } {
  const date = days.filter(({ sold_out }) => !sold_out)[5]?.date;
  if (date === undefined) throw new Error(`${product_id} sells no date`);
  return { product_id, date };
}

/** Returns the state of a date in each currency, as views show it. */
function states({ product_id, date }: ReturnType<typeof question>): Record<string, string> {
  const rows = stage.rows<{ currency: string; state: string }>(
    'SELECT currency, state FROM availability_days WHERE product_id = ? AND date = ?',
    product_id,
    date,
  );
  return Object.fromEntries(rows.map(({ currency, state }) => [currency, state]));
}

beforeAll(async () => {
  stage = stack.use(
    await Stage.open({ service: ['--products', '8'], config: { service: { currencies: ['EUR', 'USD'] } } }),
  );
  await stage.filled();
  const ids = await stage.service.get<number[]>('/sandbox/products');
  const shown = await Promise.all(ids.map((id) => stage.service.shown(id)));
  onSale = shown.filter(({ sale_status, timezone }) => sale_status === 'available' && timezone !== null);
  expect(onSale.length).toBeGreaterThan(4);
});
afterAll(() => stack.disposeAsync());

describe('a live check', () => {
  it('shares a call with those that ask the same, passes a sweep, and says "unknown" by its deadline', async () => {
    const asked = question(onSale[0] as Shown);
    expect(await check(asked)).toMatchObject({ verdict: 'holds', reasons: [] });

    await stage.service.quirks({ slow_ms: 1000 });
    const before = await calls();
    const together = await Promise.all(Array.from({ length: 8 }, () => check({ ...asked, deadline_ms: 30_000 })));
    expect(together.map(({ verdict }) => verdict)).toEqual(together.map(() => 'holds'));
    // Whoever comes when the call is under way shares the next one.
    expect((await calls()) - before).toBeLessThan(4);

    await using sweep = stage.start('resync', '--all', '--wait');
    const begun = await happens(calls, (now) => now > before + 8);
    expect(await check({ ...asked, deadline_ms: 30_000 })).toMatchObject({ verdict: 'holds' });
    // Of a sweep of more than 80 calls: those under way, and few more.
    expect((await calls()) - begun).toBeLessThan(30);
    expect(sweep.child.exitCode).toBeNull();
    await stage.service.quirks({ slow_ms: 0 });
    expect((await sweep.ended).code).toBe(0);

    await faults({ kind: 'hang', path: datesOf(asked.product_id), ms: 60_000 });
    const unknown = { verdict: 'unknown', reasons: ['deadline'], now: null, mirror: { state: 'available' } };
    expect(await check({ ...asked, deadline_ms: 300 })).toMatchObject(unknown);
    await faults({ kind: 'status', status: 500, path: datesOf(asked.product_id) });
    expect(await check({ ...asked, deadline_ms: 1000 })).toMatchObject({ verdict: 'unknown', now: null });
    await faults();
  });

  it('is answered in the currency that was shown, and what it finds sold out is so in every currency', async () => {
    const asked = question(onSale[1] as Shown);
    const dollars = await check({ ...asked, currency: 'USD' });
    expect(dollars).toMatchObject({ verdict: 'holds', now: { price: { currency: 'USD' } } });
    expect(dollars.now?.price).toEqual(dollars.mirror.price);
    expect(states(asked)).toEqual({ EUR: 'available', USD: 'available' });
    await faults({ kind: 'no-dates', path: datesOf(asked.product_id) });
    expect(await check({ ...asked, currency: 'USD' })).toMatchObject({ verdict: 'gone', reasons: ['date-sold-out'] });
    expect(states(asked)).toEqual({ EUR: 'sold_out', USD: 'sold_out' });
    await faults();
  });

  it('takes what the service no longer has off sale', async () => {
    const asked = question(onSale[2] as Shown);
    const bookable = `SELECT date FROM bookable_days WHERE product_id = ${asked.product_id}`;
    expect(stage.rows(bookable)).not.toEqual([]);
    await faults({ kind: 'status', status: 404, path: `/${asked.product_id}(/availability)?[?]` });
    expect(await check(asked)).toMatchObject({ verdict: 'gone', reasons: ['not-found'], now: null });
    expect(stage.rows(bookable)).toEqual([]);
    await faults();
  });
});

describe('an order', () => {
  it('that failed has its dates read again, is learned from once, and stands in no file of the mirror', async () => {
    const asked = question(onSale[3] as Shown);
    const order_id = 'order-that-no-reader-may-see';
    await faults({ kind: 'no-dates', path: datesOf(asked.product_id) });
    const failed = { ...asked, quantity: 1, outcome: 'failed', code: 'variants_not_available', order_id };
    expect((await order(failed)).json()).toMatchObject({ mirror: 'said-available', repeated: false });
    await happens(() => states(asked), ({ EUR, USD }) => EUR === 'sold_out' && USD === 'sold_out'); // biome-ignore format: a wait
    // The read that finds the same is no second proof.
    expect(await counted()).toMatchObject({ orders: 1, orders_wrong: 1 });
    await faults();
    expect(filesThatSay(order_id)).toEqual([]);
    expect(filesThatSay(String((onSale[3] as Shown).entry.title))).not.toEqual([]);
  });

  it('with an id counts once, however often it is sent, also over a kill', async () => {
    const asked = { ...question(onSale[4] as Shown), quantity: 1, outcome: 'confirmed', order_id: 'A-1042/1' };
    const { orders } = await counted();
    expect((await order(asked)).json()).toMatchObject({ repeated: false });
    await stage.ended('SIGKILL');
    await stage.live();
    expect((await order(asked)).json()).toMatchObject({ repeated: true });
    expect((await order(asked)).json()).toMatchObject({ repeated: true });
    expect((await order({ ...asked, quantity: 2 })).status).toBe(409);
    expect((await order({ ...asked, order_id: 'A-1042/2' })).json()).toMatchObject({ repeated: false });
    expect(await counted()).toMatchObject({ orders: orders + 2 });
  });
});

/** Returns the mirror's files that have this text. */
function filesThatSay(text: string): string[] {
  const directory = dirname(stage.mirror);
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && readFileSync(join(directory, entry.name), 'latin1').includes(text))
    .map(({ name }) => name);
}
