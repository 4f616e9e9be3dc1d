import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { policyOf } from '../../src/daemon/policy.ts';
import { instant } from '../../src/kernel/clock.ts';
import type { Mirror } from '../../src/mirror/mirror.ts';
import { addDemand, noDemand, pricesAround } from '../../src/schedule/call-price.rules.ts';
import { lanes } from '../../src/schedule/lanes.rules.ts';
import { replanRest } from '../../src/schedule/replan-products.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { testSync } from '../fakes/test-sync.ts';
import { type Line, median } from './measure.ts';

/* Choosing what is due, of few records and of two million: those of 500,000 products. */

const now = instant(Date.parse('2026-11-21T12:00:00Z'));

/** A mirror whose schedule holds so many availability records, a fifth of them due, at rates and prices of their own. */
function scheduled(records: number) {
  const test = testMirror();
  const db = new Database(test.path);
  db.pragma('synchronous = OFF');
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${records / 4})
    INSERT INTO _product (product_id, sale_status, first_seen_at) SELECT i, 'enabled', 0 FROM n;
    INSERT INTO _product_read (product_id, read_at) SELECT product_id, 0 FROM _product;
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${records - 1})
    INSERT INTO _record (resource, product_id, edition, part, due_at, due_reason, lane, fetched_at, shape, exposure)
      SELECT 'availability', 1 + i / 4, 'EUR', i % 4, ${now} + (i * 7919 % 1000 - 200) * 21600, 'likely-changed',
        CASE i % 4 WHEN 0 THEN ${lanes.indexOf('near')} ELSE ${lanes.indexOf('far')} END, ${now - 3_600_000}, 0.5 + i % 7, 1e8 + i % 1000 * 1e5
      FROM n;`);
  db.close();
  return test;
}

/** Microseconds for choosing the next hundred, the median of many. */
function choosing(mirror: Mirror): { choose: number; reschedule: number } {
  const { records: schedule } = mirror.schedule;
  const times = { choose: [] as number[], reschedule: [] as number[] };
  for (let round = 0; round < 200; round += 1) {
    const start = performance.now();
    const due = schedule.due(now, 'near', 100);
    times.choose.push(performance.now() - start);
    if (due.length !== 100) throw new Error(`${due.length} of 100 records are due`);
    const planned = performance.now();
    mirror.transaction(() => {
      for (const record of due) schedule.setDue(record, { at: now, reason: 'likely-changed' });
    });
    times.reschedule.push(performance.now() - planned);
  }
  return { choose: 1000 * median(times.choose), reschedule: 1000 * median(times.reschedule) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** The longest stall of the event loop, in milliseconds, while something is done. */
async function longestStall(work: () => Promise<void>): Promise<number> {
  await turn();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  await turn();
  delay.disable();
  return delay.max / 1e6;
}

/** Chooses and prices records in slices. */
async function price({ schedule: { records: schedule } }: Mirror): Promise<void> {
  let cursor = null as Parameters<typeof schedule.adaptiveAfter>[0];
  let demand = noDemand(pricesAround(1e6));
  for (let slice = 0; slice < 1000; slice += 1) {
    const priced = schedule.adaptiveAfter(cursor, 100);
    cursor = priced.at(-1) ?? null;
    demand = addDemand(
      demand,
      priced.map(({ shape, exposure }) => ({
        volatility: { shape: shape ?? 1, exposure: exposure ?? 1 },
        weight: 1,
        cap: 2e7,
        floor: 9e5,
      })),
    );
    await turn();
    for (const lane of lanes) schedule.due(now, lane, 50);
    await turn();
  }
}

/** For so long they are planned again: all of them would take minutes, and each turn is like the others. */
const replanningMs = 15_000;

/** Plans them again by another cadence, and asks whether all were read. */
async function replan(mirror: Mirror): Promise<void> {
  const policy = policyOf(testConfig('/nowhere', 'http://127.0.0.1:1').config, () => true);
  mirror.transaction(() => mirror.schedule.targets.write(policy, policy.daysPerRequest));
  await replanRest(testSync({ mirror, policy }), AbortSignal.timeout(replanningMs));
  // Those that its products lacked are made on the way, and nobody has read them.
  if (!mirror.schedule.records.isAnyUnread()) throw new Error('no record was made');
}

export async function schedulingLines(): Promise<Line[]> {
  using small = scheduled(10_000);
  using large = scheduled(2_000_000);
  const few = choosing(small.mirror);
  const many = choosing(large.mirror);
  const stall = await longestStall(() => price(large.mirror));
  const replanning = await longestStall(() => replan(large.mirror));
  return [
    {
      what: 'choosing the next 100 of 2,000,000 records, beside of 10,000',
      value: `${many.choose.toFixed(0)} µs / ${few.choose.toFixed(0)} µs = ${(many.choose / few.choose).toFixed(2)} ×`,
      target: '< 3 ×',
      met: many.choose / few.choose < 3,
    },
    {
      what: 'choosing and planning them again, in one durable transaction',
      value: `${(many.choose + many.reschedule).toFixed(0)} µs / ${(few.choose + few.reschedule).toFixed(0)} µs = ${((many.choose + many.reschedule) / (few.choose + few.reschedule)).toFixed(2)} ×`,
      target: '< 3 ×',
      met: many.choose + many.reschedule < 3 * (few.choose + few.reschedule),
    },
    {
      what: 'longest stall of the event loop while 2,000,000 records are chosen from and priced',
      value: `${stall.toFixed(1)} ms`,
      target: '< 20 ms',
      met: stall < 20,
    },
    {
      what: 'longest stall while the 2,000,000 records of 500,000 products are planned again by another cadence',
      value: `${replanning.toFixed(1)} ms`,
      target: '< 50 ms',
      met: replanning < 50,
    },
  ];
}
