import Database from 'better-sqlite3';
import { walSizeOf } from '../../src/sqlite/database-file.ts';
import { runSyncCycle } from '../../src/sync/engine.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
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
const targets = {
  'first load': 0.45,
  '1 % of the dates changed': 1.1,
  'only an instant in it changed': 0.7,
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
    '1 % of the dates changed': [],
    'only an instant in it changed': [],
    unchanged: [],
  };
  let stored = 0;
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
    requestDates(daemon);
    await measure('unchanged');
    await asked(service, 'change');
    requestDates(daemon);
    await measure('1 % of the dates changed');
    await asked(service, 'touch');
    requestDates(daemon);
    await measure('only an instant in it changed');
  }
  const lines = Object.entries(rounds).map(([kind, found]) => lineOf(kind as Kind, found));
  return [...lines, ...writtenLines(rounds), sizeLine(stored, rounds['first load'])];
}

function requestDates({ daemon }: DaemonJobs): void {
  requestResync(daemon.ports, { resources: ['availability'], product_ids: [], from: null, to: null });
}

/** The daemon reads what is due; then the bare program asks for the same. */
async function beside({ daemon }: DaemonJobs, { service, bare }: Others): Promise<Round> {
  await asked(service, 'calls');
  emptyWal(daemon.mirror.path);
  const before = process.cpuUsage();
  const signal = new AbortController().signal;
  const { failed } = await runSyncCycle(daemon.ports, connections, { job_id: null, signal });
  const { user, system } = process.cpuUsage(before);
  const received = await asked<number>(service, 'bytes');
  const calls = await asked<string[]>(service, 'calls');
  if (failed > 0 || calls.length === 0) throw new Error(`${failed} reads of ${calls.length} failed`);
  const alone = await asked<number>(bare, calls);
  return {
    daemon: (user + system) / 1000 / calls.length,
    bare: alone / calls.length,
    calls: calls.length,
    written: walSizeOf(daemon.mirror.path),
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
  const db = new Database(daemon.mirror.path, { readonly: true });
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
      target: '≤ 1',
      met: pages <= 1,
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
