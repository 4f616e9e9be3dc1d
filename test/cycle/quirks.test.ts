import { expect, it } from 'vitest';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import type { Quirks } from '../../src/sandbox/rough/quirks.ts';
import { noticedIn } from '../fakes/noticed.ts';
import { thorough } from '../fakes/thorough.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

/** Fills a mirror from a service with these quirks and keeps it for three hours. */
async function lived(quirks: Partial<Quirks>) {
  await using harness = await virtualHarness({ products: 16, quirks });
  await harness.live(3 * 3_600_000);
  const { differences, first } = await harness.compare();
  const db = openMirrorForReading(harness.daemon.config.mirror.path);
  const { failures } = harness.status();
  const noticed = noticedIn(harness.daemon.config.mirror.path, harness.clock.now());
  const dates = db.prepare<[], { state: string; count: number }>(
    'SELECT state, count(*) AS count FROM availability_days GROUP BY state',
  );
  const shown = Object.fromEntries(dates.all().map(({ state, count }) => [state, count]));
  db.close();
  return { differences, first, noticed, failures, shown };
}

const all: readonly Partial<Quirks>[] = [
  { cached_ms: 6000 },
  { dates: 'weeks' },
  { date_order: 'shuffled' },
  { date_order: 'repeated' },
  { dates: 'weeks', date_order: 'repeated' },
  { date_cap: 'silent', date_order: 'shuffled' },
  { faults: [{ kind: 'status', status: 503, of: 'answers', share: 0.01 }] },
  { faults: [{ kind: 'status', status: 429, of: 'answers', share: 0.01 }] },
  { faults: [{ kind: 'reset', of: 'answers', share: 0.01 }] },
  { limit: 30 },
  { endpoints: 'specification' },
  { unrated: 'zero' },
  { page_size: 'ignored', list_order: 'shifting' },
  { images_null: 0.1 },
  { page_size: 'ignored' },
  { list_order: 'shifting' },
  { counters: 'differing' },
  { clock_skew_ms: 45_000 },
  { slow_ms: 200 },
  { escapes: 0.1 },
];

const quirks = thorough ? all : all.filter((_, index) => index % 4 === 0);

it.each(quirks)('a mirror of a service with %j says what the service says, without a condition', async (rough) => {
  expect(await lived(rough)).toMatchObject({ differences: 0, first: [], noticed: [] });
});

it('a mirror of a service with negative prices and addresses of other schemes refuses them, and says so', async () => {
  const { differences, first, noticed } = await lived({ hostile_values: 0.1 });
  expect({ differences, first }).toEqual({ differences: 0, first: [] });
  expect(noticed).toEqual(['images-refused', 'prices-refused']);
});

it('a date of which every price is less than nothing is sold out, and the oracle knows', async () => {
  const { differences, first, shown } = await lived({ hostile_values: 1 });
  expect({ differences, first }).toEqual({ differences: 0, first: [] });
  expect(shown.sold_out).toBeGreaterThan((await lived({})).shown.sold_out ?? 0);
});
