import { noteOf } from '../sqlite/identity.ts';
import type { Bound, Writes } from '../sqlite/statements.ts';
import { type MirrorState, query } from './tables.ts';

/** The facts that outlive a mirror: which mirror it is paired with, and which numbers its change feed may have used. */
export interface FeedLedger {
  /** `none`: no mirror was opened yet; `any`: the next mirror is accepted as its pair; `known`: it has a pair. */
  readonly mirror: MirrorState;
  /** Returns whether this is the mirror that was opened last, judged by its inode. */
  isSame(mirror_path: string): boolean;
  /** All numbers up to this one were used. */
  readonly witnessed: number;
  /** Returns the number above which none was ever used. Kept in memory; raised by `reserve`. */
  ceiling(): number;
  /** Makes durable that numbers up to `ceiling` may be used. */
  reserve(ceiling: number): void;
  /** Records that numbers up to `newest` were used. */
  witness(newest: number): void;
  /**
   * Continues the feed of a mirror that another instance led until now. Numbers above `newest` that were used here were
   * never published.
   */
  takeOver(mirror_path: string, newest: number): void;
  /** Records that the mirror at this path is the pair of this inbox. */
  opened(mirror_path: string): void;
}

/** Returns the inode number of a file; null: there is no file. */
export type InodeOf = (path: string) => string | null;

export const diskInode: InodeOf = (path) => noteOf(path)?.inode ?? null;

export function feedLedger(db: Writes, inodeOf: InodeOf): FeedLedger {
  const row = db
    .rows(() => query.selectFrom('inbox').select(['mirror_state', 'mirror_inode', 'feed_ceiling', 'feed_newest']))
    .get();
  if (row === undefined) throw new Error('the inbox has no row');
  const reserve = db.change(({ above }: Bound<{ above: number }>) =>
    query.updateTable('inbox').set(({ fn }) => ({ feed_ceiling: fn<number>('max', ['feed_ceiling', above]) })),
  );
  const witness = db.change(({ newest }: Bound<{ newest: number }>) =>
    query
      .updateTable('inbox')
      .set(({ fn }) => ({ feed_newest: newest, feed_ceiling: fn<number>('max', ['feed_ceiling', newest]) }))
      .where('feed_newest', '<', newest),
  );
  const opened = db.change(({ inode }: Bound<{ inode: string | null }>) =>
    query.updateTable('inbox').set({ mirror_state: 'known', mirror_inode: inode }),
  );
  const takeOver = db.change(({ newest, inode }: Bound<{ newest: number; inode: string | null }>) =>
    query
      .updateTable('inbox')
      .set({ mirror_state: 'known', mirror_inode: inode, feed_newest: newest, feed_ceiling: newest }),
  );
  let ceiling = row.feed_ceiling;
  let newest_noted = row.feed_newest;
  return {
    mirror: row.mirror_state,
    isSame: (path) => row.mirror_inode === null || row.mirror_inode === inodeOf(path),
    witnessed: row.feed_newest,
    ceiling: () => ceiling,
    reserve: (above) => {
      db.transaction(() => reserve.run({ above }));
      ceiling = Math.max(ceiling, above);
    },
    witness: (newest) => {
      if (newest <= newest_noted) return;
      db.transaction(() => witness.run({ newest }));
      newest_noted = newest;
    },
    takeOver: (path, newest) => {
      db.transaction(() => takeOver.run({ newest, inode: inodeOf(path) }));
    },
    opened: (path) => {
      db.transaction(() => opened.run({ inode: inodeOf(path) }));
    },
  };
}
