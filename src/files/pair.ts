import { join } from 'node:path';
import type { Config } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { damaged, refuseUnusable } from '../kernel/sqlite/database-file.ts';
import { noteOf, sameNote } from '../kernel/sqlite/identity.ts';
import { type LastStop, readLastStop } from '../kernel/sqlite/last-stop.ts';
import { isChecked, type Look, lookAt, lookBeside, sideFilesMade } from '../kernel/sqlite/look.ts';
import { openReadOnly } from '../kernel/sqlite/read-only.ts';
import { repairHint } from '../kernel/sqlite/refusals.ts';
import { foreignPair, readOwnRow } from '../mirror/pair-with-inbox.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import { inboxFile } from '../receiver/inbox.ts';
import { backupsIn } from './backups.ts';
import { type PairFacts, type Trouble, troubleOf } from './pair-trouble.rules.ts';

/** Returns the path of the file that records how the last process left the files. It is beside the lock. */
export function lastStopPath({ state_dir }: Config['mirror']): string {
  return join(state_dir, 'last-stop.json');
}

/** Both files as found, with the problem of each as text. */
export interface FoundFiles {
  readonly facts: PairFacts;
  readonly mirror: Look;
  readonly inbox: Look;
  /** Files too large to be checked before the start. They are checked afterwards. */
  readonly unchecked: readonly string[];
  /** Instant of the last complete check of each file, by path; absent if unknown. */
  readonly checked_at: Readonly<Record<string, number>>;
  /** Removes side files that the inspection has created, for callers that do not go on to use the files. */
  leave(): void;
}

/**
 * Depth of an inspection. `touched` checks a file completely only if it differs from the state after a clean stop;
 * `all` always does. `beside` is for callers without the lock, and does not touch files with which a daemon may be
 * starting.
 */
export type Depth = 'touched' | 'all' | 'beside';

/**
 * Inspects both files without changing a byte. The caller holds the lock, except for `beside`. Throws `permission` and
 * `io`.
 */
export function findFiles({ mirror, backup }: Config, depth: Depth): FoundFiles {
  const last = readLastStop(lastStopPath(mirror));
  const made = depth === 'beside' ? [] : [mirror.path, mirror.inbox_path].map(sideFilesMade);
  const unchecked: string[] = [];
  const checked_at: Record<string, number> = {};
  const found = (path: string, kind: typeof mirrorFile): Look => {
    if (depth === 'all') return lookAt(path, kind, 'thorough');
    if (depth === 'beside') return lookBeside(path, kind, isChecked(path) ? 'whole' : 'header');
    const damage = knownDamage(last, path);
    if (damage !== null) return { condition: 'damaged', wrong: damage };
    if (sameNote(noteOf(path), last[path] ?? null)) {
      const at = last[path]?.checked_at ?? null;
      if (at !== null) checked_at[path] = at;
      return lookAt(path, kind, 'header');
    }
    if (isChecked(path)) return lookAt(path, kind, 'whole');
    unchecked.push(path);
    return lookAt(path, kind, 'header');
  };
  const looks = { mirror: found(mirror.path, mirrorFile), inbox: found(mirror.inbox_path, inboxFile) };
  const [ours, theirs] = [
    looks.inbox.condition === 'well' ? pairRecordOf(mirror.inbox_path) : null,
    looks.mirror.condition === 'well' ? pairOf(mirror.path) : null,
  ];
  const facts: PairFacts = {
    mirror: looks.mirror.condition,
    // Created, but the process was killed before its first row.
    inbox: looks.inbox.condition === 'well' && ours === null ? 'empty' : looks.inbox.condition,
    expects: ours?.expects ?? null,
    paired: ours === null || theirs === null ? null : ours.pair_id === theirs,
    backup: backupsIn(backup.directory).length > 0,
  };
  // A mirror that was created but not paired yet belongs to no inbox.
  const unpaired = facts.mirror === 'well' && theirs === null;
  return {
    facts: unpaired ? { ...facts, mirror: 'empty' } : facts,
    ...looks,
    unchecked,
    checked_at,
    leave: () => {
      for (const remove of made) remove();
    },
  };
}

function knownDamage(last: LastStop, path: string): string | null {
  const left = last[path];
  return left !== undefined && left.damage !== null && noteOf(path)?.inode === left.inode ? left.damage : null;
}

/** Throws the error with which a start refuses the files, before anything is written. */
export function refuseFiles({ mirror }: Config, found: FoundFiles): void {
  const trouble = troubleOf(found.facts);
  if (trouble === null) return;
  found.leave();
  throw refusalOf(mirror, found, trouble);
}

/**
 * Returns the error with which a start would refuse the files, inspected without the lock. Null if there is none, or if
 * the files may not be read.
 */
export function startRefusal(config: Config): Error | null {
  try {
    refuseFiles(config, findFiles(config, 'beside'));
    return null;
  } catch (error) {
    return error instanceof CataloguedError && error.code !== 'permission' ? error : null;
  }
}

function refusalOf({ path, inbox_path }: Config['mirror'], found: FoundFiles, trouble: Trouble): Error {
  switch (trouble) {
    case 'foreign-pair':
      return foreignPair(path);
    case 'inbox-missing':
    case 'inbox-empty':
      return new CataloguedError(
        'foreign-pair',
        `${path} belongs to another inbox.db than the one in the state directory: ${inbox_path} ${trouble === 'inbox-empty' ? 'is empty' : 'is not there'}`,
        {
          exitCode: exitCodes.configuration,
          hint: `set mirror.state_dir to the directory with the inbox that belongs to it; if that inbox is lost, ${repairHint}`,
        },
      );
    case 'mirror-missing':
      return new CataloguedError(
        'mirror-missing',
        `there is no mirror at ${path}, but the inbox in the state directory belongs to one`,
        {
          exitCode: exitCodes.data,
          hint: `set mirror.path to where it is, or put it back; if it is lost, ${repairHint}`,
        },
      );
    case 'mirror-empty':
      return damaged(path, `${found.mirror.wrong ?? 'it is empty'}, but this is not the first run`);
    case 'inbox-damaged':
    case 'inbox-foreign':
    case 'inbox-newer':
    case 'inbox-development':
      return unusable(inbox_path, inboxFile, found.inbox);
    case 'mirror-damaged':
    case 'mirror-foreign':
    case 'mirror-newer':
    case 'mirror-development':
      return unusable(path, mirrorFile, found.mirror);
  }
}

function unusable(place: string, kind: typeof mirrorFile, look: Look): Error {
  try {
    refuseUnusable(place, kind, look);
  } catch (error) {
    return error as Error;
  }
  return new Error(`${place} is ${look.condition}`);
}

export interface PairRecord {
  readonly pair_id: string;
  readonly expects: 'none' | 'any' | 'known';
}

/** Returns the inbox's record of its pair; null if it has no row yet. */
export function pairRecordOf(path: string): PairRecord | null {
  const db = openReadOnly(path);
  try {
    return db.prepare<[], PairRecord>('SELECT pair_id, mirror_state AS expects FROM inbox').get() ?? null;
  } finally {
    db.close();
  }
}

/** Returns the pair id of a mirror; null if the process was killed after creating it and before pairing it. */
function pairOf(path: string): string | null {
  const db = openReadOnly(path);
  try {
    return readOwnRow(db)?.pair_id ?? null;
  } finally {
    db.close();
  }
}
