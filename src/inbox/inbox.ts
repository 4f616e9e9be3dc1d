import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { FileKind } from '../sqlite/database-file.ts';
import { openForWriting } from '../sqlite/database-file.ts';

/** inbox.db: `CTLI`. The daemon's own: it stays in the state directory, which no storefront may enter. */
const inboxFile: FileKind = {
  name: 'inbox',
  application_id: 0x43544c49,
  migrations: new URL('../../schema/inbox/', import.meta.url),
  mode: 0o600,
  wal_autocheckpoint: 1000,
};

/** The daemon's own durable file. (The receiver's deliveries will live here.) */
export interface Inbox extends Disposable {
  /** Shared with the mirror, so that the wrong two are never used together. */
  readonly pair_id: string;
  /** Whether the last process ended cleanly and the mirror's file is still as it left it. */
  readonly clean: boolean;
  /** Notes a clean end, after the mirror was closed. */
  stopped(mirror_path: string, now: number): void;
}

/** Opens or makes the inbox, and marks it as in use. `newPairId` is an argument, so that tests can know it. */
export function openInbox(path: string, mirror_path: string, newPairId: () => string = randomUUID): Inbox {
  const db = openForWriting(path, inboxFile);
  db.prepare('INSERT OR IGNORE INTO inbox (inbox_id, pair_id) VALUES (1, ?)').run(newPairId());
  const row = db
    .prepare<
      [],
      { pair_id: string; stopped_at: number | null; mirror_size: number | null; mirror_modified_at: number | null }
    >('SELECT pair_id, stopped_at, mirror_size, mirror_modified_at FROM inbox')
    .get();
  if (row === undefined) throw new Error('the inbox has no row');
  const now = sizeAndTime(mirror_path);
  const untouched = row.mirror_size === now.size && row.mirror_modified_at === now.modified_at;
  db.exec('UPDATE inbox SET stopped_at = NULL');
  return {
    pair_id: row.pair_id,
    clean: row.stopped_at !== null && untouched,
    stopped: (path, at) => {
      const { size, modified_at } = sizeAndTime(path);
      db.prepare('UPDATE inbox SET stopped_at = ?, mirror_size = ?, mirror_modified_at = ?').run(at, size, modified_at);
    },
    [Symbol.dispose]: () => db.close(),
  };
}

function sizeAndTime(path: string): { size: number | null; modified_at: number | null } {
  const stats = statSync(path, { throwIfNoEntry: false });
  return { size: stats?.size ?? null, modified_at: stats === undefined ? null : Math.trunc(stats.mtimeMs) };
}
