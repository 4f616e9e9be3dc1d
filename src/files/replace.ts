import { chmodSync, constants, copyFileSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ChangeReads } from '../feed/changes.store.ts';
import { type FileKind, openForWriting } from '../kernel/sqlite/database-file.ts';
import { isOfDevelopment } from '../kernel/sqlite/development.ts';
import { noteOf } from '../kernel/sqlite/identity.ts';
import { makeDirectory } from '../kernel/sqlite/make-directory.ts';
import { openReadOnly } from '../kernel/sqlite/read-only.ts';
import { readsOf } from '../kernel/sqlite/statements.ts';
import { sync } from '../kernel/sqlite/sync.ts';
import { inboxFile } from '../receiver/inbox.ts';

/*
 * Steps of repair and restore on the two files while no daemon runs. Nothing is destroyed, and each step can be
 * repeated.
 */

/** A move of a file that is set aside. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the moves, side files first: a file left without them is set aside by the next attempt, but side files left
 * alone would be taken for those of another file.
 */
export function movesOf(path: string, now: number): Move[] {
  const stamp = new Date(now).toISOString().replaceAll(':', '').slice(0, 17);
  const to = join(dirname(path), 'quarantine', `${stamp}-${basename(path)}`);
  return ['-wal', '-shm', ''].flatMap((suffix) =>
    noteOf(path + suffix) === null ? [] : [{ from: path + suffix, to: to + suffix }],
  );
}

export function setAside({ from, to }: Move): void {
  makeDirectory(dirname(to), 0o700);
  renameSync(from, to);
  sync(dirname(to));
  sync(dirname(from));
}

/** Copies a file to a free path. It gets its name only when it is complete. */
export function place(copy: string, path: string, { mode }: FileKind): void {
  const temporary = `${path}.restored`;
  copyFileSync(copy, temporary, constants.COPYFILE_FICLONE);
  chmodSync(temporary, mode);
  sync(temporary);
  renameSync(temporary, path);
  sync(dirname(path));
}

/** Highest change numbers: `ceiling` is the highest that may have been given out, `newest` the newest in the mirror. */
export interface FeedNumbers {
  readonly ceiling: number;
  readonly newest: number;
}

/** Returns the highest change numbers, from the files that can still be read. */
export function feedNumbers({ path, inbox_path }: { readonly path: string; readonly inbox_path: string }): FeedNumbers {
  const ceiling = asked(inbox_path, (db) => db.prepare<[], number>('SELECT feed_ceiling FROM inbox').pluck().get());
  const seen = asked(path, (db) => new ChangeReads(readsOf(db)).newest()) ?? 0;
  return { ceiling: Math.max(ceiling ?? 0, seen), newest: seen };
}

function asked<Answer>(path: string, ask: (db: ReturnType<typeof openReadOnly>) => Answer): Answer | null {
  if (noteOf(path) === null) return null;
  let db: ReturnType<typeof openReadOnly> | null = null;
  try {
    db = openReadOnly(path);
    // The numbers of a development version are lost: a new feed begins.
    return isOfDevelopment(db) ? null : ask(db);
  } catch {
    // Damaged files are not read.
    return null;
  } finally {
    db?.close();
  }
}

export interface Pairing extends FeedNumbers {
  readonly pair_id: string;
  readonly mirror: 'any' | 'none';
  /** Null: unchanged. */
  readonly heartbeat: number | null;
}

/**
 * Pairs the files again in one last commit; until then the same command starts over. The next start pairs the mirror
 * and begins a new feed.
 */
export function pairAgain(path: string, { pair_id, ceiling, newest, mirror, heartbeat }: Pairing): void {
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
