import { noteOf } from '../sqlite/identity.ts';
import type { Bound, Writes } from '../sqlite/statements.ts';
import { type MirrorState, query } from './tables.ts';

/** What outlives a mirror: with which it is paired, and which numbers its change feed may have given out. */
export interface FeedLedger {
  /** `none` was opened yet, `any` is paired again, or there is a `known` one. */
  readonly mirror: MirrorState;
  /** Tells whether this is the mirror that was opened last, by its inode. */
  isSame(mirror_path: string): boolean;
  /** At least those up to this number were given out. */
  readonly witnessed: number;
  /** None above it ever was. Kept in memory; raised by `reserve`. */
  ceiling(): number;
  /** Makes durable that numbers up to `ceiling` may be given out. */
  reserve(ceiling: number): void;
  /** Notes that numbers up to `newest` were given out. */
  witness(newest: number): void;
  /**
   * Goes on with the feed of a mirror that another instance led until now: numbers above `newest` that were given out
   * here were told to nobody.
   */
  takeOver(mirror_path: string, newest: number): void;
  /** Notes that the mirror at this path is the one that belongs here. */
  opened(mirror_path: string): void;
}

/** Returns the number that the disk has given a file; null: nothing stands there. */
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
