import type { Database } from 'better-sqlite3';
import { expect, it } from 'vitest';
import { thorough } from '../fakes/thorough.ts';
import { subjects } from './events.ts';
import { differingSeeds, pinnedPlan, pinnedRows, pinnedSeeds, pinOf, unpinnedEvents } from './pinned.ts';
import type { Setting } from './plan.ts';

/** Each third in the strict run, else each 25th: `npm run worlds -- pinned` has all. */
const seeds = Array.from({ length: pinnedSeeds }, (_, index) => index + 1).filter(
  (seed) => seed % (thorough ? 3 : 25) === 1,
);
const rowsOf = new Map<number, string>();

it('readers are shown in each small world what they were shown when it was pinned', async () => {
  const found = new Map<number, string>();
  for (const seed of seeds) {
    rowsOf.set(seed, await pinnedRows(seed));
    found.set(seed, pinOf(rowsOf.get(seed) ?? ''));
  }
  expect(differingSeeds(found)).toEqual([]);
});

it('a world in which one cell differs is named (control)', async () => {
  const forge = (reader: Database) =>
    reader.exec(
      'DROP VIEW mirror_info; CREATE TEMP VIEW mirror_info AS SELECT feed_floor_seq, filled_at + 1 AS filled_at, published_at FROM main.mirror_info',
    );
  const [one = 0, other = 0] = seeds;
  const found = new Map([
    [one, pinOf(await pinnedRows(one, { forge }))],
    [other, pinOf(rowsOf.get(other) ?? '')],
  ]);
  expect(differingSeeds(found)).toEqual([one]);
});

it('a slow network changes nothing of what readers are shown', async () => {
  const [seed = 0] = seeds;
  expect(await pinnedRows(seed, { lag: 7 })).toBe(rowsOf.get(seed));
});

it('the pinned worlds have every kind of event that is theirs, restarts, both schedules and every horizon', () => {
  const plans = Array.from({ length: pinnedSeeds }, (_, index) => pinnedPlan(index + 1));
  const drawn = new Set(plans.flatMap((plan) => plan.events.map(({ what }) => what)));
  expect(new Set(subjects.flat()).difference(drawn)).toEqual(new Set(unpinnedEvents));
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
