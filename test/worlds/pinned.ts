import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { number } from '../../src/kernel/format.ts';
import { pick, roll, sequence } from '../../src/sandbox/random.ts';
import { generateCatalogue, places } from '../../src/sandbox/world/catalogue.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import type { PlantedZone } from '../fakes/zone-files.ts';
import { liveBefore } from './driver.ts';
import { type EventName, rare, subjects } from './events.ts';
import { type Plan, plain, quirksOf, type Setting } from './plan.ts';
import { startWorkers } from './workers.ts';

/*
 * Small worlds of seeds, and everything that a reader is shown in them: all rows of all views of the contract, the change
 * feed among them. A hash of each stands in test/outside/worlds.json, so that a change of the inside that changes a cell
 * for anybody is named by its seeds.
 */

export const pinnedSeeds = 300;

const day = 86_400_000;

/** Beginnings, in UTC: no place of the sandbox has midnight soon after one, and before two of them clocks are set. */
const starts = ['2026-11-21T12:30:00Z', '2026-03-20T12:30:00Z', '2026-10-16T12:30:00Z'].map((text) => Date.parse(text));

/**
 * Rules of every zone of the sandbox: no release of anybody's changes a hash. The service asks the runtime for the date
 * of today, and nothing more.
 */
const clocks: Readonly<Record<string, string>> = {
  'Europe/London': 'GMT0BST,M3.5.0/1,M10.5.0',
  'Europe/Lisbon': 'GMT0BST,M3.5.0/1,M10.5.0',
  'Europe/Dublin': 'GMT0BST,M3.5.0/1,M10.5.0',
  'America/New_York': 'EST5EDT,M3.2.0,M11.1.0',
  'America/Toronto': 'EST5EDT,M3.2.0,M11.1.0',
  'America/Los_Angeles': 'PST8PDT,M3.2.0,M11.1.0',
  'Asia/Dubai': '<+04>-4',
  'Australia/Sydney': 'AEST-10AEDT,M10.1.0,M4.1.0/3',
  'Asia/Tokyo': 'JST-9',
  'Asia/Bangkok': '<+07>-7',
  'Asia/Singapore': '<+08>-8',
  'Pacific/Honolulu': 'HST10',
  'Atlantic/Reykjavik': 'GMT0',
  'Europe/Istanbul': '<+03>-3',
  'America/Mexico_City': 'CST6',
  'America/Sao_Paulo': '<-03>3',
  'Asia/Kathmandu': '<+0545>-5:45',
  'Pacific/Auckland': 'NZST-12NZDT,M9.5.0,M4.1.0/3',
  'Australia/Lord_Howe': '<+1030>-10:30<+11>-11,M10.1.0,M4.1.0',
  'Pacific/Kiritimati': '<+14>-14',
  'Pacific/Pago_Pago': 'SST11',
  'Pacific/Chatham': '<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45',
};
const middleEurope = 'CET-1CEST,M3.5.0,M10.5.0/3';
const zones: Readonly<Record<string, PlantedZone>> = Object.fromEntries(
  places.flatMap(({ zone }) =>
    zone === null ? [] : [[zone, { first: 0, changes: [], footer: clocks[zone] ?? middleEurope }]],
  ),
);

/**
 * Events after which a world depends on what no promise is about: at which step a process was killed, and how often
 * a file was tried. Readers and followers look by themselves.
 */
export const unpinnedEvents: readonly EventName[] = [
  'killed',
  'mirror deleted',
  'mirror locked',
  'disk full',
  'rotate and be killed',
  'read',
  'follow',
];

/** Draws a plan of some hours. Half of all kinds of events are left out of each seed. */
export function pinnedPlan(seed: number): Plan {
  const chance = sequence(seed + 490_000);
  const among = <Item>(...items: readonly Item[]) => pick(items, chance());
  // A title of a megabyte costs more than all the rest.
  const { escapes: _, ...quirks } = quirksOf(seed, among(0, 0.2, 0.4));
  const lean = chance() < 0.6;
  const products = lean ? 3 + Math.floor(chance() ** 3 * 10) : 3;
  const setting: Setting = {
    ...plain,
    products,
    // Times and options of dates, of few products and dates.
    lean,
    horizon: lean ? among(8, 8, 14, 33) : 8,
    excluded:
      chance() < 0.15
        ? generateCatalogue(seed, products)
            .slice(0, 1)
            .map(({ id }) => id)
        : [],
    days: (2 + Math.floor(chance() * 6)) / 24,
    scheduling: among('adaptive', 'fixed'),
    every_hours: among(3, 4, 6, 12),
    step_minutes: among(20, 30),
    hold_minutes: among(1, 5, 15),
    batch: among('what is ripe', 'one product'),
    gone: among(404, 410),
    share: among(0, 0, 0.25),
    languages: among(['en'], ['en'], ['en', 'it'], ['de', 'en', 'fr']),
    currencies: among(['EUR'], ['EUR'], ['EUR', 'USD'], ['GBP', 'EUR']),
    notified: chance() < 0.7,
    quirks,
  };
  const kinds = subjects
    .flat()
    .filter((kind) => !unpinnedEvents.includes(kind) && (setting.notified || kind !== 'rotate'))
    .filter((kind) => roll(seed, kind, 'kind') < (rare.has(kind) ? 0.1 : 0.5));
  const seconds = setting.days * 86_400;
  const events = Array.from({ length: 2 + Math.floor(chance() * 5) }, (_, index) => ({
    at: Math.floor(chance() * seconds),
    what: pick(kinds, chance()),
    draw: Math.floor(roll(seed, index, 'draw') * 2 ** 31),
  }));
  return { seed, setting, events: events.sort((one, other) => one.at - other.at) };
}

export interface PinnedOptions {
  /** How slow the network is, in turns of the event loop, which may change nothing. */
  readonly lag?: number;
  /** Puts other temporary views in the way of the reader before it looks for the last time: a control. */
  readonly forge?: (reader: Database) => void;
}

/** Lives through the world of a seed, and returns its rows: those of two of its instants, and of three days later. */
export async function pinnedRows(seed: number, { lag = 0, forge }: PinnedOptions = {}): Promise<string> {
  const plan = pinnedPlan(seed);
  const { setting, events } = plan;
  const middle = Math.ceil(events.length / 2);
  using looks = new BatchReads();
  await liveBefore(
    ({ harness: { clock, daemon } }, after) => {
      const { path } = daemon.mirror;
      if (after === middle) looks.add(path, clock.now(), `after ${events.slice(0, middle).map(({ what }) => what)}`);
      if (after !== 'everything') return;
      looks.add(path, clock.now(), `after ${events.slice(middle).map(({ what }) => what)}`);
      looks.add(path, clock.now() + 3 * day, 'three days later, without another read', forge);
    },
    plan,
    { lag, start: pick(starts, roll(seed, 'start')), zones, chance: 'even' },
  );
  return [JSON.stringify(setting), ...looks.lines, ''].join('\n');
}

interface Contract {
  readonly views: Readonly<Record<string, { readonly columns: Readonly<Record<string, unknown>> }>>;
}

const contract = JSON.parse(readFileSync(join(import.meta.dirname, '../../schema/contract.json'), 'utf8')) as Contract;

/** Columns that a release or a random number decides. */
const unpinned: Readonly<Record<string, readonly string[]>> = {
  mirror_info: ['feed_id', 'contract_version', 'schema_version', 'written_by'],
  // The order of the feed is that of its lines. Within an instant nobody promises one.
  changes: ['seq'],
  // Prose, which is the same in all of them.
  policies: ['reason'],
};

const views = Object.entries(contract.views).map(([view, { columns }]) => {
  const names = Object.keys(columns).filter((column) => !unpinned[view]?.includes(column));
  return { view, columns: names.sort().join() };
});

/** What a reader is shown, look by look. */
class BatchReads implements Disposable {
  readonly lines: string[] = [];
  #open: ReturnType<typeof openMirrorWithClock> | null = null;

  /** Adds a line for each row of each view, as a reader sees them at an instant. */
  add(path: string, at: number, when: string, forge: (reader: Database) => void = () => {}): void {
    this.#open ??= openMirrorWithClock(path);
    this.#open.set(at);
    const { db } = this.#open;
    forge(db);
    this.lines.push(`### ${new Date(at).toISOString()}, ${when}`);
    for (const { view, columns } of views) {
      const rows = db.prepare(`SELECT ${columns} FROM ${view}${view === 'changes' ? ' ORDER BY seq' : ''}`).all();
      const lines = view === 'changes' ? feedOf(rows) : rows.map((row) => JSON.stringify(row)).sort();
      this.lines.push(`# ${view}`, ...lines);
    }
  }

  [Symbol.dispose](): void {
    this.#open?.db.close();
  }
}

/** Returns lines in the order of the feed. Those of one instant that follow each other are sorted. */
function feedOf(rows: readonly unknown[]): string[] {
  const instants: string[][] = [];
  let last: unknown = null;
  for (const row of rows) {
    const { at } = row as { readonly at: number };
    if (at !== last) instants.push([]);
    instants.at(-1)?.push(JSON.stringify(row));
    last = at;
  }
  return instants.flatMap((lines) => lines.sort());
}

export const pinOf = (rows: string) => hash('sha256', rows).slice(0, 12);

const manifest = join(import.meta.dirname, '../outside/worlds.json');
const pinsInLine = 10;

/** Returns the pinned hashes by seed: the manifest has ten in a line, under the seed of the first. */
function readPins(): ReadonlyMap<number, string> {
  const lines = JSON.parse(readFileSync(manifest, 'utf8')) as Readonly<Record<string, string>>;
  return new Map(
    Object.entries(lines).flatMap(([first, pins]) =>
      pins.split(' ').map((pin, index) => [Number(first) + index, pin] as const),
    ),
  );
}

function writePins(pins: ReadonlyMap<number, string>): void {
  const lines: Record<number, string> = {};
  for (let first = 1; first <= pinnedSeeds; first += pinsInLine)
    lines[first] = Array.from({ length: pinsInLine }, (_, index) => pins.get(first + index)).join(' ');
  writeFileSync(manifest, `${JSON.stringify(lines, null, 2)}\n`);
}

/** Returns the seeds whose hash is not the pinned one. */
export function differingSeeds(found: ReadonlyMap<number, string>): number[] {
  const pins = readPins();
  return [...found.keys()].filter((seed) => pins.get(seed) !== found.get(seed)).sort((one, other) => one - other);
}

/** Options of the command line. */
export interface PinnedAsked {
  readonly seed?: number;
  readonly rows?: string;
  readonly write?: true;
  readonly workers?: number;
}

/** Compares the worlds with their pinned hashes, or pins them. Returns the exit status. */
export async function pinnedWorlds(asked: PinnedAsked, say: (line: string) => void): Promise<number> {
  const { seed, rows: file, write, workers: count = availableParallelism() } = asked;
  const seeds = seed === undefined ? Array.from({ length: pinnedSeeds }, (_, index) => index + 1) : [seed];
  const began = performance.now();
  using workers = startWorkers(Math.min(count, seeds.length));
  const found = new Map<number, string>();
  await Promise.all(
    seeds.map(async (each) => {
      const rows = await workers.rows(each).catch((error: Error) => {
        say(error.message);
        return null;
      });
      found.set(each, rows === null ? 'none' : pinOf(rows));
      if (file !== undefined && rows !== null) writeFileSync(file, rows);
    }),
  );
  const took = `${number(found.size)} worlds in ${((performance.now() - began) / 1000).toFixed(0)} s`;
  if (file !== undefined) say(`the rows of seed ${seed} are in ${file}`);
  if (write && found.values().every((pin) => pin !== 'none')) {
    writePins(found);
    say(`${took}: pinned`);
    return 0;
  }
  const differing = write ? [...found].flatMap(([each, pin]) => (pin === 'none' ? [each] : [])) : differingSeeds(found);
  say(`${took}, ${differing.length} differ${differing.length === 0 ? '' : `: ${differing.join(', ')}`}`);
  return differing.length === 0 ? 0 : 1;
}
