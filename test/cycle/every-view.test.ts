import { expect, test } from 'vitest';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';
import { readable } from '../mirror/contract/tables.ts';

const day = 86_400_000;

/* What holds of each view, also of one that is added: a read that confirms nothing, or a view that forgets who is withdrawn, is seen here. */

const views = Object.entries(readable).map(([view, { columns }]) => ({ view, columns: Object.keys(columns) }));
const checked = views.flatMap(({ view, columns }) => {
  const column = ['checked_at', 'verified_at'].find((name) => columns.includes(name));
  return column === undefined ? [] : [{ view, column }];
});

/** Tells why a product went; the feed tells that it did. */
const ofWithdrawn: ReadonlySet<string> = new Set(['withdrawn_products', 'changes']);

test('an answer without a change confirms every row of every view', async () => {
  await using harness = await filledHarness({ products: 2 });
  const filled_at = harness.clock.now();
  const oldest = () => {
    const db = openMirrorAt(harness.daemon.config.mirror.path, harness.clock.now());
    const found = checked.map(
      ({ view, column }) => [view, db.prepare(`SELECT min(${column}) FROM ${view}`).pluck().get()] as const,
    );
    db.close();
    return new Map(found);
  };
  expect([...oldest()].filter(([, at]) => at === null)).toEqual([]);
  expect([...oldest()].filter(([, at]) => Number(at) > filled_at)).toEqual([]);
  await harness.liveUntil(filled_at + 8 * day);
  expect([...oldest()].filter(([, at]) => Number(at) <= filled_at)).toEqual([]);
});

test('a product that the service no longer lists is in no view but those of the past', async () => {
  await using harness = await filledHarness({ lean: true, products: 40 }, { cadence: { products: '1h' } });
  const { mirror } = harness.daemon;
  const [gone] = harness.sandbox.world.visible();
  if (gone === undefined) throw new Error('no product');
  const showing = () => {
    const db = openMirrorAt(mirror.path, harness.clock.now());
    const found = views
      .filter(({ view, columns }) => columns.includes('product_id') && !ofWithdrawn.has(view))
      .filter(({ view }) => db.prepare(`SELECT 1 FROM ${view} WHERE product_id = ?`).get(gone.id) !== undefined)
      .map(({ view }) => view);
    db.close();
    return found;
  };
  const before = showing();
  expect(before).toContain('products');
  gone.withdrawn = true;
  await harness.live(day / 8);
  expect(showing()).toEqual([]);
  expect(before.length).toBeGreaterThan(8);
});
