import { spawn } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { requestResync, resyncResources } from '../../../src/cycle/request-resync.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { addDays, venueToday } from '../../../src/kernel/time/venue.ts';
import { startJobs } from '../../fakes/daemon-jobs.ts';
import { nextVersion } from '../../fakes/next-version.ts';
import { numberAnswers } from '../../fakes/numbered-service.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { testConfig } from '../../fakes/test-config.ts';
import { testLog } from '../../fakes/test-log.ts';
import { testMachine } from '../../fakes/test-machine.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { makeNumberedMirror } from '../../mirror/numbered-mirror.ts';
import { type ReadersOptions, type Results, startReaders, type Window } from './start-readers.ts';

/*
 * What readers meet, and three bugs that they must see: half a window stored, two statements
 * that are not one read, and a writer that makes them wait.
 */

/** The dates that one availability answer covers: a request has at most 31 days. */
export const parts = [
  { first: 0, days: 31 },
  { first: 31, days: 31 },
  { first: 62, days: 30 },
];

/** The service in numbers, a filled mirror of it, and resyncs of everything. */
async function numberedHarness(products: number) {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ products, lean: true }));
  const now = systemClock.now();
  const numbered = numberAnswers(sandbox, now);
  const jobs = stack.use(await startJobs(testMachine({ log: testLog('warn').log }), testConfig(path, sandbox.url)));
  const { sync, mirror } = jobs.daemon;
  stack.use(jobs.daemon.schedule.start());
  stack.defer(jobs.stop);
  await jobs.run('pass');
  if (mirror.filledAt() === null) throw new Error('the mirror is not filled');
  const today = venueToday(numbered.zone, now).earliest;
  const windows = sandbox
    .products()
    .flatMap(({ id }) => parts.map(({ first, days }) => ({ product_id: id, from: addDays(today, first), days })));
  const closing = stack.move();
  return {
    path: mirror.path,
    windows,
    resync: async () => {
      const { job_id } = requestResync(sync, { resources: resyncResources, product_ids: [], from: null, to: null });
      do await jobs.run('pass');
      while (mirror.schedule.jobs.find({ job_id })?.finished_at === null);
    },
    answers: numbered.answers,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

export interface DuringResync {
  readonly results: Results;
  readonly resyncs: number;
  readonly answers: number;
}

/** Everything is read from the service again and again, always different, until the readers have made so many reads. */
export async function duringResync({ reads, products }: { reads: number; products: number }): Promise<DuringResync> {
  await using harness = await numberedHarness(products);
  const before = harness.answers();
  const readers = await startReaders(harness.path, harness.windows);
  let resyncs = 0;
  while (resyncs < 2 || readers.reads().all < reads) {
    await harness.resync();
    resyncs += 1;
  }
  return { results: await readers.stop(), resyncs, answers: harness.answers() - before };
}

export interface DuringMigration {
  readonly results: Results;
  /** How long the file was being brought up to date, and how many reads were made meanwhile. */
  readonly ms: number;
  readonly meanwhile: number;
  readonly rows: number;
}

/** A mirror is opened by the next version. */
export async function duringMigration({
  reads,
  products,
}: {
  reads: number;
  products: number;
}): Promise<DuringMigration> {
  using next = nextVersion();
  using directory = temporaryDirectory();
  const path = join(directory.path, 'mirror', 'mirror.db');
  const windows = makeNumberedMirror(path, products);
  const readers = await startReaders(path, windows);
  await readers.more(reads / 10);
  let before = 0;
  let meanwhile = 0;
  let ms = 0;
  const child = spawn(process.execPath, [fileURLToPath(new URL('migrate.ts', import.meta.url)), path, next.schema], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const text of child.stdout.setEncoding('utf8')) {
    if (/opens/.test(text)) before = readers.reads().all;
    const [, took] = /opened ([\d.]+)/.exec(text) ?? [];
    if (took === undefined) continue;
    ms = Number(took);
    meanwhile = readers.reads().all - before;
  }
  if (ms === 0) throw new Error('the mirror was not opened');
  const left = reads - readers.reads().all;
  await readers.more(Math.max(left, 1000));
  const results = await readers.stop();
  const db = new Database(path, { readonly: true });
  const rows = Number(db.prepare('SELECT count(*) FROM day').pluck().get());
  db.close();
  return { results, ms, meanwhile, rows };
}

/** A writer of the test's own that stores windows, whole or (a bug) in two transactions, until each has made so many reads. */
export async function besideWriter(
  stores: 'whole' | 'halves',
  { reads, ...options }: ReadersOptions & { reads: number },
): Promise<Results> {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'mirror', 'mirror.db');
  const windows = makeNumberedMirror(path, 4);
  const db = new Database(path);
  db.pragma('synchronous = OFF');
  const writer = windowWriter(db);
  const readers = await startReaders(path, windows, { turns: ['calendar', 'window'], ...options });
  const enough = readers.reads().fewest + reads;
  for (let state = 1; readers.reads().fewest < enough; state += 1) {
    for (const window of windows) {
      const middle = Math.floor(window.days / 2);
      if (stores === 'whole') writer(window, state, 0, window.days);
      else {
        writer(window, state, 0, middle);
        writer(window, state, middle, window.days);
      }
    }
    await setImmediate();
  }
  const results = await readers.stop();
  db.close();
  return results;
}

/** Stores the days of a window from one to another, in one transaction. */
function windowWriter(db: Database.Database) {
  const day = db.prepare(
    `UPDATE day SET state = CASE WHEN @available THEN 'available' ELSE 'sold_out' END, lowest_price = @price, max_tickets = @state, availability = @state
     WHERE product_id = @product_id AND date = @date`,
  );
  const put = db.prepare(
    `INSERT OR REPLACE INTO slot_day (product_id, currency, date, zero_at, rest, slots) VALUES (@product_id, 'EUR', @date, @zero_at, '[]', @slots)`,
  );
  const drop = db.prepare('DELETE FROM slot_day WHERE product_id = @product_id AND date = @date');
  return ({ product_id, from }: Window, number: number, first: number, end: number) =>
    db
      .transaction(() => {
        for (let index = first; index < end; index += 1) {
          const date = addDays(from, index);
          const available = (Date.parse(date) / 86_400_000 + number) % 5 === 0 ? 0 : 1;
          const state = available ? number : null;
          day.run({ product_id, date, available, state, price: available ? 1000 + number : null });
          const slots = JSON.stringify([[600, number, [[1, number, 1000 + number]]]]);
          if (available) put.run({ product_id, date, zero_at: Date.parse(date), slots });
          else drop.run({ product_id, date });
        }
      })
      .immediate();
}

/** Somebody holds the file, in a journal mode in which that makes readers wait, for so long. */
export async function besideBlocker(ms: number, options: ReadersOptions): Promise<Results> {
  using directory = temporaryDirectory();
  const [old, path] = [join(directory.path, 'old', 'mirror.db'), join(directory.path, 'mirror', 'mirror.db')];
  const windows = makeNumberedMirror(old, 4);
  mkdirSync(dirname(path));
  cpSync(old, path);
  const db = new Database(path);
  db.pragma('journal_mode = DELETE');
  const readers = await startReaders(path, windows, options);
  db.exec('BEGIN EXCLUSIVE');
  await systemClock.sleep(ms);
  db.exec('COMMIT');
  await readers.more(2000);
  const results = await readers.stop();
  db.close();
  return results;
}
