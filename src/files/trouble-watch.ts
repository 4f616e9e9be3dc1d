import type { Clock } from '../clock.ts';
import { patience, type WriteTrouble } from '../domain/files/write-trouble.ts';
import type { Logger } from '../log.ts';
import { writeTroubleOf } from '../sqlite/fault.ts';
import type { SpaceWatch } from './space-watch.ts';
import type { FileName, StorageStatus } from './storage-status.ts';

/** Reason why nothing is written. */
export interface CurrentTrouble {
  kind: WriteTrouble;
  file: FileName;
  readonly since: number;
  /** True: nothing is attempted. False: it may be over, and is if it does not come back. */
  stopped: boolean;
  told: boolean;
}

export interface TroubleWatchOptions {
  readonly files: Readonly<Record<FileName, { touch(): void }>>;
  readonly space: SpaceWatch;
  readonly clock: Clock;
  readonly log: Logger;
  readonly closing: AbortSignal;
  /** Returns the trouble as shown in the status. */
  readonly shown: () => StorageStatus['trouble'];
  /** Called when all writes may be attempted again. */
  readonly reopened: () => void;
}

/** Interval at which the space of a full disk is measured. */
const askEveryMs = 1000;
/** Growth of free space after which another attempt is made. */
const roomBytes = 1024 * 1024;

/** Trouble that writes meet, from the first failed one until none has failed for a while. */
export class TroubleWatch {
  readonly #options: TroubleWatchOptions;
  readonly #broken = Promise.withResolvers<never>();
  #current: CurrentTrouble | null = null;
  #open = Promise.withResolvers<void>();
  /** Resolves when trouble comes back while it seemed to be over. */
  #again = Promise.withResolvers<void>();
  #recovering: Promise<void> = Promise.resolve();

  constructor(options: TroubleWatchOptions) {
    this.#options = options;
    this.#broken.promise.catch(() => undefined);
    this.#open.resolve();
  }

  get current(): CurrentTrouble | null {
    return this.#current;
  }

  /** True: all writes must wait now. */
  get isStopped(): boolean {
    return this.#current?.stopped === true;
  }

  /** Rejects with an error that a file does not survive. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  /** Called when a write has met trouble. From then on a small write is attempted, less and less often. */
  begin(kind: WriteTrouble): void {
    const trouble = this.#current;
    if (trouble?.stopped === true) {
      trouble.kind = kind;
      return;
    }
    this.#open = Promise.withResolvers();
    if (trouble !== null) {
      Object.assign(trouble, { kind, stopped: true });
      this.#again.resolve();
      return;
    }
    this.#current = { kind, file: 'mirror', since: this.#options.clock.now(), stopped: true, told: false };
    this.#recovering = this.#recover(this.#current).catch(this.#broken.reject);
  }

  /** Resolves when writes are attempted again, or a signal is aborted. */
  async opened(signal: AbortSignal): Promise<void> {
    if (this.isStopped) await Promise.race([this.#open.promise, aborted([signal, this.#options.closing])]);
  }

  /** Resolves when nothing is attempted any more, after `closing`. */
  async ended(): Promise<void> {
    await this.#recovering;
  }

  /** Attempts a small write less and less often, until one succeeds and the trouble does not come back. */
  async #recover(own: CurrentTrouble): Promise<void> {
    const { files, space, clock, log, closing } = this.#options;
    const found = probe(files);
    // A tiny write may succeed although real work has failed. Then it is the file with the least space.
    const short = space.directories('closely').find(({ low }) => low === 1)?.of ?? own.file;
    Object.assign(own, found ?? { file: own.kind === 'disk-full' ? short : own.file });
    let wait = patience[own.kind].first;
    for (;;) {
      await patientlyWait({ space, clock, closing }, own.kind, wait);
      if (closing.aborted) return;
      this.#report(own);
      const still = probe(files);
      wait = Math.min(2 * wait, patience[own.kind].longest);
      if (still !== null) {
        if (still.kind !== own.kind) wait = patience[still.kind].first;
        Object.assign(own, still);
        continue;
      }
      if (await this.#isOver(own)) break;
    }
    // A trial that the end of the daemon cuts short shows nothing.
    if (closing.aborted) return;
    this.#current = null;
    const { file, kind, since, told } = own;
    log[told ? 'info' : 'debug']({ file, trouble: kind, ms: clock.now() - since }, 'files are written again');
  }

  /** Lets all writes proceed. Returns whether none met trouble for a while. */
  async #isOver(own: CurrentTrouble): Promise<boolean> {
    const { clock, closing, reopened } = this.#options;
    this.#again = Promise.withResolvers();
    own.stopped = false;
    this.#open.resolve();
    reopened();
    using quiet = clock.deadline(patience[own.kind].trial, closing);
    await Promise.race([aborted([quiet.signal]), this.#again.promise]);
    return !own.stopped;
  }

  /** Logs a trouble once, except a lock that is released quickly. */
  #report(own: CurrentTrouble): void {
    const { clock, space, log, shown } = this.#options;
    const { file, kind } = own;
    if (own.told || (kind === 'locked' && clock.now() - own.since < 1000)) return;
    own.told = true;
    space.forget();
    const { missing_bytes, path } = shown() ?? {};
    log.error({ file, path, trouble: kind, missing_bytes }, troubleMessages[kind]);
  }
}

const troubleMessages: Readonly<Record<WriteTrouble, string>> = {
  locked: 'another program holds the write lock: waiting for it',
  'disk-full': 'the disk is full: waiting for room',
};

/**
 * Returns the first trouble that a write meets now; null if there is none. Throws errors that do not pass by waiting.
 */
function probe(files: TroubleWatchOptions['files']): { kind: WriteTrouble; file: FileName } | null {
  for (const file of ['mirror', 'inbox'] as const) {
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

/** Waits for `ms`, or until a full disk has more space. */
async function patientlyWait(
  options: Pick<TroubleWatchOptions, 'space' | 'clock' | 'closing'>,
  kind: WriteTrouble,
  ms: number,
): Promise<void> {
  if (kind === 'disk-full') await freeSpaceGrown(options, ms);
  else await options.clock.sleep(ms, options.closing).catch(() => undefined);
}

/** Waits until free space has grown, and no longer than `ms`. */
async function freeSpaceGrown(
  { space, clock, closing }: Pick<TroubleWatchOptions, 'space' | 'clock' | 'closing'>,
  ms: number,
): Promise<void> {
  const until = clock.monotonic() + ms;
  const before = space.freeBytes();
  while (!closing.aborted && clock.monotonic() < until) {
    await clock.sleep(Math.min(askEveryMs, until - clock.monotonic()), closing).catch(() => undefined);
    if (space.freeBytes() >= before + roomBytes) return;
  }
}

/** Resolves when one of the signals is aborted. */
function aborted(signals: readonly AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const each of signals) each.addEventListener('abort', () => resolve(), { once: true });
  if (signals.some((each) => each.aborted)) resolve();
  return promise;
}
