import { expect, it } from 'vitest';
import { readsOf } from '../../src/kernel/sqlite/statements.ts';
import { TruthReads } from '../../src/says/status/status.store.ts';
import { surveyInterest, weighProduct } from '../../src/schedule/weights.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { noon, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** Few dates have tickets, and nothing changes. */
const still = { products: 8, lean: true, counts: 'none' } as const;
/** Half of all calls are random reads, so that days tell what takes weeks otherwise. */
const often = { requests_per_second: 100_000, concurrency: 4, audit: 0.5 };
/** One window a product, of near and middle dates. */
const near = { availability: { horizon: 31 } };

function truthIn({ daemon, clock }: VirtualHarness) {
  const db = openMirrorAt(daemon.config.mirror.path, clock.now());
  try {
    return new TruthReads(readsOf(db)).outdated();
  } finally {
    db.close();
  }
}

async function filled(
  stack: AsyncDisposableStack,
  sandbox: Parameters<typeof virtualHarness>[0],
  config: Record<string, unknown> = { budget: often },
) {
  const harness = stack.use(await virtualHarness(sandbox, { scheduling: 'fixed', cadence: near, ...config }));
  await harness.fill();
  return harness;
}

/** Returns which products are shown otherwise than the service has them now: times, prices, and tickets up to an order's most. */
function outdatedNow({ daemon, clock, sandbox }: VirtualHarness): Set<number> {
  const db = openMirrorAt(daemon.config.mirror.path, clock.now());
  const [from, to] = [1, 28].map((ahead) => new Date(clock.now() + ahead * day).toISOString().slice(0, 10)) as [
    string,
    string,
  ];
  try {
    const shown = db
      .prepare<[number, string, string], string>(
        `SELECT date || ' ' || time || ' ' || variant_id || ' ' || retail_price || ' ' || min(availability, 20)
         FROM availability_slots WHERE product_id = ? AND date BETWEEN ? AND ?`,
      )
      .pluck();
    const wrong = sandbox.world.visible().filter((product) => {
      const said = sandbox.world
        .days(product, from, to, 'EUR')
        .flatMap(({ date, slots }) =>
          slots.flatMap(({ time, availability, offers }) =>
            offers.map((each) =>
              [date, time, each.variant_id, each.retail_price, Math.min(availability, 20)].join(' '),
            ),
          ),
        );
      return said.sort().join() !== shown.all(product.id, from, to).sort().join();
    });
    return new Set(wrong.map(({ id }) => id));
  } finally {
    db.close();
  }
}

it('random reads of what is true find nothing outdated, cost the share that is configured, and are remembered', async () => {
  await using stack = new AsyncDisposableStack();
  const harness = await filled(stack, still);
  const before = harness.sandbox.calls.counts().calls;
  await harness.live(2 * day);
  const { lanes } = harness.daemon.limiter.state();
  const measured = truthIn(harness);
  expect(measured).toMatchObject({ audited: lanes.audit.calls, outdated: 0, share: 0 });
  expect(measured.margin).toBeGreaterThan(0.02);
  expect(measured.by_tier.map(({ tier, audited }) => [tier, audited])).toEqual([
    ['near', measured.audited],
    ['middle', measured.audited],
  ]);
  const calls = harness.sandbox.calls.counts().calls - before;
  expect(measured.audited / calls).toBeGreaterThan(0.3);
  expect(measured.audited / calls).toBeLessThan(0.6);

  await harness.restart();
  expect(truthIn(harness)).toEqual(measured);
});

it('random reads measure what is outdated, by what sells, as looks at everything find it', needs('time'), async () => {
  await using stack = new AsyncDisposableStack();
  const harness = await filled(stack, {
    products: 12,
    counts: 'none',
    changes: { median_hours: 12, sigma: 1.2, until: noon + 30 * day },
  });
  const { clock, daemon } = harness;
  const among = await surveyInterest(daemon.sync, new AbortController().signal);
  const seen = { outdated: 0, all: 0 };
  const end = clock.now() + 6 * day;
  while (clock.now() < end) {
    await harness.live(2 * hour);
    const outdated = outdatedNow(harness);
    for (const { id, status } of harness.sandbox.world.visible()) {
      if (status !== 'available') continue;
      const { weight } = weighProduct(daemon.sync, { product_id: id, category: null }, among);
      seen.all += weight;
      if (outdated.has(id)) seen.outdated += weight;
    }
  }
  const { share, margin } = truthIn(harness);
  expect(Math.abs((share ?? 1) - seen.outdated / seen.all)).toBeLessThan(margin ?? 0);
  expect(share).toBeGreaterThan(0.05);
});
