import { CataloguedError, exitCodes } from '../../errors.ts';
import { packageRoot } from '../../package.ts';
import { type Database, type FileKind, openForReading, schemaVersion } from '../../sqlite/database-file.ts';

const triggersOf = (name: string) => new URL(`schema/mirror/triggers/${name}.sql`, packageRoot);

/** Triggers that keep the search indexes of any mirror, also of a copy whose rows are the daemon's. */
export const searchTriggers = [triggersOf('search')];

/** mirror.db: `CATR`. Storefronts of the group read it; only the daemon writes and checkpoints. */
export const mirrorFile: FileKind = {
  name: 'mirror',
  application_id: 0x43415452,
  migrations: new URL('schema/mirror/', packageRoot),
  views: new URL('schema/mirror/views.sql', packageRoot),
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
