import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Entropy, newId, systemEntropy } from '../clock.ts';
import type { Config } from '../config/load.ts';
import { type PairFacts, planRepair, type RepairPlan } from '../domain/files/files.ts';
import { inboxFile } from '../inbox/inbox.ts';
import { changeReads } from '../mirror/changes/changes.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import { openForWriting } from '../sqlite/database-file.ts';
import { prepareDirectory } from '../sqlite/directory.ts';
import { noteOf } from '../sqlite/identity.ts';
import { forgetLastStop } from '../sqlite/last-stop.ts';
import { acquireLock, acquireMirrorLock } from '../sqlite/lock.ts';
import { lookAt } from '../sqlite/look.ts';
import { openReadOnly } from '../sqlite/read-only.ts';
import { readsOf } from '../sqlite/statements.ts';
import { backupsIn, type FoundFiles, findFiles, lastStopPath, refuseFiles } from './pair.ts';

/** The result of `repair`: what it did, or with `dry` would do. */
export interface Repair {
  /** What is wrong with each file, as text; null: nothing. */
  readonly mirror: string | null;
  readonly inbox: string | null;
  /** Null: nothing is to be done. */
  readonly plan: RepairPlan | null;
  /** The files set aside, and where they are now. */
  readonly moved: readonly { readonly from: string; readonly to: string }[];
  /** The copy that took the mirror's place; null: none. */
  readonly restored: string | null;
}

type Paths = Pick<Config, 'mirror' | 'backup'>;

/** Pretends that the receiver was away for a day, so that everything subscriptions cover is read again. */
const dayMs = 86_400_000;

/**
 * Sets aside unusable files and prepares a start with the rest. Destroys nothing, and can be repeated after a kill.
 * Refuses while a daemon runs (75), and for a file of another program (65).
 */
export function repairFiles(
  config: Paths,
  { now, dry, entropy = systemEntropy }: { readonly now: number; readonly dry: boolean; readonly entropy?: Entropy },
): Repair {
  const { path, inbox_path, state_dir } = config.mirror;
  prepareDirectory(dirname(path), 0o3770);
  prepareDirectory(state_dir, 0o700);
  prepareDirectory(dirname(inbox_path), 0o700);
  using stack = new DisposableStack();
  stack.use(acquireLock(state_dir));
  stack.use(acquireMirrorLock(path));
  const found = findFiles(config, 'all');
  const plan = planRepair(found.facts);
  if (plan === 'refused') refuseFiles(config, { ...found, facts: onlyForeign(found.facts) });
  if (plan === null || plan === 'refused') {
    found.leave();
    // The next start checks both completely once more.
    if (!dry) forgetLastStop(lastStopPath(config.mirror));
    return { mirror: null, inbox: null, plan: null, moved: [], restored: null };
  }
  const backup = plan.restore ? newestBackup(config) : null;
  const intended = { ...plan, restore: backup !== null };
  const said = { mirror: problemOf(found, 'mirror'), inbox: problemOf(found, 'inbox') };
  const stamp = new Date(now).toISOString().replaceAll(':', '').slice(0, 17);
  const moves = [
    ...(plan.mirror === 'keep' ? [] : movesOf(path, stamp)),
    ...(plan.inbox === 'keep' ? [] : movesOf(inbox_path, stamp)),
  ];
  if (dry) found.leave();
  if (dry) return { ...said, plan: intended, moved: moves, restored: backup };
  const memory = feedMemory(config, plan);
  const last_seen = Math.min(noteOf(inbox_path)?.modified_at ?? now, now - dayMs);
  for (const move of moves) setAside(move);
  if (backup !== null) restore(backup, path);
  const mirror = plan.mirror === 'keep' || backup !== null ? 'any' : 'none';
  pairAgain(inbox_path, {
    ...memory,
    pair_id: newId(entropy),
    mirror,
    heartbeat: plan.inbox === 'keep' || mirror === 'none' ? null : last_seen,
  });
  forgetLastStop(lastStopPath(config.mirror));
  return { ...said, plan: intended, moved: moves, restored: backup };
}

/** Reduces the facts to the file of another program, so that this is reported whatever else is wrong. */
function onlyForeign(facts: PairFacts): PairFacts {
  return facts.inbox === 'foreign' ? facts : { ...facts, inbox: 'missing', expects: null };
}

function problemOf({ facts, ...looks }: FoundFiles, name: 'mirror' | 'inbox'): string | null {
  if (facts[name] !== 'well') return looks[name].wrong ?? 'it is empty';
  return name === 'mirror' && facts.paired === false ? 'it belongs to another inbox' : null;
}

function newestBackup({ backup }: Paths): string | null {
  const sound = (path: string) => lookAt(path, mirrorFile, 'thorough').condition === 'well';
  return backupsIn(backup.directory).reverse().find(sound) ?? null;
}

interface Move {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the moves, side files first: a file left without them is set aside by the next try, but side files left alone
 * would be taken for another file's.
 */
function movesOf(path: string, stamp: string): Move[] {
  const to = join(dirname(path), 'quarantine', `${stamp}-${basename(path)}`);
  return ['-wal', '-shm', ''].flatMap((suffix) =>
    noteOf(path + suffix) === null ? [] : [{ from: path + suffix, to: to + suffix }],
  );
}

function setAside({ from, to }: Move): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  renameSync(from, to);
  sync(dirname(to));
  sync(dirname(from));
}

function restore(backup: string, path: string): void {
  const temporary = `${path}.restored`;
  copyFileSync(backup, temporary, constants.COPYFILE_FICLONE);
  chmodSync(temporary, mirrorFile.mode);
  sync(temporary);
  renameSync(temporary, path);
  sync(dirname(path));
}

interface Memory {
  readonly ceiling: number;
  readonly newest: number;
}

/** Returns the change numbers that may have been given out, from the files that can still be read. */
function feedMemory({ mirror }: Paths, { mirror: kept }: RepairPlan): Memory {
  const row = asked(mirror.inbox_path, (db) =>
    db.prepare<[], Memory>('SELECT feed_ceiling AS ceiling, feed_newest AS newest FROM inbox').get(),
  );
  const seen = asked(mirror.path, (db) => changeReads(readsOf(db)).newest()) ?? 0;
  // In a damaged mirror the number only shows that it was given out.
  return { ceiling: Math.max(row?.ceiling ?? 0, seen), newest: kept === 'keep' ? seen : 0 };
}

function asked<Answer>(path: string, ask: (db: ReturnType<typeof openReadOnly>) => Answer): Answer | null {
  if (noteOf(path) === null) return null;
  let db: ReturnType<typeof openReadOnly> | null = null;
  try {
    db = openReadOnly(path);
    return ask(db);
  } catch {
    // Damaged files and those of older versions are not read.
    return null;
  } finally {
    db?.close();
  }
}

interface Pairing extends Memory {
  readonly pair_id: string;
  readonly mirror: 'any' | 'none';
  /** Null: as it is. */
  readonly heartbeat: number | null;
}

/**
 * Pairs the files again in one last commit; until then the same command starts over. The next start pairs the mirror
 * and begins a new feed.
 */
function pairAgain(path: string, { pair_id, ceiling, newest, mirror, heartbeat }: Pairing): void {
  const db = openForWriting(path, inboxFile);
  try {
    const work = () => {
      db.prepare("INSERT OR IGNORE INTO inbox (inbox_id, pair_id, mirror_state) VALUES (1, '', 'none')").run();
      db.prepare(
        `UPDATE inbox SET pair_id = ?, mirror_state = ?, mirror_inode = NULL, feed_newest = ?,
           feed_ceiling = max(feed_ceiling, ?), heartbeat_at = coalesce(?, heartbeat_at)`,
      ).run(pair_id, mirror, newest, ceiling, heartbeat);
    };
    db.transaction(work).immediate();
  } finally {
    db.close();
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, statSync(path).isDirectory() ? 'r' : 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
