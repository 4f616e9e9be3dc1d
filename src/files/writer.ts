import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { walSizeOf } from '../kernel/sqlite/database-file.ts';
import { writeTroubleOf } from '../kernel/sqlite/fault.ts';
import { type FileSystemSpace, isLow, lowBelow } from './disk-space.rules.ts';
import type { FileName, StorageStatus } from './storage-status.ts';
import { writeRefusal } from './write-refusal.ts';
import { patience, type WriteTrouble } from './write-trouble.rules.ts';

export interface WriterOptions {
  readonly mirror: WrittenFile;
  readonly inbox: WrittenFile;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the free space. Tests replace it to simulate a full disk. */
  readonly spaceOf?: ((directory: string) => FileSystemSpace) | undefined;
}

interface WrittenFile {
  readonly path: string;
  /** Attempts a small write. */
  touch(): void;
  waitForLocks(ms: number): void;
}

/** The reason why writes wait, until none has failed for a while. */
interface Trouble {
  kind: WriteTrouble;
  file: FileName;
  readonly since: number;
  /** True: nothing is attempted. False: it may be over, and is if it does not come back. */
  stopped: boolean;
  told: boolean;
}

/** Milliseconds for which a caller waits for a lock of another program, and the interval of attempts. */
const callerWaits = { ms: 2000, every: 50 } as const;
/** Milliseconds for which a write waits for a lock, and blocks the event loop, while the daemon ends. */
const closingWaitMs = 1000;
/** Interval at which the space of a full disk is measured. */
const askEveryMs = 1000;
/** Growth of free space after which another attempt is made. */
const roomBytes = 1024 * 1024;

/**
 * Writes both files of a daemon, although a full disk or another program's lock may stand in the way for a while. While one
 * does, nothing is attempted but a small write, less and less often. Disposing abandons what waits.
 */
export class Writer implements AsyncDisposable {
  readonly #files: Readonly<Record<FileName, WrittenFile>>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #space: SpaceWatch;
  readonly #closing = new AbortController();
  readonly #pending = new Map<string, () => void>();
  readonly #broken = Promise.withResolvers<never>();
  #serving = false;
  #trouble: Trouble | null = null;
  #open = Promise.withResolvers<void>();
  /** Resolves when trouble comes back while it seemed to be over. */
  #again = Promise.withResolvers<void>();
  #recovering: Promise<void> = Promise.resolve();

  constructor({ mirror, inbox, clock, log, spaceOf }: WriterOptions) {
    this.#files = { mirror, inbox };
    this.#clock = clock;
    this.#log = log;
    this.#space = new SpaceWatch({ files: this.#files, clock, log, spaceOf });
    this.#open.resolve();
    this.#broken.promise.catch(() => undefined);
  }

  /**
   * Called when the start is done: from then on no write blocks the event loop for a lock. Before it, every way to write
   * throws the errors of its work.
   */
  serve(): void {
    this.#serving = true;
    for (const each of Object.values(this.#files)) each.waitForLocks(0);
  }

  /** Writes now, or throws. */
  now<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      this.#notice(error);
      throw error;
    }
  }

  /** Writes for a waiting caller. Throws `disk-full` (74) at once, `locked` (75) after two seconds of attempts. */
  async by<Result>(work: () => Result): Promise<Result> {
    const until = this.#clock.monotonic() + callerWaits.ms;
    for (;;) {
      try {
        return this.now(work);
      } catch (error) {
        const kind = writeTroubleOf(error);
        if (kind === null) throw error;
        if (kind === 'disk-full' || this.#clock.monotonic() >= until) throw writeRefusal(error) ?? error;
        await this.#clock.sleep(callerWaits.every);
      }
    }
  }

  /** Writes now or as soon as possible. Of several writes with one name only the last is made. */
  soon(name: string, write: () => void): void {
    try {
      if (this.#isStopped) this.#pending.set(name, write);
      else write();
    } catch (error) {
      if (!this.#notice(error)) throw error;
      this.#pending.set(name, write);
    }
  }

  /**
   * Runs work when the files can be written, and again after each trouble until it completes. The work itself must
   * determine what is left to do. Rejects with any other error. Resolves to null if the signal aborts first.
   */
  async until<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result | null> {
    for (;;) {
      if (this.#isStopped) await Promise.race([this.#open.promise, aborted([signal, this.#closing.signal])]);
      if (signal.aborted || this.#closing.signal.aborted) return null;
      try {
        return await work();
      } catch (error) {
        if (!this.#notice(error)) throw error;
      }
    }
  }

  /** Measures the free space, at most every 30 seconds while there is enough. */
  look(): void {
    this.#directories();
  }

  /** True: there is too little space for bulk reads. */
  get isLow(): boolean {
    return this.#space.low_since !== null;
  }

  status(): StorageStatus {
    const directories = this.#directories();
    return { trouble: this.#shown(directories), directories, low_since: this.#space.low_since };
  }

  /** Rejects with an error that a file does not survive: a failed fsync, or damage. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the files are being closed'));
    await this.#recovering;
    for (const each of Object.values(this.#files)) each.waitForLocks(closingWaitMs);
    for (const [name, write] of this.#pending)
      try {
        write();
      } catch (error) {
        this.#log.warn({ what: name, err: error }, 'could not be written when the daemon stopped');
      }
  }

  get #isStopped(): boolean {
    return this.#trouble?.stopped === true;
  }

  #directories(): StorageStatus['directories'] {
    return this.#space.directories(this.#trouble === null ? 'usual' : 'closely');
  }

  #shown(directories: StorageStatus['directories']): StorageStatus['trouble'] {
    if (this.#trouble === null) return null;
    const { kind, file, since } = this.#trouble;
    const short = directories.find(({ of }) => of === file);
    const missing = short === undefined ? 0 : short.low_below_bytes - short.free_bytes;
    const missing_bytes = kind === 'disk-full' && missing > 0 ? missing : null;
    return { kind, file, path: this.#files[file].path, since, missing_bytes };
  }

  /** Returns whether an error passes by waiting; the trouble has begun then. */
  #notice(error: unknown): boolean {
    const kind = writeTroubleOf(error);
    if (kind === null || !this.#serving) return false;
    const trouble = this.#trouble;
    if (trouble?.stopped === true) {
      trouble.kind = kind;
      return true;
    }
    this.#open = Promise.withResolvers();
    if (trouble !== null) {
      Object.assign(trouble, { kind, stopped: true });
      this.#again.resolve();
      return true;
    }
    this.#trouble = { kind, file: 'mirror', since: this.#clock.now(), stopped: true, told: false };
    this.#recovering = this.#recover(this.#trouble).catch(this.#broken.reject);
    return true;
  }

  /** Attempts a small write less and less often, until one succeeds and the trouble does not come back. */
  async #recover(trouble: Trouble): Promise<void> {
    const { signal } = this.#closing;
    const found = this.#probe();
    // A tiny write may succeed although real work has failed. Then it is the file with the least space.
    const short = this.#space.directories('closely').find(({ low }) => low === 1)?.of ?? trouble.file;
    Object.assign(trouble, found ?? { file: trouble.kind === 'disk-full' ? short : trouble.file });
    let wait = patience[trouble.kind].first;
    for (;;) {
      if (trouble.kind === 'disk-full') await this.#spaceGrown(wait);
      else await this.#clock.sleep(wait, signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#report(trouble);
      const still = this.#probe();
      wait = Math.min(2 * wait, patience[trouble.kind].longest);
      if (still !== null) {
        if (still.kind !== trouble.kind) wait = patience[still.kind].first;
        Object.assign(trouble, still);
        continue;
      }
      if (await this.#isOver(trouble)) break;
    }
    // A trial that the end of the daemon cuts short shows nothing.
    if (signal.aborted) return;
    this.#trouble = null;
    const { file, kind, since, told } = trouble;
    this.#log[told ? 'info' : 'debug'](
      { file, trouble: kind, ms: this.#clock.now() - since },
      'files are written again',
    );
  }

  /** Returns the first trouble that a write meets now; null if there is none. Throws errors that do not pass by waiting. */
  #probe() {
    for (const file of ['mirror', 'inbox'] as const) {
      try {
        this.#files[file].touch();
      } catch (error) {
        const kind = writeTroubleOf(error);
        if (kind === null) throw error;
        return { kind, file };
      }
    }
    return null;
  }

  /** Lets all writes proceed. Returns whether none met trouble for a while. */
  async #isOver(trouble: Trouble): Promise<boolean> {
    this.#again = Promise.withResolvers();
    trouble.stopped = false;
    this.#open.resolve();
    for (const [name, write] of [...this.#pending]) {
      this.#pending.delete(name);
      this.soon(name, write);
      if (this.#isStopped) break;
    }
    using quiet = this.#clock.deadline(patience[trouble.kind].trial, this.#closing.signal);
    await Promise.race([aborted([quiet.signal]), this.#again.promise]);
    return !trouble.stopped;
  }

  /** Waits until free space has grown, and no longer than `ms`. */
  async #spaceGrown(ms: number): Promise<void> {
    const { signal } = this.#closing;
    const until = this.#clock.monotonic() + ms;
    const before = this.#space.freeBytes();
    while (!signal.aborted && this.#clock.monotonic() < until) {
      await this.#clock.sleep(Math.min(askEveryMs, until - this.#clock.monotonic()), signal).catch(() => undefined);
      if (this.#space.freeBytes() >= before + roomBytes) return;
    }
  }

  /** Logs a trouble once, except a lock that is released quickly. */
  #report(trouble: Trouble): void {
    const { file, kind } = trouble;
    if (trouble.told || (kind === 'locked' && this.#clock.now() - trouble.since < 1000)) return;
    trouble.told = true;
    this.#space.forget();
    const { missing_bytes, path } = this.status().trouble ?? {};
    this.#log.error({ file, path, trouble: kind, missing_bytes }, messages[kind]);
  }
}

const messages: Readonly<Record<WriteTrouble, string>> = {
  locked: 'another program holds the write lock: waiting for it',
  'disk-full': 'the disk is full: waiting for room',
};

/** Resolves when one of the signals is aborted. */
function aborted(signals: readonly AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const each of signals) each.addEventListener('abort', () => resolve(), { once: true });
  if (signals.some((each) => each.aborted)) resolve();
  return promise;
}

type Directories = StorageStatus['directories'];

interface SpaceWatchOptions {
  readonly files: Readonly<Record<FileName, { readonly path: string }>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent: the file system is asked. */
  readonly spaceOf?: ((directory: string) => FileSystemSpace) | undefined;
}

const lookEveryMs = 30_000;
const lookCloselyEveryMs = 1000;
const names: readonly FileName[] = ['mirror', 'inbox'];

/** Free space in the directories of both files. */
class SpaceWatch {
  readonly #files: SpaceWatchOptions['files'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #spaceOf: (directory: string) => FileSystemSpace;
  #low_since: number | null = null;
  #last: { readonly at: number; readonly directories: Directories } | null = null;

  constructor({ files, clock, log, spaceOf = fileSystemSpace }: SpaceWatchOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#log = log;
    this.#spaceOf = spaceOf;
  }

  /** The instant since which there is too little space for bulk reads; null if there is enough. */
  get low_since(): number | null {
    return this.#low_since;
  }

  /**
   * Returns the space, measured at most half a minute ago while there is enough, or a second ago if `why` is `closely`
   * or space is low.
   */
  directories(why: 'usual' | 'closely'): Directories {
    const at = this.#clock.monotonic();
    const patient = why === 'usual' && this.#low_since === null ? lookEveryMs : lookCloselyEveryMs;
    if (this.#last !== null && at - this.#last.at < patient) return this.#last.directories;
    const directories = this.#look(this.#last?.directories);
    this.#last = { at, directories };
    this.#tell(directories);
    return directories;
  }

  /** Drops the last measurement, so that the next one is new. */
  forget(): void {
    this.#last = null;
  }

  /** Returns the free bytes, now, of the directory that has the least. */
  freeBytes(): number {
    return Math.min(...names.map((name) => this.#spaceOf(dirname(this.#files[name].path)).free_bytes));
  }

  #look(before: Directories | undefined): Directories {
    return names.map((of, index) => {
      const path = dirname(this.#files[of].path);
      const space = this.#spaceOf(path);
      const low_below_bytes = lowBelow(space.size_bytes, walSizeOf(this.#files[of].path));
      const low = isLow(space, low_below_bytes, before?.[index]?.low === 1) ? 1 : 0;
      return { of, path, free_bytes: space.free_bytes, low_below_bytes, low };
    });
  }

  #tell(directories: Directories): void {
    const short = directories.filter(({ low }) => low === 1);
    if (short.length > 0 && this.#low_since === null) {
      this.#low_since = this.#clock.now();
      this.#log.error({ directories: short }, 'disk space is low: bulk reads pause');
    } else if (short.length === 0 && this.#low_since !== null) {
      this.#low_since = null;
      this.#log.info({ directories }, 'there is enough disk space again: bulk reads continue');
    }
  }
}

function fileSystemSpace(directory: string): FileSystemSpace {
  try {
    const { blocks, bavail, bsize } = statfsSync(directory);
    return { size_bytes: blocks * bsize, free_bytes: bavail * bsize };
  } catch {
    return { size_bytes: 0, free_bytes: 0 };
  }
}
