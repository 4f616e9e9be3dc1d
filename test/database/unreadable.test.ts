import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { databaseSource } from '../../src/follow/database-source.ts';
import { follow } from '../../src/follow/follower.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { publishedStage } from './stage.ts';

const minute = 60_000;

describe('members that cannot be read, with a follower and in PostgreSQL', needs('postgres'), () => {
  it('are stale and NULL in both as in the file, and so is their end', async () => {
    await using at = await publishedStage(30, { cadence: { availability: { horizon: 31 } } });
    using directory = temporaryDirectory();
    const copy = join(directory.path, 'copy.db');
    const { harness } = at;
    const { clock, sandbox, daemon } = harness;
    /** Publishes, follows once, and returns what is shown at the follower: the same at all three. */
    const published = async () => {
      await at.publication.publish();
      await using source = await databaseSource({ from: at.server.url, schema: 'catalogued', password: null });
      const ending = new AbortController();
      const once = { ...systemClock, sleep: async () => ending.abort() };
      await follow({ source, path: copy, every: 250, clock: once, log: testLog('silent').log, own: 1 }, ending.signal);
      expect(await at.differing()).toEqual({});
      expect(await at.differing(copy)).toEqual({});
      const db = openMirrorAt(copy, clock.now());
      const shown = db
        .prepare(
          `SELECT (SELECT count(*) FROM bookable_days) AS days, (SELECT sum(stale) FROM bookable_days) AS stale,
            (SELECT count(*) FROM experiences) AS experiences, (SELECT sum(stale) FROM experiences) AS old,
            (SELECT count(*) FROM products WHERE from_price IS NULL) AS unpriced`,
        )
        .get() as Record<'days' | 'stale' | 'experiences' | 'old' | 'unpriced', number>;
      db.close();
      return shown;
    };
    const readAll = async () => {
      const resources = ['products', 'availability'] as const;
      requestResync(daemon.ports, { resources, product_ids: [], from: null, to: null });
      await harness.liveUntil(clock.now() + 30 * minute);
    };
    const usual = await published();
    expect(usual).toMatchObject({ stale: 0, old: 0 });

    const { faults } = sandbox;
    faults.add({ kind: 'respelt', path: '/availability', member: 'dates[].availability', body: '"many"' });
    faults.add({ kind: 'respelt', path: '/experiences', member: 'title', body: '7' });
    faults.add({ kind: 'respelt', path: '/products\\?', member: 'prediscount_price', body: '"dear"' });
    await readAll();
    const during = await published();
    // A date may end meanwhile.
    expect(during.days).toBeGreaterThan(0.95 * usual.days);
    expect(during.stale).toBeGreaterThan(0.7 * during.days);
    expect(during.old).toBeGreaterThan(0);

    faults.clear();
    await readAll();
    expect(daemon.mirror.evidence.unread.members()).toEqual([]);
    const { days: _, ...after } = await published();
    expect({ ...usual, ...after }).toEqual(usual);
  }, 180_000);
});
