import { CataloguedError, exitCodes } from '../../errors.ts';
import { packageRoot } from '../../package.ts';
import { type Database, type FileKind, openForReading, schemaVersion } from '../../sqlite/database-file.ts';
import type { ViewColumns } from '../../sqlite/view-columns.ts';
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
