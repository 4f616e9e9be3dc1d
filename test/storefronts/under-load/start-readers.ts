import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { addDays } from '../../../src/kernel/time/venue.ts';
import type { ReadingJob, ReadingResult } from './read-hard.ts';

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** Collects its garbage and compiles by itself: else it sleeps while helper threads do, which would count as waiting for SQLite. */
const node = [process.execPath, '--single-threaded'];

/** The four storefronts: each its own process, three languages, one of them with `catalogued/reader`. */
const languages = {
  php: ['php', file('reader.php')],
  python: ['python3', file('reader.py')],
  'node, better-sqlite3': [...node, file('bare-reader.ts')],
  'node, catalogued/reader': [...node, file('client-reader.ts')],
} as const;

export type Language = keyof typeof languages;
export const allLanguages = Object.keys(languages) as Language[];

/** Dates of a product that one answer of the service filled. */
export interface Window {
  readonly product_id: number;
  readonly from: string;
  readonly days: number;
}

export type Results = ReadonlyMap<Language, ReadingResult>;

/** Readers at work on one mirror. */
export interface Readers {
  /** How many reads they have made together by now, and the one that has made fewest. */
  reads(): { all: number; fewest: number };
  /** Ends when they have made so many more together, each at least one; while nobody else keeps the processor. */
  more(reads: number): Promise<void>;
  stop(): Promise<Results>;
}

const sql = {
  product: "SELECT title, from_price - 100000 FROM products WHERE product_id = ? AND language = 'en'",
  slots: `SELECT availability, max_tickets, retail_price - 1000 FROM availability_slots
    WHERE product_id = ? AND currency = 'EUR' AND date BETWEEN ? AND ?`,
  calendar: `SELECT CAST(julianday(date) - 2440587.5 AS INTEGER), state, lowest_price - 1000, max_tickets, availability
    FROM availability_days WHERE product_id = ? AND currency = 'EUR' AND date BETWEEN ? AND ?`,
};

/** Reads two statements as one state, or as nobody should: each for itself. */
const brackets = {
  transaction: { begin: 'BEGIN', commit: 'COMMIT', again: 'ROLLBACK' },
  none: { begin: 'SELECT 1', commit: 'SELECT 1', again: 'SELECT 1' },
};

export interface ReadersOptions {
  readonly which?: readonly Language[];
  readonly around?: keyof typeof brackets;
  readonly turns?: ReadingJob['turns'];
}

/** Starts readers and returns when each of them reads. */
export async function startReaders(
  path: string,
  windows: readonly Window[],
  { which = allLanguages, around = 'transaction', turns }: ReadersOptions = {},
): Promise<Readers> {
  const stop = `${path}.stop`;
  rmSync(stop, { force: true });
  const job: ReadingJob = {
    path,
    stop,
    sql,
    questions: windows.map(({ product_id, from, days }) => [product_id, from, addDays(from, days - 1), days]),
    few: Object.fromEntries(windows.map(({ from }) => [from, addDays(from, 4)])),
    turns: turns ?? ['slots', 'product', 'slots', 'calendar', 'slots', 'product', 'slots', 'window'],
    ...brackets[around],
  };
  const jobFile = join(`${path}.job`);
  writeFileSync(jobFile, JSON.stringify(job));
  const counts = new Map(which.map((language) => [language, 0]));
  const ended = which.map(async (language): Promise<[Language, ReadingResult]> => {
    const [command = '', ...args] = languages[language];
    const child = spawn(command, [...args, jobFile], { stdio: ['ignore', 'pipe', 'inherit'] });
    let last = '';
    let rest = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      last = lines.at(-1) ?? last;
      if (/^\d+$/.test(last)) counts.set(language, Number(last));
    }
    if (!last.startsWith('{')) throw new Error(`the reader in ${language} ended after: ${last}`);
    return [language, JSON.parse(last) as ReadingResult];
  });
  const all = Promise.all(ended);
  all.catch(() => undefined);
  const reads = () => {
    const each = [...counts.values()];
    return { all: each.reduce((sum, count) => sum + count, 0), fewest: Math.min(...each) };
  };
  const until = async (done: () => boolean) => {
    const over = all.then(() => {
      throw new Error('the readers ended before they were told to');
    });
    over.catch(() => undefined);
    while (!done()) await Promise.race([setTimeout(5), over]);
  };
  await until(() => reads().fewest > 0);
  return {
    reads,
    more: async (more) => {
      const goal = reads().all + more;
      await until(() => reads().all >= goal);
    },
    stop: async () => {
      writeFileSync(stop, '');
      return new Map(await all);
    },
  };
}
