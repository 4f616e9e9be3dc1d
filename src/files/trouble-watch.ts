import type { Clock } from '../clock.ts';
import { patience, type WriteTrouble } from '../domain/files/write-trouble.ts';
import type { Logger } from '../log.ts';
import { writeTroubleOf } from '../sqlite/fault.ts';
import type { SpaceWatch } from './space-watch.ts';
import type { FileName, StorageStatus } from './storage-status.ts';

/** Why nothing is written. */
export interface CurrentTrouble {
  kind: WriteTrouble;
  file: FileName;
  readonly since: number;
  /** True: nothing is tried. False: it may be over, and is once it does not come back. */
  stopped: boolean;
  told: boolean;
}

/** Trouble that writes meet, from the first failed one until none fails for a while. */
export interface TroubleWatch {
  current(): CurrentTrouble | null;
  /** Tells whether nobody may write now. */
  isStopped(): boolean;
  /** Called when a write has met trouble; from then on a small write is tried, less and less often. */
  begin(kind: WriteTrouble): void;
  /** Resolves when writes are tried again, or a signal is aborted. */
  opened(signal: AbortSignal): Promise<void>;
  /** Resolves when nothing is tried any more, after `closing`. */
  ended(): Promise<void>;
  /** Rejects with what a file does not survive. */
  readonly broken: Promise<never>;
}

export interface TroubleWatchOptions {
  readonly files: Readonly<Record<FileName, { touch(): void }>>;
  readonly space: SpaceWatch;
  readonly clock: Clock;
  readonly log: Logger;
  readonly closing: AbortSignal;
  /** Returns the trouble as it is shown. */
  readonly shown: () => StorageStatus['trouble'];
  /** Called when everybody may try again. */
  readonly reopened: () => void;
}

/** How often the space of a full disk is measured. */
const askEveryMs = 1000;
/** By how much free space must grow for another try. */
const roomBytes = 1024 * 1024;

export function watchTrouble({
  files,
  space,
  clock,
  log,
  closing,
  shown,
  reopened,
}: TroubleWatchOptions): TroubleWatch {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  let trouble: CurrentTrouble | null = null;
  let open = Promise.withResolvers<void>();
  open.resolve();
  /** Resolves when trouble came again while it was thought to be over. */
  let again = Promise.withResolvers<void>();
  let recovering: Promise<void> = Promise.resolve();

  /** Tries less and less often until a write succeeds and its trouble does not come back. */
  async function recover(own: CurrentTrouble): Promise<void> {
    const found = probe(files);
    // A tiny write may succeed where real work has failed: then it is the file with the least room.
    const short = space.directories('closely').find(({ low }) => low === 1)?.of ?? own.file;
    Object.assign(own, found ?? { file: own.kind === 'disk-full' ? short : own.file });
    let wait = patience[own.kind].first;
    for (;;) {
      await patientlyWait({ space, clock, closing }, own.kind, wait);
      if (closing.aborted) return;
      report(own);
      const still = probe(files);
      wait = Math.min(2 * wait, patience[own.kind].longest);
      if (still !== null) {
        if (still.kind !== own.kind) wait = patience[still.kind].first;
        Object.assign(own, still);
        continue;
      }
      if (await isOver(own)) break;
    }
    trouble = null;
    const { file, kind, since, told } = own;
    log[told ? 'info' : 'debug']({ file, trouble: kind, ms: clock.now() - since }, 'files are written again');
  }

  /** Lets all writes proceed; returns whether none met trouble for a while. */
  async function isOver(own: CurrentTrouble): Promise<boolean> {
    again = Promise.withResolvers();
    own.stopped = false;
    open.resolve();
    reopened();
    using quiet = clock.deadline(patience[own.kind].trial, closing);
    await Promise.race([aborted([quiet.signal]), again.promise]);
    return !own.stopped;
  }

  /** Logs a trouble once, but not a lock that is released quickly. */
  function report(own: CurrentTrouble): void {
    const { file, kind } = own;
    if (own.told || (kind === 'locked' && clock.now() - own.since < 1000)) return;
    own.told = true;
    space.forget();
    const { missing_bytes, path } = shown() ?? {};
    log.error({ file, path, trouble: kind, missing_bytes }, troubleMessages[kind]);
  }

  return {
    current: () => trouble,
    isStopped: () => trouble?.stopped === true,
    begin: (kind) => {
      if (trouble?.stopped === true) {
        trouble.kind = kind;
        return;
      }
      open = Promise.withResolvers();
      if (trouble !== null) {
        Object.assign(trouble, { kind, stopped: true });
        again.resolve();
        return;
      }
      trouble = { kind, file: 'mirror', since: clock.now(), stopped: true, told: false };
      recovering = recover(trouble).catch((error: unknown) => {
        broken.reject(error);
      });
    },
    opened: async (signal) => {
      if (trouble?.stopped === true) await Promise.race([open.promise, aborted([signal, closing])]);
    },
    ended: () => recovering,
    broken: broken.promise,
  };
}

const troubleMessages: Readonly<Record<WriteTrouble, string>> = {
  locked: 'another program holds the write lock: waiting for it',
  'disk-full': 'the disk is full: waiting for room',
};

/** Returns the first trouble that a write meets now; null: none. Throws errors that do not pass by waiting. */
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

/** Waits so long, or until a full disk has more room. */
async function patientlyWait(
  options: Pick<TroubleWatchOptions, 'space' | 'clock' | 'closing'>,
  kind: WriteTrouble,
  ms: number,
): Promise<void> {
  if (kind === 'disk-full') await freeSpaceGrown(options, ms);
  else await options.clock.sleep(ms, options.closing).catch(() => undefined);
}

/** Waits for free space to grow, and no longer than `ms`. */
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

/** Resolves when one of them is aborted. */
function aborted(signals: readonly AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const each of signals) each.addEventListener('abort', () => resolve(), { once: true });
  if (signals.some((each) => each.aborted)) resolve();
  return promise;
}
