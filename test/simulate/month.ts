import { callsPerDay, planOf } from '../../src/domain/schedule/plan.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { Database } from '../../src/sqlite/read-only.ts';
import { catalogueOf } from '../../src/sync/records/counted.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { noon, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { type AgeLine, agesOf, noteServed, promises } from './ages.ts';

export interface MonthOptions {
  readonly days: number;
  readonly products: number;
  readonly seed: number;
  readonly scheduling: 'adaptive' | 'fixed';
  readonly sandbox?: Partial<SandboxOptions>;
  readonly config?: Record<string, unknown>;
  /** What happens on the way: called at the beginning of each hour. */
  readonly hourly?: (harness: VirtualHarness, hour: number) => Promise<void>;
  /** The day from which on nothing changes any more at the service, so that at the end both must be equal. */
  readonly quiet_from: number;
  readonly progress: (text: string) => void;
}

export interface Month {
  readonly ages: readonly AgeLine[];
  readonly calls: number;
  readonly predicted: number;
  readonly fill: number;
  /** How often, asked every eleven hours, `freshness` said that a promise was broken, by resource and tier. */
  readonly broken: Readonly<Record<string, number>>;
  /** What the change feed grew by, on the day that told most. */
  readonly feed: FeedSize;
  readonly seconds: number;
  /** Cells of the mirror that differ from the service at the end, and the first of them. */
  readonly differences: number;
  readonly first: readonly string[];
}

interface FeedSize {
  readonly lines: number;
  readonly bytes: number;
}

const hour = 3_600_000;
/** Hours between two looks at the view `freshness`; odd, so that every time of the day is met. */
const askEvery = 11;

/** Fills a mirror and lives on for so many virtual days: the real engine against the sandbox over HTTP. */
export async function liveMonth(options: MonthOptions, stack: AsyncDisposableStack): Promise<Month> {
  const began = performance.now();
  const ages = agesOf(promises);
  let harness: VirtualHarness | null = null;
  harness = stack.use(
    await virtualHarness(
      {
        seed: options.seed,
        products: options.products,
        lean: true,
        counts: 'none',
        changes: { median_hours: 48, sigma: 1.5, until: noon + options.quiet_from * 24 * hour },
        served: (answer) => {
          const world = harness?.sandbox.world;
          noteServed(ages, answer, {
            onSale: (id) => world?.find(Number(id))?.status === 'available',
            today: (id) => {
              const product = world?.find(Number(id));
              return product == null || world === undefined ? '' : world.dates(product).today;
            },
          });
        },
        ...options.sandbox,
      },
      // Eight connections, as fast as they go: the sandbox is in the same process.
      {
        scheduling: options.scheduling,
        budget: { requests_per_second: 100_000, concurrency: 8, share: 0.25 },
        ...options.config,
      },
    ),
  );
  const { wiring, clock, sandbox } = harness;
  await harness.runUntil(() => wiring.mirror.filledAt() !== null);
  const fill = sandbox.calls.counts().calls;
  const start = clock.now();
  let predicted = 0;
  const reader = openMirrorWithClock(wiring.mirror.path);
  stack.defer(() => void reader.db.close());
  const promisesKept = reader.db.prepare<[], { resource: string; tier: string | null; kept: number }>(
    'SELECT resource, tier, kept FROM freshness',
  );
  const brokenPromises = () => {
    reader.set(clock.now());
    return promisesKept.all().filter(({ kept }) => kept === 0);
  };
  const told = feedGrowth(reader.db);
  const broken: Record<string, number> = {};
  for (let passed = 1; passed <= options.days * 24; passed += 1) {
    await options.hourly?.(harness, passed);
    await harness.liveUntil(start + passed * hour);
    // A plan knows what calls are worth when the first day has taught something.
    if (passed === 24) predicted = callsPerDay(planOf(catalogueOf(wiring.ports))) * options.days;
    if (passed % askEvery === 0)
      for (const { resource, tier } of brokenPromises()) {
        const name = tier === null ? resource : `${resource}, ${tier}`;
        broken[name] = (broken[name] ?? 0) + 1;
      }
    if (passed % 24 > 0) continue;
    told.dayEnds();
    options.progress(
      `day ${passed / 24} of ${options.days}, ${sandbox.calls.counts().calls.toLocaleString('en-US')} calls, ${Math.round((performance.now() - began) / 1000)} s`,
    );
  }
  const { differences, first } = await harness.compare();
  return {
    ages: ages.report(clock.now()),
    calls: sandbox.calls.counts().calls - fill,
    predicted,
    fill,
    broken,
    feed: told.most(),
    seconds: (performance.now() - began) / 1000,
    differences,
    first,
  };
}

function feedGrowth(db: Database): { dayEnds(): void; most(): FeedSize } {
  const last = db.prepare<[], FeedSize>(
    'SELECT seq AS lines, total_bytes AS bytes FROM _change ORDER BY seq DESC LIMIT 1',
  );
  const nothing = { lines: 0, bytes: 0 };
  let [before, most] = [last.get() ?? nothing, nothing];
  return {
    dayEnds: () => {
      const now = last.get() ?? before;
      const grown = { lines: now.lines - before.lines, bytes: now.bytes - before.bytes };
      if (grown.bytes > most.bytes) most = grown;
      before = now;
    },
    most: () => most,
  };
}
