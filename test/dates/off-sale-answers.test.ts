import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import { contradictedReread, judgeOffSale, laterOf } from '../../src/push/off-sale.rules.ts';
import { explainProduct } from '../../src/says/explain/explain.ts';
import { someOf } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const bookable = (harness: VirtualHarness, id: number) =>
  harness
    .rows<{ date: string }>(`SELECT date FROM bookable_days WHERE product_id = ${id} AND currency = 'EUR'`)
    .map(({ date }) => date);
const broken = (harness: VirtualHarness) =>
  harness
    .rows<{ resource: string }>('SELECT DISTINCT resource FROM freshness WHERE met = 0')
    .map(({ resource }) => resource);
const datesOf = ({ explain }: VirtualHarness, id: number) =>
  explain(id).records.filter(({ resource }) => resource === 'availability');

/** Availability of a product as a cache of the service has it, for as long as the rule stands. */
function cachedAsClosed({ sandbox }: VirtualHarness, id: number, how: 'false' | 'null' | 'missing' | '400') {
  const said = { false: '"sales_enabled":false,', null: '"sales_enabled":null,', missing: '', 400: '' }[how];
  const refused = '{"success":false,"error_code":"checkout_disabled","message":"Not on sale."}';
  const body = how === '400' ? refused : `{"success":true,${said}"dates":[],"variants":[],"groups":[]}`;
  sandbox.faults.add({ kind: 'status', status: how === '400' ? 400 : 200, path: `/${id}/availability`, body });
}

async function readNow(harness: VirtualHarness) {
  return harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: never }));
}

async function readList(harness: VirtualHarness) {
  requestResync(harness.daemon.sync, { resources: ['images'], product_ids: [], from: null, to: null });
  await readNow(harness);
}

/** A product that was closed, in the mirror too, and the first of its dates. */
async function closed() {
  const harness = await filledHarness({ products: 12 });
  const product = harness.sandbox
    .products()
    .find(({ id, status }) => status === 'available' && bookable(harness, id).length > 40);
  if (product === undefined) throw new Error('no product with dates');
  const [date = ''] = bookable(harness, product.id);
  Object.assign(product, { status: 'unavailable', reason: 'temporary_closure' });
  await readList(harness);
  await harness.live(3 * hour);
  expect(harness.rows(`SELECT 1 FROM products WHERE product_id = ${product.id} AND sellable = 0`)).toHaveLength(1);
  return { harness, product, date };
}

/** Ways of saying that a product is not on sale. */
const ways = someOf(['false', 'null', 'missing', '400'] as const);

describe.each(ways)('sales_enabled: %s from a cache of the service', (how) => {
  it('after a product reopened holds its dates back for a minute, and then they are true', async () => {
    const { harness, product, date } = await closed();
    await using _ = harness;
    product.sold_out.add(date);
    Object.assign(product, { status: 'available', reason: null });
    cachedAsClosed(harness, product.id, how);
    await readList(harness);
    expect(harness.rows(`SELECT 1 FROM products WHERE product_id = ${product.id} AND sellable = 1`)).toHaveLength(1);
    expect(bookable(harness, product.id)).toEqual([]);
    expect(broken(harness)).toContain('availability');
    expect(
      harness.rows(`SELECT DISTINCT state, stale, freshness FROM availability_days WHERE product_id = ${product.id}`),
    ).toEqual([{ state: 'not_on_sale', stale: 1, freshness: 'stale' }]);
    harness.sandbox.faults.clear();
    await harness.live(2 * minute);
    expect(bookable(harness, product.id)).not.toContain(date);
    expect(bookable(harness, product.id).length).toBeGreaterThan(40);
    expect(broken(harness)).toEqual([]);
    expect((await harness.compare()).first).toEqual([]);
    const told = harness.rows<{ kind: string }>(
      `SELECT kind FROM changes WHERE product_id = ${product.id} AND kind LIKE 'dates_%' ORDER BY seq DESC LIMIT 1`,
    );
    expect(told).toEqual([{ kind: 'dates_released' }]);
  });
});

it('a service that answers from its caches for six seconds is true again within two minutes of a reopening', async () => {
  const { harness, product, date } = await closed();
  await using _ = harness;
  harness.sandbox.setQuirks({ cached_ms: 6 * second });
  product.sold_out.add(date);
  Object.assign(product, { status: 'available', reason: null });
  // The product's own read is cached half as long as its dates.
  await harness.drive(harness.clock.sleep(4 * second));
  requestResync(harness.daemon.sync, { resources: ['products'], product_ids: [product.id], from: null, to: null });
  await readNow(harness);
  expect(harness.rows(`SELECT 1 FROM products WHERE product_id = ${product.id} AND sellable = 1`)).toHaveLength(1);
  expect(bookable(harness, product.id)).toEqual([]);
  await harness.live(2 * minute);
  expect(bookable(harness, product.id).length).toBeGreaterThan(40);
  expect((await harness.compare()).first).toEqual([]);
});

describe('dates that are answered as not on sale while the product is on sale', () => {
  it('are asked for after a minute, then growing to their cadence, and never as often as they are doubted', async () => {
    await using harness = await filledHarness({ products: 3 });
    const product = harness.sandbox.products().find(({ status }) => status === 'available');
    if (product === undefined) throw new Error('nothing is on sale');
    cachedAsClosed(harness, product.id, 'false');
    await harness.live(7 * hour);
    const [near] = datesOf(harness, product.id);
    expect(near?.off_sale_at).not.toBeNull();
    const before = harness.sandbox.calls.counts().calls;
    await harness.live(2 * day);
    // Two days of a product: the other two of the harness have 8 near reads and 4 far ones each.
    expect(harness.sandbox.calls.counts().calls - before).toBeLessThan(120);
    expect((near?.due_at ?? 0) - harness.clock.now()).toBeLessThan(6 * hour);
    expect(bookable(harness, product.id)).toEqual([]);
    expect(broken(harness)).toEqual(['availability']);
    const contradicted = async () => (await harness.daemon.status.shown()).contradicted;
    expect(await contradicted()).toMatchObject({ products: 1 });
    harness.sandbox.faults.clear();
    await harness.live(6 * hour);
    expect(await contradicted()).toBeNull();
    expect((await harness.compare()).first).toEqual([]);
  });

  it('fail a resync that asks for them, after the second answer and without ending another', async () => {
    await using harness = await filledHarness({ products: 3 });
    const [one, other] = harness.sandbox.products().filter(({ status }) => status === 'available');
    cachedAsClosed(harness, one?.id ?? 0, '400');
    const ask = (id: number) =>
      requestResync(harness.daemon.sync, { resources: ['availability'], product_ids: [id], from: null, to: null });
    const jobs = [ask(one?.id ?? 0), ask(other?.id ?? 0)];
    await readNow(harness);
    expect(harness.job(jobs[0]?.job_id ?? 0)).toMatchObject({
      left: jobs[0]?.records,
      failed: 0,
    });
    await harness.live(3 * minute);
    expect(jobs.map(({ job_id }) => harness.job(job_id))).toMatchObject([
      { left: 0, failed: jobs[0]?.records },
      { left: 0, failed: 0 },
    ]);
  });

  it('are “gone” in a check hours after the product’s own read, and nobody’s verdict seconds after it', async () => {
    await using harness = await filledHarness({ products: 6 });
    const product = harness.sandbox.products().find(({ status }) => status === 'available');
    if (product === undefined) throw new Error('nothing is on sale');
    await using desk = new CheckDesk(harness.daemon);
    const [date = ''] = bookable(harness, product.id);
    const check = async () => {
      const answer = await harness.drive(desk.check({ product_id: product.id, date }, never));
      await desk.stored();
      return answer;
    };
    const counted = () => {
      desk.counter.flush();
      return harness.rows('SELECT sum(wrong) AS wrong, sum(unknown) AS unknown FROM availability_error_rate');
    };
    await harness.live(hour);
    product.status = 'unavailable';
    expect(await check()).toMatchObject({ verdict: 'gone', reasons: ['not-on-sale'], now: { state: 'not_on_sale' } });
    expect(counted()).toEqual([{ wrong: 1, unknown: 0 }]);
    await readNow(harness);
    expect(await check()).toMatchObject({ verdict: 'gone', reasons: ['not-on-sale'] });
    product.status = 'available';
    cachedAsClosed(harness, product.id, 'false');
    await readList(harness);
    const contradicted = { verdict: 'unknown', reasons: ['sale-contradicted'], alternatives: [] };
    expect(await check()).toMatchObject(contradicted);
    await harness.live(hour);
    expect(await check()).toMatchObject(contradicted);
    harness.sandbox.faults.clear();
    expect(await check()).toMatchObject({ verdict: 'holds' });
    expect(counted()).toMatchObject([{ wrong: 1 }]);
  });

  it('say in explain since when and when again, and in status that no promise is kept', async () => {
    await using harness = await filledHarness({ products: 3 });
    const product = harness.sandbox.products().find(({ status }) => status === 'available');
    cachedAsClosed(harness, product?.id ?? 0, 'false');
    requestResync(harness.daemon.sync, {
      resources: ['availability'],
      product_ids: [product?.id ?? 0],
      from: null,
      to: null,
    });
    await readNow(harness);
    await harness.live(80 * second);
    const told = explainProduct(harness.daemon.sync, product?.id ?? 0);
    expect(told).toMatchObject({ sellable: true, dates_off_at: expect.any(Number) });
    expect(told?.records.filter(({ resource }) => resource === 'availability')).toMatchObject(
      Array(3).fill({ off_sale_at: expect.any(Number), due_reason: 'sale-status-doubted' }),
    );
  });
});

describe('an answer of "not on sale"', () => {
  it.each([
    ['disabled', false, 'confirmed'],
    ['enabled', true, 'contradicted'],
    ['enabled', false, 'undecided'],
    ['unknown', false, 'undecided'],
  ] as const)('of a product whose own read says %s (sellable: %s) is %s', (sale_status, sellable, verdict) => {
    expect(judgeOffSale({ sale_status, sellable })).toBe(verdict);
  });

  it.each([
    ['a minute and more', 61 * second, 'not-on-sale'],
    ['seconds', 30 * second, 'sale-contradicted'],
    ['less than nothing: that read is the later one', -hour, 'sale-contradicted'],
  ] as const)('that is later than the product’s own read by %s says so in a check', (_, later, said) => {
    expect(laterOf({ at: day, says: 'on-sale' }, { at: day + later, says: 'not-on-sale' })).toBe(said);
  });

  it.each([
    [hour, 'on-sale'],
    [30 * second, 'sale-contradicted'],
  ] as const)('is no longer true for an answer that sells %i ms later: %s', (later, said) => {
    expect(laterOf({ at: day, says: 'not-on-sale' }, { at: day + later, says: 'on-sale' })).toBe(said);
  });

  it('is looked at again after a minute, then twice as late each time, never later than the cadence', () => {
    let at = 0;
    const looks: number[] = [];
    while (looks.length < 12) {
      at = contradictedReread(0, at, 6 * hour).at;
      looks.push(at / minute);
    }
    expect(looks.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 32]);
    expect((looks[11] ?? 0) - (looks[10] ?? 0)).toBe(360);
    expect(contradictedReread(hour, 0, 6 * hour).at).toBe(minute);
  });
});
