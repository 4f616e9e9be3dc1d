import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { CataloguedError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { openToGroup, replaceContents } from '../../kernel/sqlite/copied-file.ts';
import { removeTemporaries, temporaryName } from '../../kernel/sqlite/published-copy.ts';
import { sync } from '../../kernel/sqlite/sync.ts';
import { beginFollowing, FollowedFile } from './followed-file.ts';
import { type RowSource, SourceAway } from './source.ts';

export interface FollowOptions {
  readonly source: RowSource;
  readonly path: string;
  /** Milliseconds between two requests to the daemon. */
  readonly every: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Distinguishes two processes that begin the same file. */
  readonly own: number;
  /** True: an independent mirror at the path is replaced, and its data beyond the daemon's is lost. */
  readonly replaces?: boolean;
  /** Called whenever the file is a whole state of the daemon's mirror. */
  readonly caughtUp?: () => void;
}

/** Rows asked for at a time: a page takes the daemon's loop a few milliseconds. */
const pageRows = 300;
/** While nothing changes, the copy's age is noted this often: each time is a write. */
const noteMs = 5000;
/** The longest wait before a daemon that is away is asked again. */
const longestMs = 15_000;

/**
 * Keeps a file equal to a daemon's mirror until the signal is aborted; readers see whole states only. A daemon that is away
 * is asked again: the file stays, and says how old it is. Anything but a followed copy at the path is refused (78).
 */
export async function follow(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { path, every, clock, log } = options;
  let file = existsSync(path) ? openStanding(options) : null;
  let away = 0;
  try {
    while (!signal.aborted) {
      try {
        if (file === null || !(await caughtUp(file, options.source, signal))) {
          file?.[Symbol.dispose]();
          file = null;
          await begin(options, signal);
          file = new FollowedFile(path);
        }
        options.caughtUp?.();
        if (away > 0) log.info({ tries: away }, 'the daemon is back');
        away = 0;
        await clock.sleep(every, signal);
      } catch (error) {
        file?.giveUp();
        if (signal.aborted) return;
        if (!(error instanceof SourceAway)) throw error;
        if (away === 0) log.warn({ reason: error.message }, 'the daemon is away: the copy stays as it is');
        away += 1;
        await clock.sleep(Math.min(every * 2 ** Math.min(away, 10), longestMs), signal).catch(() => undefined);
      }
    }
  } finally {
    file?.[Symbol.dispose]();
  }
}

function openStanding({ path, log, replaces = false }: FollowOptions): FollowedFile | null {
  try {
    return new FollowedFile(path);
  } catch (error) {
    if (error instanceof CataloguedError && error.code === 'development-file') {
      log.warn({ path }, 'the copy is of a development version: a new one takes its place, and nothing is lost');
      return null;
    }
    if (replaces && error instanceof CataloguedError && error.code === 'no-followed-copy') return null;
    throw error;
  }
}

/** Makes the copy, or replaces it with a new one while others read it. */
async function begin({ source, path, clock, log, own }: FollowOptions, signal: AbortSignal): Promise<void> {
  removeTemporaries(path);
  const temporary = temporaryName(path, own);
  const began = clock.monotonic();
  const first = !existsSync(path);
  try {
    beginFollowing(temporary, await source.copy(temporary, signal));
    if (first) publish(temporary, path);
    else await replaceContents(path, temporary);
  } finally {
    removeTemporaries(path);
  }
  const ms = Math.round(clock.monotonic() - began);
  log.info({ path, ms }, first ? 'a first copy stands' : 'a new copy took the place of one that had missed too much');
}

/** The file gets its name when it is whole and durable. */
function publish(temporary: string, path: string): void {
  openToGroup(temporary);
  sync(temporary);
  renameSync(temporary, path);
  sync(dirname(path));
}

/** Reads page after page until a state is whole; false: the copy has to start again. */
async function caughtUp(file: FollowedFile, source: RowSource, signal: AbortSignal): Promise<boolean> {
  const { origin, number, published_at, schema_version } = file.standing();
  let at = { origin, after: number };
  for (;;) {
    const page = await source.after({ ...at, limit: pageRows }, signal);
    if (page === 'begun-anew' || page.schema_version !== schema_version) {
      file.giveUp();
      return false;
    }
    const same = page.origin === origin && page.number === number;
    if (page.whole && same && page.published_at < published_at + noteMs) return true;
    if (!file.put(page)) return false;
    if (page.whole) return true;
    at = { origin: page.origin, after: page.number };
  }
}
