import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import type { DayForm } from '../../src/dates/availability.rules.ts';
import { formOf, slotsOf } from '../../src/dates/days.store.ts';
import { type Database, openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { venueInstants } from '../../src/kernel/time/venue-clock.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const offers = [
  [1, 10, 1800],
  [2, 4, 900, 700, 50, null, 1, { note: 'é "[0]"' }],
] as const;
const others = [[1, 10, 1900]] as const;

/** Dates of Amsterdam by what is special about them. */
const dates: readonly (readonly [what: string, date: string, form: DayForm])[] = [
  ['equal offers', '2027-06-01', [30, 'Europe/Amsterdam', [[540, 20, offers], [600, null, others], [660, 0, offers]]]],
  ['the whole day, a word and more members', '2027-06-02', [null, null, [[-1, 3, offers], ['by "arrangement"', 0, [], { a: 1 }]], { b: 2 }]],
  ['clocks that change between two times', '2027-03-28', [9, 'Europe/Amsterdam', [[90, 4, offers], [600, 5, offers], [-1, 5, others]]]],
  ['clocks that change before the first time', '2027-10-31', [9, 'Europe/Amsterdam', [[600, 4, offers], [630, 5, others]]]],
  ['no times', '2027-06-03', [0, 'Europe/Amsterdam', []]],
]; // biome-ignore format: a table

/** As version 1.0.0 stored slots. */
function slotsOfOld([, , slots]: DayForm, begins: (minute: number) => number): string {
  const text = (time: number | string) =>
    typeof time === 'string' ? time : time < 0 ? 'whole_day' : new Date(time * 60_000).toISOString().slice(11, 16);
  const end = (time: number | string) => begins(typeof time === 'number' && time >= 0 ? time : 1440);
  return JSON.stringify(slots.map(([time, ...slot]) => [text(time), end(time), ...slot]));
}

/** Makes a mirror of version 1.0.0 without views. */
function openOld(directory: string): Database {
  const steps = join(directory, 'steps/');
  cpSync(mirrorFile.migrations, steps, { recursive: true });
  rmSync(join(steps, '0002-1.1.0.sql'));
  const { views: _views, triggers: _triggers, ...tables } = mirrorFile;
  return openForWriting(join(directory, 'mirror.db'), { ...tables, migrations: pathToFileURL(steps) });
}

const insertion = 'INSERT INTO slot_day (product_id, currency, date, rest, slots) VALUES (?, ?, ?, ?, ?)';

it('the step of 1.1.0 stores each date as this version does', () => {
  using directory = temporaryDirectory();
  const old = openOld(directory.path);
  const insert = old.prepare(insertion);
  for (const [, date, form] of dates) {
    const begins = venueInstants('Europe/Amsterdam', date);
    insert.run(1, 'EUR', date, slotsOf(form, begins).rest, slotsOfOld(form, begins));
  }
  old.close();
  const db = openForWriting(join(directory.path, 'mirror.db'), mirrorFile);
  const stored = db.prepare('SELECT zero_at, ends, rest, slots FROM slot_day ORDER BY date').all();
  db.close();
  const inOrder = dates.toSorted(([, one], [, other]) => (one < other ? -1 : 1));
  expect(stored).toEqual(inOrder.map(([, date, form]) => slotsOf(form, venueInstants('Europe/Amsterdam', date))));
});

it('the step of 1.1.0 leaves a file of many dates about as large as it was', () => {
  using directory = temporaryDirectory();
  const old = openOld(directory.path);
  const [, date, form] = dates[0] as (typeof dates)[number];
  const begins = venueInstants('Europe/Amsterdam', date);
  const insert = old.prepare(insertion);
  old.transaction(() => {
    for (let id = 1; id <= 20_000; id += 1)
      insert.run(id, 'EUR', date, slotsOf(form, begins).rest, slotsOfOld(form, begins));
  })();
  const pagesOf = (db: Database) => Number(db.pragma('page_count', { simple: true }));
  const before = pagesOf(old);
  old.close();
  const db = openForWriting(join(directory.path, 'mirror.db'), mirrorFile);
  expect(db.prepare('SELECT count(*) FROM slot_day').pluck().get()).toBe(20_000);
  expect(pagesOf(db)).toBeLessThan(1.1 * before);
  db.close();
});

it.each(dates)('a date with %s is read as it was stored', (_, date, form) => {
  const stored = slotsOf(form, venueInstants('Europe/Amsterdam', date));
  expect(formOf(stored)).toEqual(form);
});

it('only where clocks change between two times of a date does it keep the instant of each', () => {
  const kept = dates.filter(([, date, form]) => slotsOf(form, venueInstants('Europe/Amsterdam', date)).ends !== null);
  expect(kept.map(([what]) => what)).toEqual(['clocks that change between two times']);
});
