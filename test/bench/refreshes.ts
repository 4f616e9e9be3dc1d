import { join } from 'node:path';
import Database from 'better-sqlite3';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { walSizeOf } from '../../src/kernel/sqlite/database-file.ts';
import { type DaemonJobs, startJobs } from '../fakes/daemon-jobs.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, median, optionsOf } from './measure.ts';
import { asked, type Program, startProgramHere } from './stage.ts';

/*
 * What a read costs in the daemon (limiter, client, decoder, mirror, schedule: everything between a record that is due
 * and its commit), beside a program that only fetches, hashes and parses the same calls. They and the service are three
 * processes, and theirs is processor time. `npm run bench -- refreshes [--products 200] [--rounds 7]`
 */

const connections = 4;
/** Rows that a program which only inserts puts into a transaction: about those of three months of a product. */
const rowsTogether = 100;
const targets = {
  'first load': 0.45,
  'every date changed': 0.15,
  '1 % of the dates changed': 1.1,
  'only an instant in it changed': 1.5,
  unchanged: 2,
} as const;
type Kind = keyof typeof targets;

interface Round {
  /** Processor milliseconds of a call. */
  readonly daemon: number;
  readonly bare: number;
  readonly calls: number;
  /** Written to the WAL, and received of dates, in bytes. */
  readonly written: number;
  readonly received: number;
}

interface Others {
  readonly service: Program;
  readonly bare: Program;
}

export async function refreshLines(args: readonly string[]): Promise<Line[]> {
  const { products, rounds: repeated } = optionsOf('refreshes', args, { products: 200, rounds: 7 });
  using service = await startProgramHere<string>('replayed-service.ts', products);
  using bare = await startProgramHere('bare-client.ts', service.first, connections);
  const rounds: Readonly<Record<Kind, Round[]>> = {
    'first load': [],
    'every date changed': [],
    '1 % of the dates changed': [],
    'only an instant in it changed': [],
    unchanged: [],
  };
  let stored = 0;
  const inserts: { readonly alone: number; readonly daemon: number }[] = [];
  // The first round makes the service's answers, and the compiler's code.
  for (let round = 0; round <= repeated; round += 1) {
    using directory = temporaryDirectory();
    const config = testConfig(directory.path, service.first);
    await using daemon = await startJobs(testMachine({ log: testLog('warn').log }), config);
    const measure = async (kind: Kind) => {
      const found = await beside(daemon, { service, bare });
      if (round > 0) rounds[kind].push(found);
    };
    await measure('first load');
    stored = storedBytes(daemon);
    const first = rounds['first load'].at(-1);
    if (first !== undefined)
      inserts.push({
        alone: first.bare + insertedAlone(daemon.daemon.config.mirror.path) / first.calls,
        daemon: first.daemon,
      });
    requestDates(daemon);
    await measure('unchanged');
    await asked(service, 'change');
    requestDates(daemon);
    await measure('1 % of the dates changed');
    await asked(service, 'change all');
    requestDates(daemon);
    await measure('every date changed');
    // The first changes nothing, the second differs in nothing else, and the third leaves the instant out of each hash.
    for (const kind of [null, null, null, 'only an instant in it changed'] as const) {
      await asked(service, 'touch');
      requestDates(daemon);
      if (kind === null) await beside(daemon, { service, bare });
      else await measure(kind);
    }
  }
  const lines = Object.entries(rounds).map(([kind, found]) => lineOf(kind as Kind, found));
  return [...lines, insertLine(inserts), ...writtenLines(rounds), sizeLine(stored, rounds['first load'])];
}

/**
 * Returns the processor milliseconds of a program that inserts all rows of a mirror into an empty file of the same
 * tables and indexes, a product's dates in a transaction, and does nothing else.
 */
function insertedAlone(path: string): number {
  using directory = temporaryDirectory();
  const source = new Database(path, { readonly: true });
  const db = new Database(join(directory.path, 'alone.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  const tables = source
    .prepare<[], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  const indexes = source
    .prepare<[], string>("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    .pluck()
    .all();
  for (const { sql } of tables) db.exec(sql);
  for (const sql of indexes) db.exec(sql);
  let spent = 0;
  for (const { name } of tables) {
    // Generated columns are left out.
    const columns = source.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(name);
    const rows = source.prepare<[], unknown[]>(`SELECT ${columns.join()} FROM ${name}`).raw().all();
    const insert = db.prepare(`INSERT INTO ${name} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`);
    const put = db.transaction((some: unknown[][]) => {
      for (const row of some) insert.run(...row);
    });
    const before = process.cpuUsage();
    for (let at = 0; at < rows.length; at += rowsTogether) put(rows.slice(at, at + rowsTogether));
    const { user, system } = process.cpuUsage(before);
    spent += (user + system) / 1000;
  }
  source.close();
  db.close();
  return spent;
}

function insertLine(inserts: readonly { readonly alone: number; readonly daemon: number }[]): Line {
  const ratio = median(inserts.map(({ alone, daemon }) => alone / daemon));
  return {
    what: 'a read, first load: speed beside fetching, hashing, parsing and inserting the same rows (processor time)',
    value: `${median(inserts.map(({ daemon }) => daemon)).toFixed(2)} ms, alone ${median(inserts.map(({ alone }) => alone)).toFixed(2)} ms = ${ratio.toFixed(2)} ×`,
    target: '≥ 0.3 ×',
    met: ratio >= 0.3,
  };
}

function requestDates({ daemon }: DaemonJobs): void {
  requestResync(daemon.sync, { resources: ['availability'], product_ids: [], from: null, to: null });
}

/** The daemon reads what is due; then the bare program asks for the same. */
async function beside({ daemon }: DaemonJobs, { service, bare }: Others): Promise<Round> {
  await asked(service, 'calls');
  emptyWal(daemon.config.mirror.path);
  const before = process.cpuUsage();
  const signal = new AbortController().signal;
  const { failed } = await runSyncCycle(daemon.sync, connections, { job_id: null, signal });
  const { user, system } = process.cpuUsage(before);
  const received = await asked<number>(service, 'bytes');
  const calls = await asked<string[]>(service, 'calls');
  if (failed > 0 || calls.length === 0) throw new Error(`${failed} reads of ${calls.length} failed`);
  const alone = await asked<number>(bare, calls);
  return {
    daemon: (user + system) / 1000 / calls.length,
    bare: alone / calls.length,
    calls: calls.length,
    written: walSizeOf(daemon.config.mirror.path),
    received,
  };
}

function emptyWal(path: string): void {
  const db = new Database(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** What the dates take in the file, with their indexes. */
function storedBytes({ daemon }: DaemonJobs): number {
  const db = new Database(daemon.config.mirror.path, { readonly: true });
  const tables = [
    'date_window',
    'date_window_of_product',
    'day',
    'day_by_price',
    'slot_day',
    'sqlite_autoindex_slot_day_1',
  ];
  const text = `SELECT sum(pgsize) FROM dbstat WHERE name IN (${tables.map(() => '?').join()})`;
  const bytes = db
    .prepare<string[], number>(text)
    .pluck()
    .get(...tables);
  db.close();
  return bytes ?? Number.NaN;
}

function lineOf(kind: Kind, rounds: readonly Round[]): Line {
  const ratio = median(rounds.map(({ daemon, bare }) => bare / daemon));
  const [daemon = 0, bare = 0] = (['daemon', 'bare'] as const).map((side) =>
    median(rounds.map((round) => round[side])),
  );
  return {
    what: `a read, ${kind}: speed beside fetching, hashing and parsing alone (processor time)`,
    value: `${daemon.toFixed(2)} ms, alone ${bare.toFixed(2)} ms = ${ratio.toFixed(2)} ×`,
    target: `≥ ${targets[kind]} ×`,
    met: ratio >= targets[kind],
  };
}

const pageBytes = 4096;

function writtenLines(rounds: Readonly<Record<Kind, readonly Round[]>>): Line[] {
  const pages = median(rounds.unchanged.map(({ written, calls }) => written / pageBytes / calls));
  const share = median(rounds['1 % of the dates changed'].map(({ written, received }) => written / received));
  return [
    {
      what: 'pages written to the WAL for a read that is unchanged',
      value: pages.toFixed(2),
      target: '≤ 0.25',
      met: pages <= 0.25,
    },
    {
      what: 'bytes written to the WAL where 1 % of the dates changed, beside those of the answers',
      value: `${(100 * share).toFixed(1)} %`,
      target: '≤ 3 %',
      met: share <= 0.03,
    },
  ];
}

function sizeLine(stored: number, loads: readonly Round[]): Line {
  const received = median(loads.map((each) => each.received));
  return {
    what: 'the dates in the mirror, with their indexes, beside the JSON received',
    value: `${(stored / 2 ** 20).toFixed(1)} MiB / ${(received / 2 ** 20).toFixed(1)} MiB = ${(stored / received).toFixed(2)} ×`,
    target: '≤ 0.20 ×',
    met: stored <= 0.2 * received,
  };
}
