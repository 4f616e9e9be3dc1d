import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { someOf } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const products = 36;

/** Everything is read again, answered as the faults say. */
async function sweep(harness: VirtualHarness, ...faults: readonly FaultRule[]): Promise<void> {
  for (const fault of faults) harness.sandbox.faults.add(fault);
  readAgain(harness);
  await harness.live(30 * minute);
}

/** Makes everything due, or the dates of some products. */
function readAgain({ daemon }: VirtualHarness, product_ids: readonly number[] = []): void {
  const resources = product_ids.length === 0 ? resyncResources : (['availability'] as const);
  requestResync(daemon.sync, { resources, product_ids, from: null, to: null });
}

/** Returns the first column of the rows. */
const all = <Value>({ rows }: VirtualHarness, sql: string) =>
  rows<Record<string, Value>>(sql).flatMap((row) => Object.values(row).slice(0, 1));

const count = (harness: VirtualHarness, sql: string) => Number(all(harness, sql)[0] ?? 0);
const held = ({ held }: VirtualHarness) => held().map(({ subject, state }) => `${subject} ${state}`);

/** What a lie changes, how it is counted, which share of that must stay, and what is held or reported. */
const lies: readonly (readonly [string, FaultRule, string, number, string])[] = [
  ['answers cut to three dates', { kind: 'cut-dates' }, 'SELECT count(*) FROM bookable_days', 0.7, 'fewer-near-dates held'],
  ['answers without weekends', { kind: 'no-weekends' }, 'SELECT count(*) FROM bookable_days', 0.9, 'fewer-near-dates held'],
  ['one time a date', { kind: 'cut-times' }, 'SELECT sum(json_array_length(slots)) FROM slot_day', 0.7, 'fewer-times held'],
  ['prices × 0.6', { kind: 'prices', factor: 0.6 }, 'SELECT sum(from_price) FROM product_prices', 0.9, 'alike-from-prices held'],
  ['all zones UTC', { kind: 'one-value', member: 'timezone', text: 'UTC' }, "SELECT count(*) FROM products WHERE timezone <> 'UTC'", 0.8, 'alike-zones held'],
  ['all variant types other', { kind: 'one-value', member: 'variant_type', text: 'other' }, "SELECT count(*) FROM variants WHERE variant_type <> 'other'", 0.7, 'alike-variant-types held'],
  ['must-know texts TEST', { kind: 'one-value', member: 'must_know', text: 'TEST' }, "SELECT count(*) FROM checkout_information WHERE must_know <> 'TEST'", 0.7, 'alike-must-know held'],
  ['texts cut to four characters', { kind: 'cut-texts' }, 'SELECT sum(length(must_know)) FROM checkout_information', 0.7, 'shorter-texts held'],
  ['the dates of one product under others', { kind: 'another-product', share: 0.5 }, 'SELECT count(*) FROM bookable_days', 0.99, ''],
  ['all titles TEST', { kind: 'one-value', member: 'title', text: 'TEST' }, 'SELECT count(*) FROM products', 1, 'alike-titles reported'],
  ['one image for all', { kind: 'one-image' }, 'SELECT count(*) FROM products', 1, 'alike-images reported'],
  ['prices × 1.08', { kind: 'prices', factor: 1.08 }, 'SELECT count(*) FROM products', 1, 'alike-from-prices reported'],
]; // biome-ignore format: a table

describe('a service that replaces or leaves out a part of everything', () => {
  it.each(someOf(lies))('%s', async (_, fault, sql, least, expected) => {
    await using harness = await filledHarness({ products });
    const before = count(harness, sql);
    expect(before).toBeGreaterThan(0);
    await sweep(harness, fault);
    // Answers whose zone contradicts their product's fail by themselves, and few are left for a hold.
    if (expected !== '') expect(held(harness)).toContain(expected);
    expect(count(harness, sql)).toBeGreaterThanOrEqual(least * before);
    harness.sandbox.faults.clear();
    await sweep(harness);
    await harness.live(4 * hour);
    expect(held(harness).filter((each) => !each.endsWith('reported'))).toEqual([]);
    expect(count(harness, sql)).toBeGreaterThan(0.98 * before);
  });

  it('the control, which holds nothing, shows all of it', async () => {
    await using harness = await filledHarness({ products }, { held: { less: 'off', price: 'off' } });
    const before = count(harness, 'SELECT count(*) FROM bookable_days');
    await sweep(harness, { kind: 'cut-dates' });
    expect(count(harness, 'SELECT count(*) FROM bookable_days')).toBeLessThan(0.7 * before);
    expect(held(harness)).toEqual([]);
  });
});

describe('products that were closed', () => {
  it('close again at once after a service has shown them on sale, however many they are, also over restarts', async () => {
    await using harness = await filledHarness({ products: 60, lean: true }, {}, {});
    const { sandbox } = harness;
    const onSale = () => count(harness, 'SELECT count(*) FROM products WHERE sellable = 1');
    const some = sandbox
      .products()
      .filter(({ status }) => status === 'available')
      .slice(0, 18);
    const set = (status: 'available' | 'unavailable') => {
      for (const product of some)
        Object.assign(product, { status, reason: status === 'available' ? null : 'temporary_closure' });
    };
    set('unavailable');
    await sweep(harness);
    // So many that it takes a person: this is the way into the test, not its subject.
    harness.daemon.sync.evidence.decide('less', 'approved');
    await harness.live(25 * hour);
    const before = onSale();
    set('available');
    await sweep(harness);
    expect(onSale()).toBe(before + 18);
    await harness.restart();
    set('unavailable');
    readAgain(harness);
    await harness.live(40_000, 10_000);
    // It was said once.
    expect(onSale()).toBe(before + 18);
    await harness.restart();
    await harness.live(30 * minute);
    expect(onSale()).toBe(before);
    expect(held(harness).filter((each) => each.startsWith('sale-status held'))).toEqual([]);
  });
});
