import { type Truth, truthOf } from '../../src/mirror/status/truth.ts';
import { roll } from '../../src/sandbox/random.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { readsOf } from '../../src/sqlite/statements.ts';
import { checkBeforeOrder, checkPorts } from '../../src/sync/checks/check.ts';
import { reportOrder } from '../../src/sync/checks/orders.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { type Looked, looksAt } from './looks.ts';
import { asThread, inThreads } from './threads.ts';

export interface ShopperOptions {
  readonly days: number;
  readonly products: number;
  readonly seed: number;
  readonly per_day: number;
  readonly scheduling: 'adaptive' | 'fixed';
  /** Whether a live check goes before each order. */
  readonly check: 'before' | 'never';
}

/** What happened to the shoppers of a month. Who was right is known from the sandbox, at the instant itself. */
export interface ShopperMonth extends Pick<ShopperOptions, 'seed' | 'scheduling' | 'check'> {
  /** They chose a date, a slot and a price that the mirror showed as available. */
  readonly chose: number;
  /** … and it was not so at the service by then: sold out, too few tickets, not on sale, another price. */
  readonly shown_wrong: number;
  /** The check said so before they ordered. */
  readonly turned_away: number;
  /** The check could not tell: nothing was ordered. */
  readonly unknown: number;
  readonly orders: number;
  /** The service would have refused them. */
  readonly refused: number;
  /** What the mirror itself counted: of the checks, where there are any, else of the orders. */
  readonly counted: { readonly asked: number; readonly wrong: number };
  /** What random reads say of each tier at the end, and what the shoppers' own looks at it have found. */
  readonly measured: Truth['by_tier'];
  readonly looked: readonly Looked[];
  /** Checks whose verdict the service contradicts: none. */
  readonly misjudged: number;
  readonly calls: number;
  readonly seconds: number;
}

interface Choice {
  readonly product_id: number;
  readonly date: string;
  readonly time: string;
  readonly variant_id: number;
  readonly count: number;
  /** Of one ticket, minor units of EUR. */
  readonly price: number;
}

const hour = 3_600_000;
const day = 24 * hour;

/**
 * Shoppers come at random instants, most of them for the products that sell most (Zipf 0.9) and for the next days. They
 * choose from what the mirror shows. Products close for two days now and then, and nobody announces it.
 */
async function shopperMonth(options: ShopperOptions, stack: AsyncDisposableStack): Promise<ShopperMonth> {
  const began = performance.now();
  const { seed } = options;
  const harness = stack.use(
    await virtualHarness(
      { seed, products: options.products, counts: 'none', changes: { median_hours: 2, sigma: 1.5 } },
      {
        scheduling: options.scheduling,
        // As shipped, but as fast as it goes: the sandbox is in the same process.
        budget: { requests_per_second: 100_000, concurrency: 8, share: 0.25, times: 5, audit: 0.01 },
      },
    ),
  );
  const { wiring, clock, sandbox } = harness;
  await harness.runUntil(() => wiring.mirror.filledAt() !== null);
  const before = sandbox.calls.counts().calls;
  const shop = openShop(harness, seed);
  stack.defer(() => shop.close());
  const counts = { chose: 0, shown_wrong: 0, turned_away: 0, unknown: 0, orders: 0, refused: 0, misjudged: 0 };
  const start = clock.now();
  const shoppers = options.days * options.per_day;
  const instants = Array.from({ length: shoppers }, (_, n) => start + roll(seed, n, 'when') * options.days * day).sort(
    (a, b) => a - b,
  );
  const closing = closures(harness, seed);
  for (const [n, at] of instants.entries()) {
    closing(at - start);
    await harness.liveUntil(at);
    shop.look(n);
    const choice = shop.choose(n);
    if (choice === null) continue;
    counts.chose += 1;
    const wrong = !holds(sandbox.world, choice);
    if (wrong) counts.shown_wrong += 1;
    if (options.check === 'before') {
      const verdict = await shop.check(choice);
      if (verdict !== 'unknown' && (verdict === 'holds') === wrong) counts.misjudged += 1;
      if (verdict !== 'holds') {
        counts[verdict === 'unknown' ? 'unknown' : 'turned_away'] += 1;
        continue;
      }
    }
    counts.orders += 1;
    const refused = !holds(sandbox.world, choice);
    if (refused) counts.refused += 1;
    shop.order(choice, refused ? 'failed' : 'confirmed');
  }
  await harness.liveUntil(start + options.days * day);
  return {
    ...counts,
    seed,
    scheduling: options.scheduling,
    check: options.check,
    ...shop.seen(),
    counted: shop.counted(),
    calls: sandbox.calls.counts().calls - before,
    seconds: (performance.now() - began) / 1000,
  };
}

/** Every six hours a product closes, for two days. */
function closures({ sandbox }: VirtualHarness, seed: number): (passed: number) => void {
  const ids = sandbox
    .products()
    .filter(({ status }) => status === 'available')
    .map(({ id }) => id);
  const open: { id: number; until: number }[] = [];
  let next = 0;
  return (passed) => {
    for (; next * 6 * hour <= passed; next += 1) {
      const id = ids[Math.floor(roll(seed, next, 'closes') * ids.length)] ?? 0;
      sandbox.world.disable(id, { reason: 'private_event' });
      open.push({ id, until: next * 6 * hour + 2 * day });
    }
    while (open[0] !== undefined && open[0].until <= passed) sandbox.world.enable(open.shift()?.id ?? 0);
  };
}

/** Whether the service sells what was chosen, at its price. */
function holds(world: World, { product_id, date, time, variant_id, count, price }: Choice): boolean {
  const product = world.find(product_id);
  if (product === null || product.withdrawn || product.status !== 'available') return false;
  const slot = world.days(product, date, date, 'EUR')[0]?.slots.find((each) => each.time === time);
  const offer = slot?.offers.find((each) => each.variant_id === variant_id);
  if (slot === undefined || offer === undefined) return false;
  return slot.availability >= count && offer.max_tickets >= count && offer.retail_price === price;
}

/** A storefront over the mirror, on the virtual clock. */
function openShop({ wiring, clock, sandbox, drive }: VirtualHarness, seed: number) {
  const reader = openMirrorWithClock(wiring.mirror.path);
  const checks = checkPorts(wiring);
  const never = new AbortController().signal;
  const counted = reader.db.prepare<[], ShopperMonth['counted']>(
    `SELECT CASE WHEN sum(checks) > 0 THEN sum(checks) ELSE sum(orders) END AS asked,
       CASE WHEN sum(checks) > 0 THEN sum(wrong) ELSE sum(orders_wrong) END AS wrong FROM availability_error_rate`,
  );
  const daysOf = reader.db
    .prepare<[number], string>(
      "SELECT date FROM availability_days WHERE product_id = ? AND currency = 'EUR' AND state = 'available' ORDER BY date LIMIT 31",
    )
    .pluck();
  const offersOf = reader.db.prepare<
    [number, string, number, number],
    Pick<Choice, 'time' | 'variant_id'> & { retail_price: number }
  >(
    `SELECT time, variant_id, retail_price FROM availability_slots WHERE product_id = ? AND currency = 'EUR' AND date = ?
       AND availability >= ? AND max_tickets >= ? AND retail_price IS NOT NULL`,
  );
  const ranked = sandbox
    .products()
    .map(({ id }) => id)
    .sort((a, b) => roll(seed, a, 'rank') - roll(seed, b, 'rank'));
  const weights = ranked.map((_, rank) => 1 / (rank + 1) ** 0.9);
  const total = weights.reduce((sum, weight) => sum + weight, 0);

  function product(chance: number): number {
    let left = chance * total;
    const index = weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
    return ranked[index] ?? 0;
  }

  const looks = looksAt(reader.db, sandbox.world);

  return {
    look: (n: number) => {
      reader.set(clock.now());
      looks.at(product(roll(seed, n, 'look')));
    },
    seen: () => ({ measured: truthOf(readsOf(reader.db)).by_tier, looked: looks.found() }),
    choose: (n: number): Choice | null => {
      reader.set(clock.now());
      const product_id = product(roll(seed, n, 'product'));
      const dates = daysOf.all(product_id);
      const ahead = Math.floor(-Math.log(1 - roll(seed, n, 'ahead')) * 6);
      const date = dates[Math.min(ahead, dates.length - 1)];
      if (date === undefined) return null;
      const count = 1 + Math.floor(roll(seed, n, 'count') * 4);
      const offers = offersOf.all(product_id, date, count, count);
      const offer = offers[Math.floor(roll(seed, n, 'offer') * offers.length)];
      if (offer === undefined) return null;
      return { product_id, date, count, time: offer.time, variant_id: offer.variant_id, price: offer.retail_price };
    },
    check: async ({ product_id, date, time, variant_id, count, price }: Choice) => {
      const question = {
        product_id,
        date,
        time,
        variants: [{ variant_id, count }],
        expect_price: { amount: price * count, currency: 'EUR' },
      };
      return (await drive(checkBeforeOrder(checks, question, never))).verdict;
    },
    order: ({ product_id, date, time, count }: Choice, outcome: 'confirmed' | 'failed') => {
      const code = outcome === 'failed' ? 'variants_not_available' : null;
      reportOrder(wiring.ports, { product_id, date, time, quantity: count, outcome, code });
    },
    counted: () => {
      checks.counter.flush();
      return counted.get() ?? { asked: 0, wrong: 0 };
    },
    close: async () => {
      await checks[Symbol.asyncDispose]();
      reader.db.close();
    },
  };
}

const ways = [
  { scheduling: 'fixed', check: 'never' },
  { scheduling: 'adaptive', check: 'never' },
  { scheduling: 'fixed', check: 'before' },
  { scheduling: 'adaptive', check: 'before' },
] as const;

/** The same month four times a seed: with fixed and adaptive cadences, without and with the check. */
export async function shopperMonths(
  options: Omit<ShopperOptions, 'seed' | 'scheduling' | 'check'>,
  seeds: readonly number[],
  threads: number,
  done: (month: ShopperMonth) => void,
): Promise<ShopperMonth[]> {
  const jobs = seeds.flatMap((seed) => ways.map((way) => ({ ...options, ...way, seed })));
  const months = await inThreads<ShopperOptions, ShopperMonth>(import.meta.url, jobs, threads, done);
  const place = (month: ShopperMonth) =>
    jobs.findIndex(
      ({ seed, scheduling, check }) => seed === month.seed && scheduling === month.scheduling && check === month.check,
    );
  return months.sort((a, b) => place(a) - place(b));
}

await asThread(import.meta.url, async (options: ShopperOptions) => {
  await using stack = new AsyncDisposableStack();
  return await shopperMonth(options, stack);
});
