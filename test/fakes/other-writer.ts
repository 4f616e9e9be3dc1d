import { captureRows, type Publish } from '../../src/mirror/rows/capture.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { type Database, openForWriting } from '../../src/sqlite/database-file.ts';

/** Opens a mirror as another process of this version does: what it writes moves all that follows from it. */
export function otherWriter(path: string): Database {
  const db = openForWriting(path, mirrorFile);
  const publish = db.prepare<[], Publish>('SELECT publish FROM _row_feed').pluck().get() ?? 'none';
  captureRows(db, { publish, another: false, newOrigin: () => 'another' });
  return db;
}
