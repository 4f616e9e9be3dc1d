import { type Database, type FileKind, openForReading } from '../sqlite/database-file.ts';

/** mirror.db: `CTLG`. Storefronts of the group read it; only the daemon writes and checkpoints. */
export const mirrorFile: FileKind = {
  name: 'mirror',
  application_id: 0x43544c47,
  migrations: new URL('../../schema/mirror/', import.meta.url),
  mode: 0o660,
  wal_autocheckpoint: 0,
};

/** Opens the mirror as a storefront does. */
export function openMirrorForReading(path: string): Database {
  return openForReading(path, mirrorFile);
}
