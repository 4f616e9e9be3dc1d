import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import type { Cursor } from '../feed/change-cursor.rules.ts';
import { ChangeFeed, changeJson, type FeedChange } from '../feed/changes.store.ts';
import { systemClock } from '../kernel/clock.ts';
import { printable, secondText } from '../kernel/format.ts';
import { fileAt } from '../kernel/sqlite/file.ts';
import { readsOf } from '../kernel/sqlite/statements.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

/** The number of changes read at a time, so that neither a long feed nor a slow terminal uses much memory. */
const atOnce = 500;
const usualLimit = 100;
const lookEveryMs = 250;

interface Options {
  readonly after?: number;
  readonly feed?: string;
  readonly limit?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

export function changesCommand(io: Io): Command {
  return new Command('changes')
    .description(
      'Prints the change feed, in order and without gaps. Reads the file, so no daemon is needed. Exit 65: the cursor is older than retention.changes keeps; read the views again.',
    )
    .option(
      '--after <seq>',
      'print only changes after this one (default: all that are kept; with --follow: from now on)',
      whole,
    )
    .option(
      '--feed <id>',
      'the feed the cursor belongs to (mirror_info.feed_id): exit 65 if the mirror has begun another feed',
    )
    .option(
      '--limit <count>',
      `print at most this many changes (default: ${usualLimit}; with --follow: no limit)`,
      whole,
    )
    .option('--follow', 'keep printing changes as they happen, until stopped')
    .option('--json', 'print one line of JSON per change; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued changes --limit 20\n  catalogued changes --after 1204 --follow\n  catalogued changes --follow --json | jq -c "select(.kind == \\"date_sold_out\\")"',
    )
    .action(async (options: Options, command: Command) => {
      const { config } = configurationFor(io, command);
      const print = options.json ? printJson(io) : printRows(io);
      if (options.follow) {
        io.runsUntilStopped();
        await follow(config.mirror.path, options, print, io.signal);
      } else await list(config.mirror.path, options, print, io.signal);
    });
}

type Print = (changes: readonly FeedChange[]) => Promise<void>;

async function list(path: string, { after, feed, limit = usualLimit }: Options, print: Print, signal: AbortSignal) {
  using mirror = openFeed(path);
  await printAfter(mirror.feed, cursorOf(mirror.feed, after ?? mirror.feed.bounds().floor, feed), limit, print, signal);
}

/** Prints changes as they are committed. Polls a number in memory, not a query; reopens a file that was replaced. */
async function follow(
  path: string,
  { after, feed, limit = Number.POSITIVE_INFINITY }: Options,
  print: Print,
  signal: AbortSignal,
) {
  let mirror = openFeed(path);
  try {
    // Another file at the path may be another feed, where the cursor would mean other changes.
    let cursor = cursorOf(mirror.feed, after ?? mirror.feed.bounds().newest, feed);
    let left = limit;
    for (let seen: number | null = null; left > 0; ) {
      const version = mirror.version();
      if (version !== seen) {
        const printed = await printAfter(mirror.feed, cursor, left, print, signal);
        cursor = { ...cursor, after: printed.next };
        left -= printed.count;
        seen = version;
      }
      if (left <= 0) return;
      await systemClock.sleep(lookEveryMs, signal);
      if (mirror.replaced()) {
        const replacement = openFeed(path);
        mirror[Symbol.dispose]();
        mirror = replacement;
        seen = null;
      }
    }
  } finally {
    mirror[Symbol.dispose]();
  }
}

function cursorOf(feed: ChangeFeed, after: number, asked: string | undefined): Cursor {
  return { after, feed: asked ?? feed.bounds().feed };
}

async function printAfter(feed: ChangeFeed, cursor: Cursor, limit: number, print: Print, signal: AbortSignal) {
  let next = cursor.after;
  let count = 0;
  while (count < limit) {
    const page = feed.after(next, Math.min(atOnce, limit - count), cursor.feed);
    if (page.changes.length === 0) break;
    await print(page.changes);
    signal.throwIfAborted();
    next = page.next;
    count += page.changes.length;
  }
  return { next, count };
}

interface OpenFeed extends Disposable {
  readonly feed: ChangeFeed;
  /** Returns a number that changes with each commit of another connection. */
  version(): number;
  /** Returns whether another file is at the path now: a newer snapshot, or a restored mirror. */
  replaced(): boolean;
}

function openFeed(path: string): OpenFeed {
  // Read before opening: a file replaced in between is opened twice rather than missed.
  const opened = fileAt(path);
  const db = openMirrorForReading(path);
  return {
    feed: new ChangeFeed(readsOf(db)),
    version: () => Number(db.pragma('data_version', { simple: true })),
    replaced: () => {
      const now = fileAt(path);
      return now !== null && now !== opened;
    },
    [Symbol.dispose]: () => {
      db.close();
    },
  };
}

function printJson(io: Io): Print {
  return (changes) => write(io, changes.map((change) => `${changeJson(change)}\n`).join(''));
}

function printRows(io: Io): Print {
  let headed = false;
  return async (changes) => {
    const rows = changes.map(({ seq, at, product_id, kind, date, language, detail }) =>
      row(String(seq), secondText(at), String(product_id), kind, date ?? language ?? '-', printable(detail)),
    );
    await write(
      io,
      `${[...(headed ? [] : [row('seq', 'found', 'product', 'kind', 'of', 'what')]), ...rows].join('\n')}\n`,
    );
    headed = true;
  };
}

/** Pads each cell to a fixed width, so that rows printed an hour later still line up with the headings. */
function row(seq: string, at: string, product: string, kind: string, of: string, what: string): string {
  return `${seq.padStart(9)}  ${at.padEnd(20)}  ${product.padStart(9)}  ${kind.padEnd(20)}  ${of.padEnd(10)}  ${what}`;
}

async function write({ stdout, signal }: Io, text: string): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain', { signal }).catch(() => signal.throwIfAborted());
}

function whole(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('expected a whole number.');
  return Number(value);
}
