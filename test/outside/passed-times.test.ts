import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { startProgram } from '../fakes/run-cli.ts';
import type { Shown } from '../oracle/shown.ts';
import { Stage } from './stage.ts';

const hour = 3_600_000;

it(
  'a time that has begun at the venue is sold in no view, by the clock of who reads, while no daemon runs',
  needs('faketime', 'sqlite3'),
  async () => {
    await using stage = await Stage.open({ service: ['--products', '12'] });
    await stage.filled();
    await stage.ended();
    const ids = await stage.service.products();
    const shown = await Promise.all(ids.map((id) => stage.service.shown(id)));
    // Half past a minute: no time begins while it is read.
    const start = Math.floor(Date.now() / 60_000) * 60_000 + 30_000;
    let gone = 0;
    for (const hours of [0, 6, 13, 20, 36]) {
      const now = start + hours * hour;
      const last = new Date(now + 48 * hour).toISOString().slice(0, 10);
      const left = soldAt(shown, now, last);
      const [slots, days] = await Promise.all([
        shownAt(stage, now, `SELECT DISTINCT product_id, date, time FROM availability_slots WHERE date <= '${last}'`),
        shownAt(stage, now, `SELECT product_id, date FROM bookable_days WHERE date <= '${last}'`),
      ]);
      expect(slots, `times after ${hours} hours`).toEqual(left);
      expect(days, `days after ${hours} hours`).toEqual(
        [...new Set(left.map((each) => each.split('|').slice(0, 2).join('|')))].sort(),
      );
      gone += soldAt(shown, start - 48 * hour, last).length - left.length;
    }
    // Times did pass (control).
    expect(gone).toBeGreaterThan(20);
  },
);

/** Times up to a date that the service sells and that have not begun at an instant, as `703295|2026-11-28|09:30`. */
function soldAt(shown: readonly Shown[], now: number, last: string): string[] {
  return shown
    .flatMap(({ product_id, timezone, days }) =>
      days
        .filter(({ date }) => date <= last)
        .flatMap(({ date, slots }) =>
          slots
            .filter(({ time }) => now < endOf(date, time, timezone))
            .map(({ time }) => `${product_id}|${date}|${time}`),
        ),
    )
    .sort();
}

/** When a time begins, or its date ends where it lasts the whole day; where the zone is unknown, everywhere on earth. */
function endOf(date: string, time: string, timezone: string | null): number {
  const isTime = /^\d\d:\d\d$/.test(time);
  const day = Temporal.PlainDate.from(date).add({ days: isTime ? 0 : 1 });
  const at = day.toPlainDateTime(isTime ? time : '00:00');
  return at.toZonedDateTime(timezone ?? '-12:00', { disambiguation: 'later' }).epochMilliseconds;
}

/** Reads the file with the sqlite3 shell at an instant. */
async function shownAt(stage: Stage, now: number, sql: string): Promise<string[]> {
  const at = new Date(now).toISOString().slice(0, 19).replace('T', ' ');
  const shell = ['faketime', at, 'sqlite3', '-readonly', stage.mirror, sql];
  const { code, stdout, stderr } = await startProgram(shell, { env: { ...process.env, TZ: 'UTC' } }).ended;
  if (code !== 0) throw new Error(stderr);
  return stdout.split('\n').filter(Boolean).sort();
}
