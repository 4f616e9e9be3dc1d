import type { Clock } from '../clock.ts';
import type { Config } from '../config/load.ts';
import type { CataloguedError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { damaged } from '../sqlite/database-file.ts';
import { isDamage } from '../sqlite/fault.ts';
import type { Standing } from '../sqlite/identity.ts';
import { writeLastStop } from '../sqlite/last-stop.ts';
import { lostFile, repairHint } from '../sqlite/refusals.ts';
import { checkFile } from './integrity.ts';
import { lastStopPath } from './pair.ts';

export type FileAlarmKind = 'mirror-lost' | 'mirror-damaged' | 'inbox-lost' | 'inbox-damaged';

/** An alarm of the files themselves: kept in memory, because a lost mirror could not keep it. */
export interface FileAlarm {
  readonly kind: FileAlarmKind;
  readonly raised_at: number;
  readonly products: number;
}

type Name = 'mirror' | 'inbox';

/** What the watch knows of one of the two files; both null: it stands at its path, and nothing was found wrong with it. */
export interface FileFinding {
  readonly name: Name;
  readonly path: string;
  readonly lost: 'gone' | 'replaced' | null;
  /** What was found in the file. */
  readonly damage: string | null;
}

type Watched = Readonly<Record<Name, { standing(): Standing }>>;

/**
 * Watches the two files of a running daemon: whether they still stand where they were opened, and whether they are sound.
 * Disposing, after both are closed, notes how they were left.
 */
export interface FileWatch extends Disposable {
  /** From here on both are open. */
  opened(mirror: { standing(): Standing }, inbox: { standing(): Standing }): void;
  /** Every second, and before they are closed: by path alone, which takes microseconds. */
  look(): void;
  /** Whether what is written into the file can be read and trusted. */
  isWell(name: Name): boolean;
  alarms(): readonly FileAlarm[];
  /** What SQLite said of a damaged page; other errors are not for it. Returns whether it was. */
  noteDamage(name: Name, error: unknown): boolean;
  /** Every hour: checks what a start had no time for, and both files once a day. */
  checkDue(signal: AbortSignal): Promise<void>;
  /** What a daemon that ends has to say; null: nothing. */
  trouble(): CataloguedError | null;
  /** What has been found of each file so far. */
  findings(): FileFinding[];
}

export interface FileWatchOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Logger;
  /** Files that the start has not gone through. */
  readonly unchecked: readonly string[];
  /** Goes through a whole file; else in a process of its own. */
  readonly checkFile?: typeof checkFile;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const names = ['mirror', 'inbox'] as const;

export function watchFiles(
  mirror: Config['mirror'],
  { clock, log, unchecked, checkFile: goThrough = checkFile }: FileWatchOptions,
): FileWatch {
  const paths: Readonly<Record<Name, string>> = { mirror: mirror.path, inbox: mirror.inbox_path };
  const note = lastStopPath(mirror);
  const lost = new Map<Name, { since: number; standing: 'gone' | 'replaced' }>();
  const damage = new Map<Name, { since: number; what: string }>();
  const waiting = new Set(names.filter((name) => unchecked.includes(paths[name])));
  let open: Watched | null = null;
  let next_check = clock.monotonic() + hourMs;

  function look(): void {
    for (const name of open === null ? [] : names) {
      const standing = open?.[name].standing() ?? 'stands';
      if (standing === 'stands') {
        if (lost.delete(name)) log.info({ path: paths[name] }, 'file back in its place');
        continue;
      }
      if (!lost.has(name)) log.error({ path: paths[name], standing, hint: repairHint }, 'file lost while in use');
      lost.set(name, { since: lost.get(name)?.since ?? clock.now(), standing });
    }
  }

  function found(name: Name, what: string): void {
    if (!damage.has(name)) log.error({ path: paths[name], what, hint: repairHint }, 'file damaged');
    damage.set(name, { since: damage.get(name)?.since ?? clock.now(), what });
    // At once: the next start must not go on with it, also after a kill.
    writeLastStop(note, damagedPaths());
  }

  function damagedPaths(): Record<string, string | null> {
    return Object.fromEntries([...damage].map(([name, { what }]) => [paths[name], what]));
  }

  async function check(name: Name, depth: 'quick' | 'full', signal: AbortSignal): Promise<void> {
    const began = clock.monotonic();
    try {
      const problem = await goThrough(paths[name], depth, signal);
      if (problem !== null) return found(name, problem);
      log.info({ path: paths[name], depth, ms: Math.round(clock.monotonic() - began) }, 'file checked');
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, path: paths[name] }, 'file not checked');
    }
  }

  return {
    opened: (opened_mirror, opened_inbox) => {
      open = { mirror: opened_mirror, inbox: opened_inbox };
    },
    look,
    isWell: (name) => !lost.has(name) && !damage.has(name),
    alarms: () =>
      names.flatMap((name) => {
        const [gone, bad] = [lost.get(name), damage.get(name)];
        return [
          ...(gone === undefined ? [] : [{ kind: `${name}-lost` as const, raised_at: gone.since, products: 0 }]),
          ...(bad === undefined ? [] : [{ kind: `${name}-damaged` as const, raised_at: bad.since, products: 0 }]),
        ];
      }),
    noteDamage: (name, error) => {
      if (!isDamage(error)) return false;
      found(name, (error as Error).message);
      return true;
    },
    checkDue: async (signal) => {
      const daily = clock.monotonic() >= next_check;
      if (daily) next_check = clock.monotonic() + dayMs;
      for (const name of names) {
        if (lost.has(name) || damage.has(name)) continue;
        if (daily || waiting.has(name)) await check(name, daily ? 'full' : 'quick', signal);
        waiting.delete(name);
      }
    },
    trouble: () => {
      for (const name of names) {
        const [gone, bad] = [lost.get(name), damage.get(name)];
        if (gone !== undefined) return lostFile(paths[name], name, gone.standing);
        if (bad !== undefined) return damaged(paths[name], bad.what);
      }
      return null;
    },
    findings: () =>
      names.map((name) => ({
        name,
        path: paths[name],
        lost: lost.get(name)?.standing ?? null,
        damage: damage.get(name)?.what ?? null,
      })),
    [Symbol.dispose]: () => {
      // Not as it is left by who has lost it, or never went through it: the next start does.
      const sound = names.filter((name) => !lost.has(name) && !damage.has(name) && !waiting.has(name));
      try {
        writeLastStop(note, { ...Object.fromEntries(sound.map((name) => [paths[name], null])), ...damagedPaths() });
      } catch (error) {
        log.warn({ err: error }, 'the clean stop could not be noted: the next start checks the files');
      }
    },
  };
}
