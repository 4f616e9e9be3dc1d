import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { faultOf, isDamage, sqliteCode } from '../kernel/sqlite/fault.ts';
import { wasOurs } from '../kernel/sqlite/file.ts';

/** The change feed no longer reaches back to the cursor: take what the views show now, then go on from `next`. */
export class CursorTooOld extends CataloguedError {
  override readonly name = 'CursorTooOld';
  /** The newest change there is. */
  readonly next: number;
  constructor(after: number, floor: number, next: number) {
    super('cursor-too-old', `changes after ${after} are no longer kept: the feed begins after ${floor}`, {
      exitCode: exitCodes.data,
      hint: `start again from what the views show now, then ask for changes after ${next}`,
    });
    this.next = next;
  }
}

/** No change with this number has been written: the cursor belongs to another mirror, or the file is older than it was. */
export class CursorFromTheFuture extends CataloguedError {
  override readonly name = 'CursorFromTheFuture';
  /** The newest change there is. */
  readonly next: number;
  constructor(after: number, next: number) {
    super('cursor-from-the-future', `there is no change ${after} yet: the newest is ${next}`, {
      exitCode: exitCodes.data,
      hint: `check that the cursor came from this mirror, or start again from what the views show now and ask for changes after ${next}`,
    });
    this.next = next;
  }
}

/** The cursor is of another feed: the mirror was filled again, restored or repaired, and numbers mean other changes. */
export class FeedChanged extends CataloguedError {
  override readonly name = 'FeedChanged';
  /** The feed that there is now. */
  readonly feed: string;
  /** Its newest change. */
  readonly next: number;
  constructor(asked: string, feed: string, next: number) {
    super(
      'feed-changed',
      `the feed ${asked.slice(0, 60)} has ended: the mirror was filled again, restored or repaired`,
      {
        exitCode: exitCodes.data,
        hint: `start again from what the views show now, then ask for changes after ${next} of feed ${feed}`,
      },
    );
    this.feed = feed;
    this.next = next;
  }
}

/** An argument that no answer could be right for. */
export function badArgument(message: string, hint: string): CataloguedError {
  return new CataloguedError('bad-argument', message, { exitCode: exitCodes.usage, hint });
}

export function noMirror(path: string): CataloguedError {
  return new CataloguedError('no-mirror', `there is no mirror at ${path}`, {
    exitCode: exitCodes.data,
    hint: 'start the daemon (catalogued run), or open the path that its configuration has as mirror.path',
  });
}

export function foreignFile(path: string): CataloguedError {
  return new CataloguedError('foreign-file', `${path} is a database, but not a mirror of catalogued`, {
    exitCode: exitCodes.data,
    hint: 'give the path in mirror.path of the daemon',
  });
}

/** Returns the error for a view or column that the file's contract (`there`) lacks; `ours` is this reader's contract. */
export function otherContract(path: string, what: string, there: number, ours: number): CataloguedError {
  const older = there < ours;
  return new CataloguedError(
    older ? 'older-contract' : 'newer-contract',
    `the mirror at ${path} has no ${what}: its contract is ${there}, this reader's ${ours}`,
    {
      exitCode: exitCodes.data,
      hint: older
        ? 'start the new version of the daemon once: it upgrades the file'
        : 'install the version of catalogued/reader that belongs to the daemon',
    },
  );
}

/** Returns what SQLite says of a file that cannot be read, in words that help; any other error as it is. */
export function unreadable(path: string, error: unknown): unknown {
  const fault = faultOf(error);
  const code = sqliteCode(error);
  const said = error instanceof Error ? error.message : String(error);
  if (fault === 'not-a-database' && !wasOurs(path)) {
    return new CataloguedError('foreign-file', `${path} is not a database`, {
      exitCode: exitCodes.data,
      hint: 'give the path in mirror.path of the daemon',
      cause: error,
    });
  }
  if (isDamage(error)) {
    return new CataloguedError('damaged', `${path} is damaged: ${said}`, {
      exitCode: exitCodes.data,
      hint: 'stop the daemon, and: catalogued repair; a published snapshot can be read meanwhile',
      cause: error,
    });
  }
  if (fault === 'no-access') {
    return new CataloguedError('unreadable', `cannot read ${path}: ${said} (${code})`, {
      exitCode: exitCodes.permission,
      hint: 'the user needs to read the file, and beside it -wal and -shm, which the daemon makes when it starts: catalogued doctor --reader tells what is wrong',
      cause: error,
    });
  }
  if (fault === 'io' || fault === 'sync' || fault === 'disk-full') {
    return new CataloguedError('unreadable', `cannot read ${path}: ${said} (${code})`, {
      exitCode: exitCodes.io,
      hint: 'check that it is a file, and that the disk is healthy: catalogued doctor --reader checks both',
      cause: error,
    });
  }
  if (fault === 'locked' || fault === 'contended') {
    return new CataloguedError('busy', `${path} is being opened or recovered by another process: ${said} (${code})`, {
      exitCode: exitCodes.retryLater,
      hint: 'ask again',
      cause: error,
    });
  }
  return error;
}
