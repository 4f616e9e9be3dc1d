import { noteOf } from '../kernel/sqlite/identity.ts';
import { type Bound, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { type MirrorState, query } from './tables.ts';

/** Returns the inode number of a file; null: there is no file. */
export type InodeOf = (path: string) => string | null;

export const diskInode: InodeOf = (path) => noteOf(path)?.inode ?? null;

type Taken = { newest: number; inode: string | null };

/** The facts that outlive a mirror: which mirror it is paired with, and which numbers its change feed may have used. */
export class FeedLedger extends Store<Writes> {
  readonly #reserve = this.db.change(({ above }: Bound<{ above: number }>) =>
    query.updateTable('inbox').set(({ fn }) => ({ feed_ceiling: fn<number>('max', ['feed_ceiling', above]) })),
  );
  readonly #witness = this.db.change(({ newest }: Bound<{ newest: number }>) =>
    query
      .updateTable('inbox')
      .set(({ fn }) => ({ feed_newest: newest, feed_ceiling: fn<number>('max', ['feed_ceiling', newest]) }))
      .where('feed_newest', '<', newest),
  );
  readonly #opened = this.db.change(({ inode }: Bound<{ inode: string | null }>) =>
    query.updateTable('inbox').set({ mirror_state: 'known', mirror_inode: inode }),
  );
  readonly #takeOver = this.db.change(({ newest, inode }: Bound<Taken>) =>
    query
      .updateTable('inbox')
      .set({ mirror_state: 'known', mirror_inode: inode, feed_newest: newest, feed_ceiling: newest }),
  );
  readonly #inodeOf: InodeOf;
  readonly #inode: string | null;
  /** `none`: no mirror was opened yet; `any`: the next mirror is accepted as its pair; `known`: it has a pair. */
  readonly mirror: MirrorState;
  /** All numbers up to this one were used. */
  readonly witnessed: number;
  #ceiling: number;
  #newest: number;

  constructor(db: Writes, inodeOf: InodeOf) {
    super(db);
    const columns = ['mirror_state', 'mirror_inode', 'feed_ceiling', 'feed_newest'] as const;
    const row = db.row(() => query.selectFrom('inbox').select(columns))();
    if (row === null) throw new Error('the inbox has no row');
    this.#inodeOf = inodeOf;
    this.#inode = row.mirror_inode;
    this.mirror = row.mirror_state;
    this.witnessed = row.feed_newest;
    this.#ceiling = row.feed_ceiling;
    this.#newest = row.feed_newest;
  }

  /** Returns whether this is the mirror that was opened last, judged by its inode. */
  isSame(mirror_path: string): boolean {
    return this.#inode === null || this.#inode === this.#inodeOf(mirror_path);
  }

  /** Returns the number above which none was ever used. Kept in memory; raised by `reserve`. */
  ceiling(): number {
    return this.#ceiling;
  }

  /** Makes durable that numbers up to `ceiling` may be used. */
  reserve(ceiling: number): void {
    this.db.transaction(() => this.#reserve({ above: ceiling }));
    this.#ceiling = Math.max(this.#ceiling, ceiling);
  }

  /** Records that numbers up to `newest` were used. */
  witness(newest: number): void {
    if (newest <= this.#newest) return;
    this.db.transaction(() => this.#witness({ newest }));
    this.#newest = newest;
  }

  /**
   * Continues the feed of a mirror that another instance led until now. Numbers above `newest` that were used here were
   * never published.
   */
  takeOver(mirror_path: string, newest: number): void {
    this.db.transaction(() => this.#takeOver({ newest, inode: this.#inodeOf(mirror_path) }));
  }

  /** Records that the mirror at this path is the pair of this inbox. */
  opened(mirror_path: string): void {
    this.db.transaction(() => this.#opened({ inode: this.#inodeOf(mirror_path) }));
  }
}
