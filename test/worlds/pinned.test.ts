import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { thorough } from '../fakes/thorough.ts';
import { subjects } from './events.ts';
import { differingSeeds, pinnedPlan, pinnedRows, pinnedSeeds, pinOf, unpinnedEvents } from './pinned.ts';
import type { Setting } from './plan.ts';

/** Each 25th: the strict run has all. */
const seeds = Array.from({ length: pinnedSeeds }, (_, index) => index + 1).filter(
  (seed) => thorough || seed % 25 === 7,
);
const rowsOf = new Map<number, string>();

it('readers are shown in each small world what they were shown when it was pinned', needs('time'), async () => {
  const found = new Map<number, string>();
  for (const seed of seeds) {
    rowsOf.set(seed, await pinnedRows(seed));
    found.set(seed, pinOf(rowsOf.get(seed) ?? ''));
  }
  expect(differingSeeds(found)).toEqual([]);
});

it('a world in which one cell differs is named (control)', needs('time'), async () => {
  const spoilt = (mirror: string) => {
    const db = new Database(mirror);
    db.exec(
      'UPDATE _product SET rating_count = rating_count + 1 WHERE product_id = (SELECT min(product_id) FROM _product)',
    );
    db.close();
  };
  const [one = 0, other = 0] = seeds;
  const found = new Map([
    [one, pinOf(await pinnedRows(one, { spoilt }))],
    [other, pinOf(rowsOf.get(other) ?? '')],
  ]);
  expect(differingSeeds(found)).toEqual([one]);
});

it('a slow network changes nothing of what readers are shown', needs('time'), async () => {
  const [seed = 0] = seeds;
  expect(await pinnedRows(seed, { lag: 7 })).toBe(rowsOf.get(seed));
});

it('the pinned worlds have every kind of event that is theirs, restarts, both schedules and every horizon', () => {
  const plans = Array.from({ length: pinnedSeeds }, (_, index) => pinnedPlan(index + 1));
  const drawn = new Set(plans.flatMap((plan) => plan.events.map(({ what }) => what)));
  expect(subjects.flat().filter((kind) => !drawn.has(kind))).toEqual(unpinnedEvents);
  const settings = plans.map(({ setting }) => setting);
  const valuesOf = (key: keyof Setting) => new Set(settings.map((setting) => JSON.stringify(setting[key]))).size;
  const keys = [
    'scheduling',
    'horizon',
    'languages',
    'currencies',
    'notified',
    'lean',
    'batch',
    'gone',
    'share',
  ] as const;
  for (const key of keys) expect(valuesOf(key), key).toBeGreaterThan(1);
  expect(new Set(settings.map(({ products }) => products))).toEqual(new Set([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
});
