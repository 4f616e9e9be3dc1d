import { expect, test } from 'vitest';
import { changesPerDay } from '../../src/domain/schedule/volatility.ts';
import { believed } from '../../src/sync/records/beliefs.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const day = 86_400_000;
/** Idle calls go where a change is likely. */
const budget = { requests_per_second: 10, concurrency: 4, share: 0.7 };

/** What happens at the end of each day, and what it came to. */
interface Lived {
  /** Calls a day. */
  readonly calls: number;
  /** Changes a day that near windows are believed to have, by product. */
  readonly learned: ReadonlyMap<number, number>;
  readonly prices: number;
  readonly by_rate: number;
  readonly signals: number;
}

async function live(products: number, ends: readonly ((product: Product, index: number) => void)[]): Promise<Lived> {
  await using harness = await filledHarness({ products, lean: true }, { service: { currencies: ['USD'] }, budget });
  const { clock, daemon, sandbox, liveUntil } = harness;
  const start = clock.now();
  for (const [index, change] of ends.entries()) {
    await liveUntil(start + (index + 1) * day);
    for (const [place, product] of sandbox.products().entries()) change(product, place);
  }
  await liveUntil(start + (ends.length + 2) * day);
  const reader = openMirrorAt(daemon.config.mirror.path, clock.now());
  const count = (sql: string) => Number(reader.prepare(sql).pluck().get());
  const found = {
    prices: count("SELECT count(*) FROM changes WHERE kind = 'price_changed'"),
    by_rate: count("SELECT count(*) FROM changes WHERE kind = 'price_changed' AND detail ->> 'by_rate' = 1"),
    signals: count('SELECT count(*) FROM _product WHERE signal_at IS NOT NULL'),
  };
  reader.close();
  const learned = harness.products().flatMap((product_id) => {
    const records = daemon.mirror.schedule.records.ofProduct(product_id);
    const near = records.find(({ resource, part }) => resource === 'availability' && part === 0);
    return near === undefined ? [] : [[product_id, changesPerDay(believed(near))] as const];
  });
  const { calls } = sandbox.calls.counts();
  return { calls: calls / (ends.length + 2), learned: new Map(learned), ...found };
}

type Product = ReturnType<Awaited<ReturnType<typeof filledHarness>>['sandbox']['products']>[number];

const nothing = () => {};
const moved = (rate: number) => (product: Product) => {
  product.rate = rate;
};
const dearer = (place: number) => (product: Product, index: number) => {
  product.rate = 1.0045;
  if (index === place) product.price = Math.round(product.price * 1.1);
};

test('a move of the exchange rate teaches nothing and causes no call, and a real change beside it is learned', async () => {
  const still = await live(12, [nothing, nothing]);
  const rates = await live(12, [moved(1.0045), moved(1.0045 ** 2)]);
  expect(rates.by_rate).toBeGreaterThan(100);
  expect(rates.by_rate).toBe(rates.prices);
  expect(rates.signals).toBe(0);
  expect(rates.learned).toEqual(still.learned);
  expect(rates.calls).toBeLessThanOrEqual(still.calls * 1.01);
  // A price that changes beside it is no move of the rate (control).
  const both = await live(12, [dearer(7), moved(1.0045 ** 2)]);
  const taught = [...both.learned].filter(([id, rate]) => rate > 1.2 * (still.learned.get(id) ?? 0));
  expect(taught).toHaveLength(1);
  expect(both.prices).toBeGreaterThan(both.by_rate);
  expect(both.signals).toBe(1);
});
