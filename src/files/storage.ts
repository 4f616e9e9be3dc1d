import type { Clock } from '../clock.ts';
import type { FileSystemSpace } from '../domain/files/disk-space.ts';
import type { WriteTrouble } from '../domain/files/write-trouble.ts';
import type { Logger } from '../log.ts';
import { writeTroubleOf } from '../sqlite/fault.ts';
import { watchSpace } from './space-watch.ts';
import type { FileName, StorageStatus } from './storage-status.ts';
import { type CurrentTrouble, TroubleWatch } from './trouble-watch.ts';
import { writeRefusal } from './write-refusal.ts';

/**
 * Runs writes that can wait until a full disk or another program's lock has passed. Disposing abandons waiting writes.
 */
export interface Storage extends AsyncDisposable {
  /**
   * Called when the start is done: from then on no write blocks the event loop for a lock. Before it `keepTrying`
   * throws the errors of its work.
   */
  serve(): void;
  /**
   * Runs work when the files can be written, and again after each trouble until it completes. The work itself must
   * determine what is left to do. Rejects with any other error. Resolves to null if the signal aborts first.
   */
  keepTrying<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | null>;
  /** Runs work for a waiting caller. Throws `disk-full` (74) at once, `locked` (75) after two seconds of attempts. */
  promptly<Result>(work: () => Result): Promise<Result>;
  /** Writes now or as soon as possible. Of several writes with one name only the last is made. */
  soon(name: string, write: () => void): void;
  /** Called with a write error from elsewhere. Ignores errors that do not pass by waiting. */
  noticed(error: unknown): void;
  /** Measures the free space, at most every 30 seconds while there is enough. */
  look(): void;
  /** True: there is too little space for bulk reads. */
  readonly isLow: boolean;
  status(): StorageStatus;
  /** Rejects with an error that a file does not survive: a failed fsync, or damage. */
  readonly broken: Promise<never>;
}

export interface StoragePorts {
  readonly mirror: StoredFile;
  readonly inbox: StoredFile;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the free space. Tests replace it to simulate a full disk. */
  readonly spaceOf?: ((directory: string) => FileSystemSpace) | undefined;
}

interface StoredFile {
  readonly path: string;
  touch(): void;
  waitForLocks(ms: number): void;
}

const promptlyMs = 2000;
const lockWaitMs = { closing: 1000 } as const;

export function createStorage({ mirror, inbox, clock, log, spaceOf }: StoragePorts): Storage {
  const files = { mirror, inbox } as const;
  const closing = new AbortController();
  const pending = new Map<string, () => void>();
  let serving = false;
  const space = watchSpace({ files, clock, log, spaceOf: spaceOf ?? null });
  const shown = () => status().trouble;
  const trouble = new TroubleWatch({
    files,
    space,
    clock,
    log,
    closing: closing.signal,
    shown,
    reopened: writePending,
  });
  const directories = () => space.directories(trouble.current === null ? 'usual' : 'closely');

  /**
   * Returns the kind of trouble that a write error belongs to, and begins that trouble. Null if it is another error, or
   * before `serve`.
   */
  function notice(error: unknown): WriteTrouble | null {
    const kind = writeTroubleOf(error);
    if (kind === null || !serving) return null;
    trouble.begin(kind);
    return kind;
  }

  function soon(name: string, write: () => void): void {
    if (trouble.isStopped) {
      pending.set(name, write);
      return;
    }
    try {
      write();
    } catch (error) {
      if (notice(error) === null) throw error;
      pending.set(name, write);
    }
  }

  function writePending(): void {
    for (const [name, write] of [...pending]) {
      pending.delete(name);
      soon(name, write);
      if (trouble.isStopped) return;
    }
  }

  async function keepTrying<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | null> {
    for (;;) {
      await trouble.opened(signal);
      if (signal.aborted || closing.signal.aborted) return null;
      try {
        return await work();
      } catch (error) {
        if (notice(error) === null) throw error;
      }
    }
  }

  const status = (): StorageStatus => {
    const found = directories();
    return { trouble: troubleOf(files, trouble.current, found), directories: found, low_since: space.lowSince() };
  };
  return {
    serve: () => {
      serving = true;
      for (const each of Object.values(files)) each.waitForLocks(0);
    },
    keepTrying,
    promptly: (work) => inTime(work, clock, notice),
    soon,
    noticed: notice,
    look: () => void directories(),
    get isLow() {
      return space.lowSince() !== null;
    },
    status,
    broken: trouble.broken,
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the files are being closed'));
      await trouble.ended();
      for (const each of Object.values(files)) each.waitForLocks(lockWaitMs.closing);
      writeLast(pending, log);
    },
  };
}

/** Runs work for a waiting caller: attempts it for two seconds if another program holds a lock. */
async function inTime<Result>(work: () => Result, clock: Clock, notice: (error: unknown) => void): Promise<Result> {
  const until = clock.monotonic() + promptlyMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      const kind = writeTroubleOf(error);
      if (kind === null) throw error;
      notice(error);
      if (kind === 'disk-full' || clock.monotonic() >= until) throw writeRefusal(error) ?? error;
      await clock.sleep(50);
    }
  }
}

function troubleOf(
  files: Readonly<Record<FileName, { readonly path: string }>>,
  trouble: CurrentTrouble | null,
  directories: StorageStatus['directories'],
): StorageStatus['trouble'] {
  if (trouble === null) return null;
  const { kind, file, since } = trouble;
  const short = directories.find(({ of }) => of === file);
  const missing = short === undefined ? 0 : short.low_below_bytes - short.free_bytes;
  const missing_bytes = kind === 'disk-full' && missing > 0 ? missing : null;
  return { kind, file, path: files[file].path, since, missing_bytes };
}

/** Tries each pending write once more. */
function writeLast(pending: ReadonlyMap<string, () => void>, log: Logger): void {
  for (const [name, write] of pending) {
    try {
      write();
    } catch (error) {
      log.warn({ what: name, err: error }, 'could not be written when the daemon stopped');
    }
  }
}
