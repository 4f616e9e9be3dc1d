import { describe, expect, it } from 'vitest';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { needs } from '../../fakes/needs.ts';
import { readAgain } from '../../fakes/shown-rows.ts';
import { publishedStage } from './stage.ts';

const minute = 60_000;
const hour = 60 * minute;

/** Views with products whose dates, prices, texts or variants are held; others show none of it. */
const holding = [
  'availability_days',
  'availability_slots',
  'bookable_days',
  'checkout_information',
  'product_prices',
  'products',
  'variants',
];

/** How many rows of each view are stale, of those that can be. */
function staleIn(path: string, now: number): Record<string, number> {
  const db = openMirrorAt(path, now);
  try {
    const views = db
      .prepare<[], string>(
        `SELECT v.name FROM main.sqlite_schema AS v, pragma_table_info(v.name) AS c
         WHERE v.type = 'view' AND v.name <> 'freshness' AND c.name = 'stale' ORDER BY v.name`,
      )
      .pluck()
      .all();
    return Object.fromEntries(
      views.map((view) => [
        view,
        db.prepare<[], number>(`SELECT count(*) FROM ${view} WHERE stale`).pluck().get() ?? 0,
      ]),
    );
  } finally {
    db.close();
  }
}

describe('a hold, with a follower and in PostgreSQL', needs('postgres'), () => {
  it('is stale in every view that can hold it, of both kinds at once, and so is its end', async () => {
    await using at = await publishedStage(30, { cadence: { availability: { horizon: 31 } } });
    const { harness } = at;
    const { clock, sandbox, daemon } = harness;
    /** Publishes, follows once, and returns what is stale: the same at all three. */
    const published = async () => {
      const copy = await at.followed();
      return staleIn(copy, clock.now());
    };
    const readAll = (ms: number) => readAgain(harness, ['products', 'availability', 'checkout', 'variants'], ms);
    const usual = await published();
    expect(new Set(Object.values(usual))).toEqual(new Set([0]));

    sandbox.faults.add({ kind: 'no-texts' });
    sandbox.faults.add({ kind: 'no-variants' });
    sandbox.faults.add({ kind: 'no-dates', path: '/\\d*[02468]/availability' });
    sandbox.faults.add({ kind: 'prices', amount: 0.01 });
    await readAll(30 * minute);
    const held = daemon.mirror.evidence.held().map(({ subject }) => subject);
    const during = await published();
    process.stdout.write(`held: ${held.join(', ')}; stale rows at a follower: ${JSON.stringify(during)}\n`);
    expect(held).toEqual(expect.arrayContaining(['near-dates', 'near-prices', 'texts', 'variants']));
    const views = Object.keys(during).filter((view) => (during[view] ?? 0) > 0);
    expect(views).toEqual(expect.arrayContaining(holding));

    sandbox.faults.clear();
    await readAll(2 * hour);
    await readAll(hour);
    expect(daemon.mirror.evidence.held()).toEqual([]);
    const after = await published();
    process.stdout.write(`after its end: ${JSON.stringify(after)}\n`);
    expect(new Set(Object.values(after))).toEqual(new Set([0]));
  }, 180_000);
});

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
