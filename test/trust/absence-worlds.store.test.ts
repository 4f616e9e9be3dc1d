import type Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { ProductEntry } from '../../src/catalogue/product.rules.ts';
import { instant } from '../../src/kernel/clock.ts';
import { roll } from '../../src/sandbox/random.ts';
import { judgeAbsence, noteGone, noteThere } from '../../src/schedule/deciding-reads.ts';
import type { Extent } from '../../src/schedule/record.rules.ts';
import { walkKinds } from '../../src/schedule/record.rules.ts';
import type { Policy } from '../../src/schedule/sync.ts';
import { startBudget } from '../../src/service/budget.rules.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { testLog } from '../fakes/test-log.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { testSync } from '../fakes/test-sync.ts';
import { thorough } from '../fakes/thorough.ts';

const worlds = Number(process.env.CATALOGUED_TEST_WORLDS ?? (thorough ? 500 : 40));
const week = 7 * 24 * 3_600_000;
const begin = Date.UTC(2026, 10, 21, 12);
const extent: Extent = {
  languages: ['en'],
  currencies: ['EUR'],
  windows: [],
  resources: new Set(['products', 'product_detail']),
};
const policy = {
  extent,
  of: () => ({ extent }),
  included: [],
  held: { less: 'hold', price: 'hold' },
} as unknown as Policy;
const { primary } = walkKinds(extent);
const walkRecord = { ...primary, product_id: 0 };
const detail = { resource: 'product_detail' as const, edition: 'en', part: 0 };

/** A service whose lists lie: what it really offers, what its list leaves out for good, and what it shows this time. */
function lyingService(seed: number) {
  const ids = Array.from({ length: 25 + Math.floor(roll(seed, 'size') * 60) }, (_, index) => 1000 + index);
  const gone = new Set<number>();
  const neverListed = new Set(ids.filter((id) => roll(seed, id, 'never listed') < 0.02));
  const kinds = ['honest', 'honest', 'empty', 'halved', 'drifted', 'page missing', 'flickering'] as const;
  const permanently = (id: number) => roll(seed, id, 'says') < 0.3;
  return {
    ids,
    gone,
    /** Who answers 410 when it is gone, and never comes back. */
    permanently,
    /** Removals, a few or most at once, and returns. */
    live(walk: number): void {
      const share = roll(seed, walk, 'mass') < 0.1 ? 0.6 : 0.03;
      for (const id of ids) {
        if (roll(seed, walk, id, 'gone') < (roll(seed, walk, 'removal') < 0.4 ? share : 0)) gone.add(id);
        else if (!permanently(id) && roll(seed, walk, id, 'returns') < 0.03) gone.delete(id);
      }
    },
    /** What a walk meets; incomplete where the walk itself notices that rows repeat. */
    list(walk: number, mood: 'lies' | 'honest'): { shown: number[]; complete: boolean } {
      const kind =
        mood === 'honest' ? 'honest' : (kinds[Math.floor(roll(seed, walk >> 1, 'kind') * kinds.length)] ?? 'honest');
      const shown = ids.filter((id, index) => {
        if (gone.has(id) || (neverListed.has(id) && mood === 'lies') || kind === 'empty') return false;
        if (kind === 'halved') return index % 2 === 0;
        if (kind === 'page missing') return Math.floor(index / 10) !== (walk >> 2) % 3;
        if (kind === 'flickering') return roll(seed, walk >> 2, id, 'flickers') > 0.08;
        return kind !== 'drifted' || roll(seed, walk, id, 'drift') > 0.1;
      });
      return { shown, complete: kind !== 'drifted' };
    },
  };
}

function seen(product_id: number): ProductEntry {
  return {
    product_id, title: null, tagline: null, sale_status: 'enabled', disabled_reason: null, expected_reopening: null,
    from_price: null, city_id: null, city_name: null, country_id: null, country_name: null, venue_id: null,
    latitude: null, longitude: null, timezone: null, rating: null, tag_ids: [], images: null, document: '{}',
  }; // biome-ignore format: one row
}

interface Outcome {
  wrong: number;
  right: number;
  returned: number;
  left: number;
  holds: number;
}

/** Lives in one world with the real rules over a real mirror; each walk happens when the mirror says that it is due. */
function live({ mirror }: TestMirror, writer: Database.Database, seed: number): Outcome {
  const service = lyingService(seed);
  let at = instant(begin);
  const outcome: Outcome = { wrong: 0, right: 0, returned: 0, left: 0, holds: 0 };
  let drawn = 0;
  const sync = testSync({
    mirror,
    policy,
    clock: { now: () => at } as never,
    log: testLog('silent').log,
    chance: () => {
      drawn += 1;
      return roll(seed, drawn, 'chance');
    },
    budget: () => startBudget(10, begin),
  });
  const isHeld = () => ![undefined, 'ended'].includes(mirror.evidence.hold('products')?.state);
  /** Has the chores look at the hold while hours pass, and its samples be read. */
  const looks = (walk: number) => {
    for (let looked = 0; looked < 12; looked += 1) {
      sync.evidence.look();
      at = instant(at + 30 * 60_000);
      for (const { product_id } of mirror.catalogue.removals.absent()) answer(product_id, walk);
    }
  };
  for (const table of [
    '_absence',
    '_held',
    '_claim',
    '_record',
    '_walk',
    '_walk_page',
    '_product_read',
    '_product_text',
    '_text_read',
    'price',
    '_price_read',
    '_change',
  ])
    writer.exec(`DELETE FROM ${table}`);
  writer.exec('DELETE FROM _product');
  const withdrawn = new Set<number>();
  const meet = (id: number) => {
    const read = { language: 'en', currency: 'EUR', sent_at: at, now: at, stale_at: instant(at + week) } as const;
    const primaryEdition = { language: 'en', currency: 'EUR' };
    return mirror.catalogue.products.store(seen(id), {
      ...read,
      source: 'list',
      primary: primaryEdition,
      reason: 'requested',
    });
  };
  mirror.transaction(() => {
    mirror.schedule.records.createWalk(primary);
    for (const id of service.ids) meet(id);
    mirror.schedule.records.create([{ ...detail, due_at: 1 }], service.ids);
    for (const product_id of service.ids) mirror.schedule.records.setDue({ ...detail, product_id }, later(at));
    for (let walk = 0; walk < 24; walk += 1) {
      const mood = walk < 14 ? 'lies' : 'honest';
      at = instant(
        Math.max(at + 1000, walk === 0 ? at + week : (mirror.schedule.records.find(walkRecord)?.due_at ?? 0)),
      );
      if (mood === 'lies') service.live(walk);
      // Now and then the read of a product that the list shows is refused for no reason.
      for (const id of service.ids)
        if (
          mood === 'lies' &&
          mirror.catalogue.removals.one({ product_id: id }) === null &&
          !withdrawn.has(id) &&
          roll(seed, walk, id, 'glitch') < 0.02
        )
          noteGone(sync, id, { answer: 'gone', reason: 'cadence-elapsed' });
      at = instant(at + 1000);
      const { shown, complete } = service.list(walk, mood);
      const state = mirror.schedule.walks.begin(primary, at, 1);
      for (const id of shown) if (meet(id).outcome === 'returned') outcome.returned += 1;
      mirror.schedule.walks.turn(primary, state, { ids: shown, counted: null, unusable: 0, unusable_example: null });
      mirror.schedule.walks.end({ ...primary, completed_at: complete ? at : null });
      mirror.schedule.records.setDue(walkRecord, { at: instant(at + week), reason: 'cadence-elapsed' });
      const before = isHeld();
      if (complete) judgeAbsence(sync, { edition: primary.edition, started_at: at });
      if (!before && isHeld()) outcome.holds += 1;
      at = instant(at + 60_000);
      for (const { product_id } of mirror.catalogue.removals.absent()) answer(product_id, walk);
      looks(walk);
      count();
    }
  });

  /** What was asked for is read; one in five reads fails, and says nothing. */
  function answer(product_id: number, walk: number): void {
    const record = mirror.schedule.records.find({ ...detail, product_id });
    const asked = record?.due_reason === 'missing-from-list' || record?.due_reason === 'claimed';
    if (record === null || !asked || record.due_at > at) return;
    mirror.schedule.records.setDue(record, later(at));
    if (roll(seed, walk, product_id, 'fails') < 0.2) return;
    const refused = service.permanently(product_id) ? 'permanently-gone' : 'gone';
    if (!service.gone.has(product_id)) noteThere(sync, product_id);
    else noteGone(sync, product_id, { answer: refused, reason: record.due_reason });
  }

  function count(): void {
    const visible = new Set(mirror.catalogue.products.ids());
    for (const id of service.ids) {
      const now = !visible.has(id);
      if (now && !withdrawn.has(id)) outcome[service.gone.has(id) ? 'right' : 'wrong'] += 1;
      if (now) withdrawn.add(id);
      else withdrawn.delete(id);
    }
  }

  outcome.left = [...service.gone].filter((id) => !withdrawn.has(id)).length;
  return outcome;
}

function later(at: number) {
  return { at: instant(at + 52 * week), reason: 'cadence-elapsed' as const };
}

/** Rules without a guard, in the same worlds: a product goes after so many complete lists without it. */
function liveUnguarded(seed: number, lists: number): number {
  const service = lyingService(seed);
  const missing = new Map<number, number>();
  let wrong = 0;
  for (let walk = 0; walk < 14; walk += 1) {
    service.live(walk);
    const { shown, complete } = service.list(walk, 'lies');
    if (!complete) continue;
    for (const id of service.ids) missing.set(id, shown.includes(id) ? 0 : (missing.get(id) ?? 0) + 1);
    wrong += service.ids.filter((id) => missing.get(id) === lists && !service.gone.has(id)).length;
  }
  return wrong;
}

it(`in ${worlds} worlds whose lists come back empty, halved, drifted or short, nothing is withdrawn wrongly, and what is gone goes`, () => {
  using test = testMirror();
  const writer = otherWriter(test.path);
  writer.pragma('synchronous = OFF');
  const sum: Outcome = { wrong: 0, right: 0, returned: 0, left: 0, holds: 0 };
  const control = { one: 0, three: 0 };
  for (let seed = 0; seed < worlds; seed += 1) {
    const found = live(test, writer, seed);
    for (const key of Object.keys(sum) as (keyof Outcome)[]) sum[key] += found[key];
    control.one += liveUnguarded(seed, 1);
    control.three += liveUnguarded(seed, 3);
  }
  writer.close();
  process.stdout.write(
    `${worlds} worlds: ${sum.wrong} wrong removals, ${sum.right} right ones, ${sum.returned} returns, ${sum.holds} holds, ${sum.left} still doubted; ` +
      `without a guard: ${control.one} wrong after one list, ${control.three} after three\n`,
  );
  expect(sum.wrong).toBe(0);
  expect(sum.right).toBeGreaterThan(worlds * 5);
  expect(sum.returned).toBeGreaterThan(0.8 * worlds);
  expect(sum.left / (sum.right + sum.left)).toBeLessThan(0.05);
  expect(Math.min(control.one, control.three)).toBeGreaterThan(worlds);
});
