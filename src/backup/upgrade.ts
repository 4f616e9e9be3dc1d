import { chmodSync, constants, copyFileSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { inboxFile } from '../inbox/inbox.ts';
import type { Logger } from '../log.ts';
import { contractVersion } from '../mirror/claim.ts';
import { readOwnRow } from '../mirror/own-row.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import { type FileKind, openForWriting, schemaVersion } from '../sqlite/database-file.ts';
import { prepareDirectory } from '../sqlite/directory.ts';
import { noteOf } from '../sqlite/identity.ts';
import { lookBeside } from '../sqlite/look.ts';
import { publishCopy } from '../sqlite/published-copy.ts';
import { openReadOnly } from '../sqlite/read-only.ts';
import { version } from '../version.ts';
import { makeBackup, removeUnfinished } from './make.ts';

type Paths = Pick<Config, 'mirror' | 'backup'>;

/** The schema of one of the files, and the one that this version brings it up to. */
export interface SchemaStep {
  readonly from: number;
  readonly to: number;
}

/** What an upgrade to this version will do, tried on a copy. */
export interface UpgradeCheck {
  readonly version: string;
  /** The version that has written the mirror. */
  readonly written_by: string;
  /** Null: the schema stays. */
  readonly mirror: SchemaStep | null;
  readonly inbox: SchemaStep | null;
  readonly contract: { readonly from: number; readonly to: number };
  /** What storefronts find afterwards: columns as `view.column`, views by name. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Measured on a copy: the backup before it, and the change itself. Milliseconds; storefronts can read meanwhile. */
  readonly backup_ms: number;
  readonly change_ms: number;
  /** Bytes that it takes, and that there are. */
  readonly needed_bytes: number;
  readonly free_bytes: number;
}

/** Tells whether this version will change the schema of either file at its next start. */
function schemaSteps({ mirror }: Pick<Paths, 'mirror'>): Pick<UpgradeCheck, 'mirror' | 'inbox'> {
  return { mirror: stepOf(mirror.path, mirrorFile), inbox: stepOf(mirror.inbox_path, inboxFile) };
}

function stepOf(path: string, kind: FileKind): SchemaStep | null {
  if (lookBeside(path, kind, 'header').condition !== 'well') return null;
  const db = openReadOnly(path);
  try {
    const from = Number(db.pragma('user_version', { simple: true }));
    const to = schemaVersion(kind);
    return from < to ? { from, to } : null;
  } finally {
    db.close();
  }
}

/**
 * Makes a backup where this version is about to change the schema: the way back. Without one nothing is changed, and the
 * start is refused. For who holds the lock.
 */
export function backUpBeforeUpgrade(
  { mirror, backup }: Paths,
  { clock, log }: { readonly clock: Pick<Clock, 'now'>; readonly log: Logger },
): void {
  const steps = schemaSteps({ mirror });
  if ((steps.mirror ?? steps.inbox) === null || noteOf(mirror.path) === null) return;
  try {
    const order = {
      mirror: mirror.path,
      inbox: mirror.inbox_path,
      directory: backup.directory,
      why: 'upgrade',
    } as const;
    const made = makeBackup({ ...order, made_by: `catalogued ${version}`, now: clock.now() });
    log.info({ ...steps, ...made }, 'backup made before the upgrade');
  } catch (error) {
    const known = error instanceof CataloguedError;
    throw new CataloguedError(
      'upgrade-backup',
      `no backup could be made before the upgrade, so nothing was changed: ${(error as Error).message}`,
      {
        exitCode: known ? error.exitCode : exitCodes.io,
        hint:
          (known ? error.hint : undefined) ??
          `make ${backup.directory} writable, or set backup.directory to another disk`,
        cause: error,
      },
    );
  }
}

/** Tries the upgrade on a copy beside the backups, which is removed again. The mirror is only read: a daemon may run. */
export function checkUpgrade({ mirror, backup }: Paths, { monotonic }: Pick<Clock, 'monotonic'>): UpgradeCheck {
  const { path } = mirror;
  prepareDirectory(backup.directory, 0o700);
  removeUnfinished(backup.directory);
  const aside = join(backup.directory, `.drill.${process.pid}.tmp`);
  mkdirSync(aside, { mode: 0o700 });
  try {
    const [copy, tried] = [join(aside, 'mirror.db'), join(aside, 'tried.db')];
    const began = monotonic();
    publishCopy(path, copy, join(aside, '.mirror.tmp'));
    const copied = monotonic();
    copyFileSync(copy, tried, constants.COPYFILE_FICLONE);
    chmodSync(tried, mirrorFile.mode);
    const changing = monotonic();
    openForWriting(tried, mirrorFile).close();
    const changed = monotonic();
    const [before, after] = [shownBy(copy), shownBy(tried)];
    const { bavail, bsize } = statfsSync(dirname(path));
    return {
      version,
      written_by: before.written_by,
      ...schemaSteps({ mirror }),
      contract: { from: before.contract_version, to: contractVersion },
      added: [...after.columns].filter((name) => !before.columns.has(name)).sort(),
      removed: [...before.columns].filter((name) => !after.columns.has(name)).sort(),
      backup_ms: Math.round(copied - began),
      change_ms: Math.round(changed - changing),
      needed_bytes: 2 * (noteOf(copy)?.size ?? 0),
      free_bytes: bavail * bsize,
    };
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

interface Shown {
  readonly contract_version: number;
  readonly written_by: string;
  readonly columns: ReadonlySet<string>;
}

function shownBy(path: string): Shown {
  const db = openReadOnly(path);
  try {
    const columns = db
      .prepare<[], string>(
        "SELECT v.name || '.' || c.name FROM sqlite_schema v, pragma_table_info(v.name) c WHERE v.type = 'view'",
      )
      .pluck()
      .all();
    const own = readOwnRow(db);
    return {
      contract_version: own?.contract_version ?? 0,
      written_by: own?.written_by ?? 'nobody',
      columns: new Set(columns),
    };
  } finally {
    db.close();
  }
}
