import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { type FileSystemSpace, isLow, lowBelow } from '../domain/files/disk-space.ts';
import { patience, troubleAlarmMs, type WriteTrouble } from '../domain/files/write-trouble.ts';
import type { Logger } from '../log.ts';
import { walSizeOf } from '../sqlite/database-file.ts';
import { writeTroubleOf } from '../sqlite/fault.ts';
import { writeRefusal } from './write-refusal.ts';

type FileName = 'mirror' | 'inbox';

/** Whether the two files can be written, and how much space they have. */
export interface StorageStatus {
  /** Why nothing can be written now; null: it can. */
  readonly trouble: {
    readonly kind: WriteTrouble;
    readonly file: FileName;
    readonly path: string;
    readonly since: number;
    /** Bytes that must become free before space is no longer low; null: no disk is full. */
    readonly missing_bytes: number | null;
  } | null;
  readonly directories: readonly {
    readonly of: FileName;
    readonly path: string;
    readonly free_bytes: number;
    /** Below this, bulk reads (lanes fill, weekly and far) pause. */
    readonly low_below_bytes: number;
    readonly low: 0 | 1;
  }[];
}

/** An alarm that only the running process knows: it cannot be stored, or ends with the process. */
export interface LiveAlarm {
  readonly kind: 'disk-full' | 'disk-low' | 'file-locked' | 'snapshot-failing';
  readonly raised_at: number;
  readonly products: 0;
}

/** Runs writes that can wait for a full disk or another program's lock to pass. Disposing gives up those that wait. */
export interface Storage extends AsyncDisposable {
  /**
   * Called when the start is done: from now on no write blocks the event loop for a lock. Before it `keepTrying` throws
   * what its work throws.
   */
  serve(): void;
  /**
   * Runs work when the files can be written, and again after each trouble until it completes; the work must find out
   * itself what is left. Rejects with any other error; resolves to null if the signal aborts first.
   */
  keepTrying<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | null>;
  /** Runs work for a waiting caller: tries for two seconds, then throws `disk-full` (74) or `locked` (75). */
  promptly<Result>(work: () => Result): Promise<Result>;
  /** Writes now or as soon as possible; of several writes with one name only the last. */
  soon(name: string, write: () => void): void;
  /** Called with a write error from elsewhere; ignores errors that do not pass by waiting. */
  noticed(error: unknown): void;
  /** Measures the free space, at most every 30 seconds while there is enough. */
  look(): void;
  /** Whether there is room for bulk reads. */
  readonly isLow: boolean;
  status(): StorageStatus;
  /** Returns the alarms about trouble that lasts a minute, and about low space. */
  alarms(): LiveAlarm[];
  /** Rejects with an error that a file does not survive: a failed fsync, or damage. */
  readonly broken: Promise<never>;
}

export interface StoragePorts {
  readonly mirror: StoredFile;
  readonly inbox: StoredFile;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the free space; tests replace it to simulate a full disk. */
  readonly spaceOf?: (directory: string) => FileSystemSpace;
}

interface StoredFile {
  readonly path: string;
  touch(): void;
  waitForLocks(ms: number): void;
}

interface Trouble {
  kind: WriteTrouble;
  file: FileName;
  readonly since: number;
  /** True: nothing is tried. False: it may be over, and is once it does not come back. */
  stopped: boolean;
  told: boolean;
}

const promptlyMs = 2000;
const lookEveryMs = 30_000;
/** How often the space of a full disk is measured. */
const askEveryMs = 1000;
/** By how much free space must grow for another try. */
const roomBytes = 1024 * 1024;
const lockWaitMs = { closing: 1000 } as const;

export function createStorage({ mirror, inbox, clock, log, spaceOf = fileSystemSpace }: StoragePorts): Storage {
  const files = { mirror, inbox } as const;
  const names: readonly FileName[] = ['mirror', 'inbox'];
  const closing = new AbortController();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  let serving = false;
  let trouble: Trouble | null = null;
  let open = Promise.withResolvers<void>();
  open.resolve();
  /** Resolves when trouble came again while it was thought to be over. */
  let again = Promise.withResolvers<void>();
  let recovering: Promise<void> = Promise.resolve();
  const pending = new Map<string, () => void>();
  const low: { since: number | null } = { since: null };
  let spaces: { at: number; directories: StorageStatus['directories'] } | null = null;

  /** Returns the first trouble that a write meets now; null: none. Throws errors that do not pass by waiting. */
  function probe(): { kind: WriteTrouble; file: FileName } | null {
    for (const file of names) {
      try {
        files[file].touch();
      } catch (error) {
        const kind = writeTroubleOf(error);
        if (kind === null) throw error;
        return { kind, file };
      }
    }
    return null;
  }

  /** Resolves when writes are tried again, or a signal is aborted. */
  async function opened(signal: AbortSignal): Promise<void> {
    if (!trouble?.stopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const signals = [signal, closing.signal];
    for (const each of signals) each.addEventListener('abort', () => resolve(), { once: true });
    if (signals.some(({ aborted }) => aborted)) resolve();
    await Promise.race([open.promise, promise]);
  }

  function begin(kind: WriteTrouble): void {
    if (trouble !== null) {
      trouble.kind = kind;
      if (trouble.stopped) return;
      trouble.stopped = true;
      open = Promise.withResolvers();
      again.resolve();
      return;
    }
    open = Promise.withResolvers();
    trouble = { kind, file: 'mirror', since: clock.now(), stopped: true, told: false };
    recovering = recover(trouble).catch((error: unknown) => {
      broken.reject(error);
    });
  }

  /** Tries less and less often until a write succeeds and its trouble does not come back. */
  async function recover(own: Trouble): Promise<void> {
    const found = probe();
    // A tiny write may succeed where real work has failed: then it is the file with the least room.
    const short = directories().find(({ low: is_low }) => is_low === 1)?.of ?? own.file;
    Object.assign(own, found ?? { file: own.kind === 'disk-full' ? short : own.file });
    let wait = patience[own.kind].first;
    for (;;) {
      await (own.kind === 'disk-full' ? room(wait) : clock.sleep(wait, closing.signal).catch(() => undefined));
      if (closing.signal.aborted) return;
      report(own);
      const still = probe();
      wait = Math.min(2 * wait, patience[own.kind].longest);
      if (still !== null) {
        if (still.kind !== own.kind) wait = patience[still.kind].first;
        Object.assign(own, still);
        continue;
      }
      if (await isOver(own)) break;
    }
    trouble = null;
    const fields = { file: own.file, trouble: own.kind, ms: clock.now() - own.since };
    if (own.told) log.info(fields, 'files are written again');
    else log.debug(fields, 'files are written again');
  }

  /** Lets all writes proceed; returns whether none met trouble for a while. */
  async function isOver(own: Trouble): Promise<boolean> {
    again = Promise.withResolvers();
    own.stopped = false;
    open.resolve();
    writePending();
    using quiet = clock.deadline(patience[own.kind].trial, closing.signal);
    const over = new Promise<void>((resolve) => {
      quiet.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([over, again.promise]);
    return !own.stopped;
  }

  /** Waits for free space to grow, and no longer than `ms`. */
  async function room(ms: number): Promise<void> {
    const until = clock.monotonic() + ms;
    const before = freeBytes();
    while (!closing.signal.aborted && clock.monotonic() < until) {
      await clock.sleep(Math.min(askEveryMs, until - clock.monotonic()), closing.signal).catch(() => undefined);
      if (freeBytes() >= before + roomBytes) return;
    }
  }

  function freeBytes(): number {
    return Math.min(...names.map((name) => spaceOf(dirname(files[name].path)).free_bytes));
  }

  /** Logs a trouble once, but not a lock that is released quickly. */
  function report(own: Trouble): void {
    if (own.told || (own.kind === 'locked' && clock.now() - own.since < 1000)) return;
    own.told = true;
    spaces = null;
    const { missing_bytes, path } = status().trouble ?? {};
    log.error(
      { file: own.file, path, trouble: own.kind, missing_bytes },
      own.kind === 'locked'
        ? 'another program holds the write lock: waiting for it'
        : 'the disk is full: waiting for room',
    );
  }

  function writePending(): void {
    for (const [name, write] of [...pending]) {
      pending.delete(name);
      soon(name, write);
      if (trouble?.stopped) return;
    }
  }

  function soon(name: string, write: () => void): void {
    if (trouble?.stopped) {
      pending.set(name, write);
      return;
    }
    try {
      write();
    } catch (error) {
      const kind = writeTroubleOf(error);
      if (kind === null || !serving) throw error;
      pending.set(name, write);
      begin(kind);
    }
  }

  function directories(): StorageStatus['directories'] {
    const at = clock.monotonic();
    const patient = trouble === null && low.since === null ? lookEveryMs : askEveryMs;
    if (spaces !== null && at - spaces.at < patient) return spaces.directories;
    const before = spaces?.directories;
    const found = names.map((of, index) => {
      const path = dirname(files[of].path);
      const space = spaceOf(path);
      const low_below_bytes = lowBelow(space, walSizeOf(files[of].path));
      const is_low = isLow(space, low_below_bytes, before?.[index]?.low === 1);
      return { of, path, free_bytes: space.free_bytes, low_below_bytes, low: is_low ? (1 as const) : (0 as const) };
    });
    spaces = { at, directories: found };
    const short = found.filter((each) => each.low === 1);
    if (short.length > 0 && low.since === null) {
      low.since = clock.now();
      log.error({ directories: short }, 'disk space is low: bulk reads pause');
    } else if (short.length === 0 && low.since !== null) {
      low.since = null;
      log.info({ directories: found }, 'there is enough disk space again: bulk reads continue');
    }
    return found;
  }

  function status(): StorageStatus {
    const found = directories();
    if (trouble === null) return { trouble: null, directories: found };
    const { kind, file, since } = trouble;
    const short = found.find(({ of }) => of === file);
    const missing = short === undefined ? 0 : short.low_below_bytes - short.free_bytes;
    const missing_bytes = kind === 'disk-full' && missing > 0 ? missing : null;
    return { trouble: { kind, file, path: files[file].path, since, missing_bytes }, directories: found };
  }

  return {
    serve: () => {
      serving = true;
      for (const name of names) files[name].waitForLocks(0);
    },
    keepTrying: async (work, signal) => {
      for (;;) {
        await opened(signal);
        if (signal.aborted || closing.signal.aborted) return null;
        try {
          return await work();
        } catch (error) {
          const kind = writeTroubleOf(error);
          if (kind === null || !serving) throw error;
          begin(kind);
        }
      }
    },
    promptly: async (work) => {
      const until = clock.monotonic() + promptlyMs;
      for (;;) {
        try {
          return work();
        } catch (error) {
          const kind = writeTroubleOf(error);
          if (kind === null) throw error;
          if (serving) begin(kind);
          if (kind === 'disk-full' || clock.monotonic() >= until) throw writeRefusal(error) ?? error;
          await clock.sleep(50);
        }
      }
    },
    soon,
    noticed: (error) => {
      const kind = writeTroubleOf(error);
      if (kind !== null && serving) begin(kind);
    },
    look: () => void directories(),
    get isLow() {
      return low.since !== null;
    },
    status,
    alarms: () => {
      const now = clock.now();
      const long = trouble !== null && now - trouble.since >= troubleAlarmMs ? trouble : null;
      const alarm = (kind: LiveAlarm['kind'], raised_at: number): LiveAlarm => ({ kind, raised_at, products: 0 });
      return [
        ...(long === null ? [] : [alarm(long.kind === 'locked' ? 'file-locked' : 'disk-full', long.since)]),
        ...(low.since === null ? [] : [alarm('disk-low', low.since)]),
      ];
    },
    broken: broken.promise,
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the files are being closed'));
      await recovering;
      for (const name of names) files[name].waitForLocks(lockWaitMs.closing);
      for (const [name, write] of pending) {
        try {
          write();
        } catch (error) {
          log.warn({ what: name, err: error }, 'could not be written when the daemon stopped');
        }
      }
    },
  };
}

function fileSystemSpace(directory: string): FileSystemSpace {
  try {
    const { blocks, bavail, bsize } = statfsSync(directory);
    return { size_bytes: blocks * bsize, free_bytes: bavail * bsize };
  } catch {
    return { size_bytes: 0, free_bytes: 0 };
  }
}
