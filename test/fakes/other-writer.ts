import { captureRows, type Publish } from '../../src/feed/capture.store.ts';
import { type Database, openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';

/** Opens a mirror as another process of this version does: what it writes moves all that follows from it. */
export function otherWriter(path: string): Database {
  const db = openForWriting(path, mirrorFile);
  const publish = db.prepare<[], Publish>('SELECT publish FROM _row_feed').pluck().get() ?? 'none';
  captureRows(db, { publish, another: false, newOrigin: () => 'another' });
  return db;
}
