import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import {
  type Database,
  type FileKind,
  openForReading,
  schemaVersion,
  waitForLocks,
  walSizeOf,
} from '../../kernel/sqlite/database-file.ts';
import { writeTroubleOf } from '../../kernel/sqlite/fault.ts';
import { withinQuota } from '../../kernel/sqlite/quota.ts';
import type { ViewColumns } from '../../kernel/sqlite/view-columns.ts';
import { packageRoot } from '../../package.ts';
import { contract } from '../contract/contract.ts';
import { searchTables } from '../contract/search.ts';

const triggersOf = (name: string) => new URL(`schema/mirror/triggers/${name}.sql`, packageRoot);

/** Columns of everything that readers may use, by the name of its view or table. */
export const readableColumns: ViewColumns = new Map(
  Object.values({ ...contract, ...searchTables }).map(({ name, columns }) => [name, Object.keys(columns)]),
);

/** Triggers that keep the search indexes of any mirror, also of a copy whose rows are the daemon's. */
export const searchTriggers = [triggersOf('search')];

/** mirror.db: `CATU`. Storefronts of the group read it; only the daemon writes and checkpoints. */
export const mirrorFile: FileKind = {
  name: 'mirror',
  application_id: 0x43415455,
  migrations: new URL('schema/mirror/', packageRoot),
  views: new URL('schema/mirror/views.sql', packageRoot),
  view_columns: readableColumns,
  triggers: [triggersOf('catalogue'), ...searchTriggers],
  mode: 0o660,
  wal_autocheckpoint: 0,
  writer: 'SELECT written_by FROM mirror_info',
};

/** Opens the mirror as a storefront does; one with an older schema is refused (65). */
export function openMirrorForReading(path: string): Database {
  const db = openForReading(path, mirrorFile);
  if (Number(db.pragma('user_version', { simple: true })) >= schemaVersion(mirrorFile)) return db;
  db.close();
  throw new CataloguedError('older-mirror', `${path} was written by an older version`, {
    exitCode: exitCodes.data,
    hint: 'start the daemon once: it brings the file up to date',
  });
}

const megabyte = 1024 * 1024;

/** Checkpoints the write-ahead log into the database file. */
export class LogCopy {
  readonly #db: Database;
  readonly #path: string;
  readonly #passive;
  readonly #none;
  readonly #pageSize: number;
  #lockWaitMs = 5000;

  constructor(db: Database, path: string) {
    type Pages = { busy: number; log: number; checkpointed: number };
    this.#db = db;
    this.#path = path;
    this.#passive = db.prepare<[], Pages>('PRAGMA wal_checkpoint(PASSIVE)');
    this.#none = db.prepare<[], Pages>('PRAGMA wal_checkpoint(NOOP)');
    this.#pageSize = Number(db.pragma('page_size', { simple: true }));
  }

  /** See `Mirror.checkpoint`. */
  checkpoint(space: 'plenty' | 'tight' = 'plenty'): number {
    try {
      withinQuota(this.#path, () => this.#copy(space));
    } catch (error) {
      if (writeTroubleOf(error) === null) throw error;
    }
    return walSizeOf(this.#path);
  }

  /** See `Mirror.waitForLocks`. */
  waitForLocks(ms: number): void {
    this.#lockWaitMs = ms;
    waitForLocks(this.#db, ms);
  }

  #copy(space: 'plenty' | 'tight'): void {
    const [least, most] = space === 'tight' ? [0, 0] : [8 * megabyte, 64 * megabyte];
    const size = walSizeOf(this.#path);
    // A log that was copied keeps its size, and is written again from its beginning.
    if (size <= least || (size <= most && this.#waiting() <= least)) return;
    const { log = 0, checkpointed = 0 } = this.#passive.get() ?? {};
    // Everything is copied, so no reader needs the log any more: it can be cut, without waiting for anybody.
    if (log !== checkpointed || size <= most) return;
    waitForLocks(this.#db, 0);
    try {
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      waitForLocks(this.#db, this.#lockWaitMs);
    }
  }

  /** Returns how many bytes of the log are not in the file yet. */
  #waiting(): number {
    const { log = 0, checkpointed = 0 } = this.#none.get() ?? {};
    return (log - checkpointed) * this.#pageSize;
  }
}
