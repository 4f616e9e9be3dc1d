import type { Config } from '../config/load.ts';
import type { Clock } from '../kernel/clock.ts';
import type { CataloguedError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { damaged } from '../kernel/sqlite/database-file.ts';
import { isDamage } from '../kernel/sqlite/fault.ts';
import type { FileStanding } from '../kernel/sqlite/identity.ts';
import { type Leaving, writeLastStop } from '../kernel/sqlite/last-stop.ts';
import { lostFile, repairHint } from '../kernel/sqlite/refusals.ts';
import type { FileFacts } from '../says/conditions/facts.rules.ts';
import { checkFile } from './integrity.ts';
import { lastStopPath } from './pair.ts';

type Name = 'mirror' | 'inbox';

/**
 * State of one of the two files, as the watch knows it. `lost` and `damage` are null if it is at its path and no
 * problem was found.
 */
export interface FileFinding extends FileFacts {
  readonly path: string;
  readonly lost: 'gone' | 'replaced' | null;
  /** Damage that was found in the file, as text. */
  readonly damage: string | null;
}

type Watched = Readonly<Record<Name, { standing(): FileStanding }>>;

/**
 * Watches the two files of a running daemon: whether they are still at the paths where they were opened, and sound.
 * Disposing, after both are closed, records their state.
 */
export interface FileWatch extends Disposable {
  /** Called when both are open. */
  opened(mirror: { standing(): FileStanding }, inbox: { standing(): FileStanding }): void;
  /**
   * Compares each path with the open file, which takes microseconds. Run every second, and before the files are closed.
   */
  look(): void;
  /** Returns whether the file can be used: it is neither lost nor damaged. */
  isWell(name: Name): boolean;
  /** Records an error of SQLite about a damaged page, of the file that it names, else of this one. Returns whether it was one. */
  noteDamage(name: Name, error: unknown): boolean;
  /** Checks quickly the files that the start had no time to check. */
  checkSkipped(signal: AbortSignal): Promise<void>;
  /** Checks both files completely. */
  checkAll(signal: AbortSignal): Promise<void>;
  /** Returns the instant since which both have been checked completely; null if unknown. */
  checkedAt(): number | null;
  /** Returns why the last check of a file failed; null if it did not. */
  notChecked(): string | null;
  /** Returns the error that an ending daemon reports; null if there is none. */
  trouble(): CataloguedError | null;
  /** Returns the findings about each file so far. */
  findings(): FileFinding[];
}

export interface FileWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Files that the start did not check completely. */
  readonly unchecked: readonly string[];
  /** Replaces the check of a whole file in a separate process. */
  readonly checkFile?: typeof checkFile;
  /** Instant of the last complete check of each file, by path, as the last process recorded it. */
  readonly checked_at?: Readonly<Record<string, number>>;
}

const names = ['mirror', 'inbox'] as const;

export function watchFiles(
  mirror: Config['mirror'],
  { clock, log, unchecked, checked_at = {}, checkFile: goThrough = checkFile }: FileWatchOptions,
): FileWatch {
  const paths: Readonly<Record<Name, string>> = { mirror: mirror.path, inbox: mirror.inbox_path };
  const note = lastStopPath(mirror);
  const lost = new Map<Name, { since: number; standing: 'gone' | 'replaced' }>();
  const damage = new Map<Name, { since: number; what: string }>();
  const waiting = new Set(names.filter((name) => unchecked.includes(paths[name])));
  const checked = new Map(names.map((name) => [name, checked_at[paths[name]] ?? null]));
  const not_checked = new Map<Name, string>();
  let open: Watched | null = null;

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
    // Written at once, so that the next start refuses the file even after a kill.
    writeLastStop(note, damagedPaths());
  }

  function damagedPaths(): Record<string, Leaving> {
    return Object.fromEntries([...damage].map(([name, { what }]) => [paths[name], { damage: what, checked_at: null }]));
  }

  async function check(name: Name, depth: 'quick' | 'full', signal: AbortSignal): Promise<void> {
    if (signal.aborted || lost.has(name) || damage.has(name)) return;
    const [began, at] = [clock.monotonic(), clock.now()];
    try {
      const problem = await goThrough(paths[name], depth, signal);
      waiting.delete(name);
      not_checked.delete(name);
      if (problem !== null) return found(name, problem);
      if (depth === 'full') checked.set(name, at);
      log.info({ path: paths[name], depth, ms: Math.round(clock.monotonic() - began) }, 'file checked');
    } catch (error) {
      if (signal.aborted) return;
      not_checked.set(name, (error as Error).message);
      log.warn({ err: error, path: paths[name] }, 'file not checked');
    }
  }

  return {
    opened: (opened_mirror, opened_inbox) => {
      open = { mirror: opened_mirror, inbox: opened_inbox };
    },
    look,
    isWell: (name) => !lost.has(name) && !damage.has(name),
    noteDamage: (name, error) => {
      if (!isDamage(error)) return false;
      const { path, message } = error as Error & { readonly path?: string };
      found(names.find((each) => paths[each] === path) ?? name, message);
      return true;
    },
    checkSkipped: async (signal) => {
      for (const name of [...waiting]) await check(name, 'quick', signal);
    },
    checkAll: async (signal) => {
      for (const name of names) await check(name, 'full', signal);
    },
    checkedAt: () => {
      const times = names.map((name) => checked.get(name) ?? null);
      return times.includes(null) ? null : Math.min(...times.map(Number));
    },
    notChecked: () => [...not_checked.values()][0] ?? null,
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
        lost_since: lost.get(name)?.since ?? null,
        damaged_since: damage.get(name)?.since ?? null,
      })),
    [Symbol.dispose]: () => {
      // A lost or unchecked file is not recorded, so that the next start checks it.
      const sound = names.filter((name) => !lost.has(name) && !damage.has(name) && !waiting.has(name));
      try {
        const left = sound.map(
          (name) => [paths[name], { damage: null, checked_at: checked.get(name) ?? null }] as const,
        );
        writeLastStop(note, { ...Object.fromEntries(left), ...damagedPaths() });
      } catch (error) {
        log.warn({ err: error }, 'the clean stop could not be recorded: the next start checks the files');
      }
    },
  };
}
