import { describe, expect, it } from 'vitest';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { readAgain } from '../fakes/shown-rows.ts';
import { publishedStage } from './stage.ts';

describe('members that cannot be read, with a follower and in PostgreSQL', needs('postgres'), () => {
  it('are stale and NULL in both as in the file, and so is their end', async () => {
    await using at = await publishedStage(30, { cadence: { availability: { horizon: 31 } } });
    const { harness } = at;
    const { clock, sandbox, daemon } = harness;
    /** Publishes, follows once, and returns what is shown at the follower: the same at all three. */
    const published = async () => {
      const copy = await at.followed();
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
    const readAll = () => readAgain(harness, ['products', 'availability']);
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
