import { describe, expect, it } from 'vitest';
import { type ChangeKind, isNewer } from '../../src/feed/change.rules.ts';
import { instant } from '../../src/kernel/clock.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const by = { sent_at: instant(1000), reason: 'cadence-elapsed' } as const;

interface Row {
  seq: number;
  product_id: number;
  kind: string;
  date: string | null;
  detail: string;
}

/** What the view tells after a cursor. */
function feed({ daemon, clock }: VirtualHarness, after = 0): Row[] {
  const db = openMirrorAt(daemon.mirror.path, clock.now());
  const rows = db.prepare<[number], Row>('SELECT * FROM changes WHERE seq > ? ORDER BY seq').all(after);
  db.close();
  return rows;
}

/** `prepare`: changes the service before the fill. */
async function filled(prepare: ((harness: VirtualHarness) => void) | null = null): Promise<VirtualHarness> {
  const world = [{ products: 12 }, { cadence: { products: '1h', product_detail: '2h' } }] as const;
  if (prepare === null) return filledHarness(...world);
  const harness = await virtualHarness(...world);
  prepare(harness);
  await harness.fill();
  return harness;
}

const date = '2026-12-05';

describe('the change feed', () => {
  it('of a first fill tells of added products, and of its end', async () => {
    await using harness = await filled();
    const rows = feed(harness);
    const added = Array.from({ length: 12 }, () => 'product_added');
    expect(rows.map(({ kind }) => kind)).toEqual([...added, 'pass_completed']);
    expect(rows.at(-1)).toMatchObject({ seq: 13, product_id: 0, detail: '{"from":1,"to":12}' });
  });

  it('tells each change once, with what it was and what it is', async () => {
    await using harness = await filled();
    const last = feed(harness).at(-1)?.seq ?? 0;
    const [first, second, third, fourth] = harness.sandbox.world
      .visible()
      .filter(({ status, images, place }) => status === 'available' && images.length > 1 && place.zone !== null);
    if (first === undefined || second === undefined || third === undefined || fourth === undefined)
      throw new Error('too few products');
    first.title = 'Another Name';
    const old_price = second.price;
    second.price += 100;
    const [image, other] = third.images;
    if (image === undefined || other === undefined) throw new Error('no image');
    third.images = [
      { ...image, credit: 'Somebody Else' },
      ...third.images.slice(2),
      { name: 'f'.repeat(32), credit: null, alt_text: null },
    ];
    fourth.status = 'unavailable';
    fourth.reason = 'out_of_season';
    const before = harness.sandbox
      .state(first.id, { language: 'en', currency: 'EUR', horizon: 92 })
      ?.days.find((day) => day.date === date);
    first.sold_out.add(date);
    await harness.live(7 * hour);
    const rows = feed(harness, last).filter(({ kind }) => kind !== 'date_added');
    const of = (id: number, kind: string) =>
      rows
        .filter((row) => row.product_id === id && row.kind === kind)
        .map(({ detail }) => JSON.parse(detail) as unknown);
    // The list brings the title at once, the product's own read what the sandbox makes from it.
    expect(of(first.id, 'product_changed')).toEqual([{ fields: ['title'] }, { fields: ['title', 'venue'] }]);
    expect(of(second.id, 'price_changed')).toContainEqual({ currency: 'EUR', old: old_price, new: old_price + 100 });
    expect(of(third.id, 'image_credit_changed')).toEqual([
      { image_key: image.name, old: expect.anything(), new: 'Somebody Else' },
    ]);
    expect(of(third.id, 'image_withdrawn')).toMatchObject([{ image_key: other.name }]);
    expect(of(third.id, 'image_added')).toMatchObject([{ image_key: 'f'.repeat(32) }]);
    expect(of(fourth.id, 'sale_disabled')).toMatchObject([{ reason: 'out_of_season' }]);
    if (before !== undefined && !before.sold_out)
      expect(of(first.id, 'date_sold_out')).toMatchObject([
        { old: { state: 'available' }, new: { state: 'sold_out', lowest_price: null } },
      ]);

    fourth.status = 'available';
    first.sold_out.delete(date);
    await harness.live(27 * hour);
    const later = feed(harness, last);
    expect(later.filter(({ kind }) => kind === 'sale_enabled').map(({ product_id }) => product_id)).toEqual([
      fourth.id,
    ]);
    if (before !== undefined && !before.sold_out)
      expect(
        later.filter((row) => row.kind === 'date_back' && row.product_id === first.id).map((row) => row.date),
      ).toEqual([date]);
    // The horizon has rolled on by a day.
    expect(later.some(({ kind }) => kind === 'date_added')).toBe(true);
    const all = feed(harness).map(({ seq }) => seq);
    expect(all).toEqual(Array.from(all, (_, index) => index + 1));
  });

  it('of a quiet day tells of nothing but the dates that the horizon brings', async () => {
    await using harness = await filled();
    const last = feed(harness).at(-1)?.seq;
    await harness.live(30 * hour);
    const told = feed(harness, last).map(({ kind }) => kind);
    expect(new Set(told.filter((kind) => !isNewer(kind as ChangeKind)))).toEqual(new Set(['date_added']));
    // Those that are sold out from the first.
    expect(new Set(told)).toEqual(new Set(['date_added', 'slots_changed', 'pass_completed']));
  });

  it('forgets the oldest beyond a number of bytes too, but for the change that reaches over it, and raises the floor', () => {
    using test = testMirror();
    const { mirror } = test;
    const { changes } = mirror;
    const detail = { title: 'x'.repeat(1000) };
    const add = (product_id: number) => changes.add({ product_id, kind: 'product_added', detail }, by);
    mirror.transaction(() => [1, 2, 3, 4].forEach(add));
    expect(mirror.transaction(() => changes.prune(instant(0), 2000))).toBe(2);
    expect(test.all('SELECT product_id FROM changes')).toEqual([{ product_id: 3 }, { product_id: 4 }]);
    expect(test.all('SELECT feed_floor_seq FROM mirror_info')).toEqual([{ feed_floor_seq: 2 }]);
    expect(mirror.transaction(() => changes.prune(instant(0), 2000))).toBe(0);
  });

  it('ends a pass by what it holds alone: once, with the first and the last number, whatever a kill has cut off', () => {
    using test = testMirror();
    const { mirror } = test;
    const { changes } = mirror;
    const add = (product_id: number) => changes.add({ product_id, kind: 'sale_enabled', detail: {} }, by);
    const end = () => mirror.transaction(() => changes.completePass(instant(5000)));
    mirror.transaction(() => add(1));
    end();
    expect(changes.isPassOpen()).toBe(false);
    mirror.transaction(() => mirror.markFilled(instant(2000)));
    end();
    end();
    mirror.transaction(() => add(2));
    mirror.transaction(() => add(3));
    expect(changes.isPassOpen()).toBe(true);
    end();
    expect(test.all("SELECT seq, product_id, detail FROM changes WHERE kind = 'pass_completed'")).toEqual([
      { seq: 2, product_id: 0, detail: '{"from":1,"to":1}' },
      { seq: 5, product_id: 0, detail: '{"from":3,"to":4}' },
    ]);
    mirror.transaction(() => add(4));
    // What was forgotten is not named.
    mirror.transaction(() => changes.prune(instant(Number.MAX_SAFE_INTEGER)));
    end();
    expect(test.all('SELECT * FROM changes')).toEqual([]);
  });

  it('forgets what is too old, says from where on it is whole, and never uses a number twice', () => {
    using test = testMirror();
    const { mirror } = test;
    const { changes } = mirror;
    const add = (sent_at: number) =>
      changes.add({ product_id: 7, kind: 'sale_enabled', detail: {} }, { ...by, sent_at: instant(sent_at) });
    const prune = (before: number) => mirror.transaction(() => changes.prune(instant(before)));
    mirror.transaction(() => [1000, 2000, 3000].forEach(add));
    expect(prune(2500)).toBe(2);
    expect(test.all('SELECT feed_floor_seq FROM mirror_info')).toEqual([{ feed_floor_seq: 2 }]);
    expect(prune(9000)).toBe(1);
    mirror.transaction(() => add(by.sent_at));
    expect(test.all('SELECT seq FROM changes')).toEqual([{ seq: 4 }]);
    expect(prune(500)).toBe(0);
  });
});
