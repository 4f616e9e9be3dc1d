import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runChores } from '../../src/cycle/chores.ts';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { refreshAvailability } from '../../src/dates/availability.ask.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import { addDays, datesBetween, venueToday, weekdayOf } from '../../src/kernel/time/venue.ts';
import { ReadLane } from '../../src/schedule/sync.ts';
import { decodeAvailability } from '../../src/service/decode-availability.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { noticedIn } from '../fakes/noticed.ts';
import { thorough } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;
const hour = 3_600_000;
const availability = { resources: ['availability'] as const, product_ids: [], from: null, to: null };

/** Dates that the mirror calls sold out, and the service sells. */
function falselySoldOut(harness: VirtualHarness): string[] {
  const { world } = harness.sandbox;
  const stored = harness.rows<{ product_id: number; date: string }>(
    "SELECT product_id, date FROM availability_days WHERE state = 'sold_out'",
  );
  return stored.flatMap(({ product_id, date }) => {
    const product = world.visible().find(({ id }) => id === product_id);
    return product !== undefined && world.days(product, date, date, 'EUR').length > 0 ? [`${product_id} ${date}`] : [];
  });
}

async function readAll(harness: VirtualHarness) {
  const job = requestResync(harness.daemon.sync, availability);
  await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: never }));
  await harness.drive(runChores(harness.daemon.sync, never));
  return harness.job(job.job_id);
}

const noticed = ({ daemon, clock }: VirtualHarness) => noticedIn(daemon.config.mirror.path, clock.now());

describe('a service that', () => {
  it.each(['ignored', 'shifted'] as const)(
    'has start_date and end_date %s turns no date into sold out, is named by a condition, and is true when it ends',
    async (dates) => {
      await using harness = await filledHarness({ products: 8 });
      await harness.live(3 * hour);
      harness.sandbox.setQuirks({ dates });
      const job = await readAll(harness);
      // Given up at once: nobody is kept waiting for answers that will be the same.
      expect(job).toMatchObject({ left: 0, failed: expect.toSatisfy((failed: number) => failed > 0) });
      expect(falselySoldOut(harness)).toEqual([]);
      expect(noticed(harness)).toEqual(['other-dates']);
      expect(harness.rows('SELECT DISTINCT resource FROM freshness WHERE met = 0')).toEqual([
        { resource: 'availability' },
      ]);
      harness.sandbox.setQuirks({ dates: 'honoured' });
      await harness.live(26 * hour);
      await harness.drive(runChores(harness.daemon.sync, never));
      expect(noticed(harness)).toEqual([]);
      expect((await harness.compare()).first).toEqual([]);
    },
  );

  it.each(['ignored', 'honoured'] as const)(
    'has dates %s has no dates sold out by one answer without any, which looks the same either way, and all by two',
    async (dates) => {
      await using harness = await virtualHarness({ lean: true, products: 3 });
      const [product] = harness.sandbox.world.visible();
      if (product === undefined) throw new Error('no product');
      const today = harness.clock.now();
      const dateIn = (days: number) => new Date(today + days * 24 * hour).toISOString().slice(0, 10);
      for (let days = -1; days <= 32; days += 1) product.sold_out.add(dateIn(days));
      await harness.fill();
      const far = () =>
        harness
          .rows<{ state: string }>(
            `SELECT state FROM availability_days WHERE product_id = ${product.id} AND date BETWEEN '${dateIn(40)}' AND '${dateIn(80)}'`,
          )
          .map(({ state }) => state);
      const before = far();
      expect(before).toContain('available');
      await harness.drive(harness.clock.sleep(hour));
      harness.sandbox.setQuirks({ dates });
      if (dates === 'honoured') for (let days = 33; days <= 99; days += 1) product.sold_out.add(dateIn(days));
      requestResync(harness.daemon.sync, { ...availability, product_ids: [product.id] });
      await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: never }));
      expect(far()).toEqual(before);
      expect(falselySoldOut(harness)).toEqual([]);
      await harness.live(3 * 60_000);
      expect(far()).toEqual(before.map(() => 'sold_out'));
    },
  );

  it('cuts answers after a week without saying so has no date sold out for it, and the log says what to set', async () => {
    await using harness = await virtualHarness({ products: 8, quirks: { date_cap: 'silent' } });
    await harness.fill();
    expect(falselySoldOut(harness)).toEqual([]);
    expect((await harness.compare()).first).toEqual([]);
    expect(harness.log.lines().filter(({ msg }) => String(msg).includes('cuts availability answers'))).toMatchObject([
      { days: 7 },
    ]);
  });

  it('answers for other dates of a product that is on sale again no longer withholds the dates that are known', async () => {
    await using harness = await filledHarness({ products: 8 });
    const [{ product_id } = { product_id: 0 }] = harness.rows<{ product_id: number }>(
      'SELECT product_id, count(*) AS days FROM bookable_days GROUP BY product_id ORDER BY days DESC LIMIT 1',
    );
    const bookable = () =>
      harness.rows<{ days: number }>(`SELECT count(*) AS days FROM bookable_days WHERE product_id = ${product_id}`)[0]
        ?.days ?? 0;
    const before = bookable();
    const body = '{"success":true,"sales_enabled":false,"dates":[],"variants":[],"groups":[]}';
    harness.sandbox.faults.add({ kind: 'status', status: 200, path: `/${product_id}/availability`, body });
    await readAll(harness);
    expect(bookable()).toBe(before);
    // Said twice, it is believed.
    await harness.live(3 * 60_000);
    expect(bookable()).toBe(0);
    harness.sandbox.faults.clear();
    harness.sandbox.setQuirks({ dates: 'shifted' });
    await harness.live(2 * hour);
    expect(harness.rows('SELECT 1 FROM freshness WHERE met = 0')).not.toEqual([]);
    expect(bookable()).toBeGreaterThan(before / 2);
    expect(falselySoldOut(harness)).toEqual([]);
  });

  it('answers a check for other dates is believed in nothing', async () => {
    await using harness = await filledHarness({ products: 4 });
    await using desk = new CheckDesk(harness.daemon);
    const [shown] = harness.rows<{ product_id: number; date: string }>(
      "SELECT product_id, date FROM bookable_days WHERE date > '2027-01-10' ORDER BY date LIMIT 1",
    );
    if (shown === undefined) throw new Error('no date');
    harness.sandbox.setQuirks({ dates: 'shifted' });
    expect(await harness.drive(desk.check(shown, never))).toMatchObject({
      verdict: 'unknown',
      reasons: ['other-dates'],
      now: null,
      mirror: { state: 'available' },
    });
  });
});

/** The last dates that a service answers for, whatever it was asked. */
type Service = (asked: { from: string; to: string }, today: string) => { from: string; to: string };
const services: Record<string, (k: number) => Service> = {
  honours: () => (asked) => asked,
  ignores: () => (_, today) => ({ from: today, to: addDays(today, 30) }),
  shifts:
    (k) =>
    ({ from, to }) => ({ from: addDays(from, 31 + k), to: addDays(to, 31 + k) }),
  'shifts back':
    (k) =>
    ({ from, to }) => ({ from: addDays(from, -31 - k), to: addDays(to, -31 - k) }),
  weeks:
    () =>
    ({ from, to }) => ({ from: addDays(from, -weekdayOf(from)), to: addDays(to, 6 - weekdayOf(to)) }),
  'keeps the first week of':
    () =>
    ({ from }) => ({ from, to: addDays(from, 6) }),
};

it('whatever a service makes of the dates, none that it sells is stored as sold out', async () => {
  // Each answer is stored: what two of them say of dates is not the matter here.
  await using harness = await filledHarness({ lean: true, products: 1 }, { held: { less: 'off' } });
  const { sync, mirror } = harness.daemon;
  const product_id = harness.sandbox.world.visible()[0]?.id ?? 0;
  const { earliest: today } = venueToday(
    mirror.catalogue.products.find(product_id)?.timezone ?? null,
    harness.clock.now(),
  );
  let runs = 0;
  /** What is wrong after one read of a window. */
  const wrongAfter = async (how: string, k: number, offsets: number[], part: number, twice: boolean) => {
    runs += 1;
    const service = services[how]?.(k) as Service;
    const sold = new Set(offsets.filter((offset) => offset >= 0).map((offset) => addDays(today, offset)));
    const answerFor = (from: string, to: string) => {
      const span = service({ from, to }, today);
      const dates = datesBetween(span.from, span.to).filter((date) => sold.has(date));
      return (twice ? dates.flatMap((date) => [date, date]) : dates).reverse();
    };
    const record = mirror.schedule.records
      .ofProduct(product_id)
      .find((each) => each.resource === 'availability' && each.part === part);
    if (record === undefined) throw new Error('no record');
    harness.clock.set(harness.clock.now() + 1000);
    const sent_at = harness.clock.now();
    const named: number[] = [];
    const availability = async (asked: { from: string; to: string; currency: string }) => {
      const dates = answerFor(asked.from, asked.to).map((date) => ({
        date,
        availability: 5,
        timeslots: [{ time: 'whole_day', availability: 5, variants: [{ id: 7, max_tickets: 5 }] }],
      }));
      named.push(dates.length);
      const value = decodeAvailability(
        { row: { sales_enabled: true, dates, variants: [] } },
        { ...asked, commission: false },
      );
      return { kind: 'read' as const, value, hash: `${runs}`, sent_at, bytes: 1 };
    };
    const upstream = { in: () => ({ availability }) } as never;
    const lane = new ReadLane({ ...sync, upstream }, 'near', async (work) => mirror.transaction(work));
    await refreshAvailability(lane, record, never);
    expect(named.length).toBeLessThanOrEqual(6);
    // An answer without a date looks the same whatever it was an answer to.
    fc.pre(!/ignores|shifts/.test(how) || named[0] !== 0);
    const db = openMirrorAt(mirror.path, harness.clock.now());
    const wrong = db
      .prepare<[number], { date: string }>(
        "SELECT date FROM availability_days WHERE state = 'sold_out' AND checked_at = ?",
      )
      .all(sent_at)
      .filter(({ date }) => sold.has(date));
    db.close();
    return wrong;
  };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('ignores', 'shifts', 'shifts back', 'weeks', 'honours'),
      fc.integer({ min: 0, max: 400 }),
      fc.uniqueArray(fc.integer({ min: -40, max: 540 }), { minLength: 0, maxLength: 400 }),
      fc.constantFrom(0, 1, 2),
      fc.boolean(),
      async (...drawn) => {
        expect(await wrongAfter(...drawn)).toEqual([]);
      },
    ),
    { numRuns: thorough ? 400 : 40 },
  );
  // A service that leaves dates out without a word cannot be told from one that has sold them: the harness sees it (control).
  const everyDay = Array.from({ length: 31 }, (_, offset) => offset);
  expect(await wrongAfter('keeps the first week of', 0, everyDay, 0, false)).not.toEqual([]);
});
