import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { megabytes } from '../../kernel/format.ts';
import { prepareDirectory } from '../../kernel/sqlite/directory.ts';
import { isWithoutRoom } from '../../kernel/sqlite/fault.ts';
import { noteOf } from '../../kernel/sqlite/identity.ts';
import { publishCopy } from '../../kernel/sqlite/published-copy.ts';
import { openReadOnly } from '../../kernel/sqlite/read-only.ts';
import { sync } from '../../kernel/sqlite/sync.ts';
import { readOwnRow } from '../../mirror/pair-with-inbox.ts';
import { removeAppliedBodies } from '../../receiver/byte-budget.store.ts';
import { backupName, inboxCopy, manifestOf, mirrorCopy } from '../backups.ts';
import { type Manifest, sha256Of, type WhyBackup } from './manifest.ts';

/** Files of a backup, and its directory. */
export interface BackupOrder {
  readonly mirror: string;
  readonly inbox: string;
  /** Directory of the backups. It is created if missing, for this user alone. */
  readonly directory: string;
  readonly why: WhyBackup;
  readonly made_by: string;
  readonly now: number;
}

export interface MadeBackup {
  /** Directory of this backup. */
  readonly backup: string;
  readonly made_at: number;
  readonly bytes: number;
}

/** Matches directories of unfinished backups. That of another process is left alone while the process runs. */
const unfinished = /^\.(?:backup|drill)\.(\d+)\.tmp$/;

/**
 * Makes a backup of both files while they are in use: one committed state of the mirror, then one of the inbox, so that
 * deliveries which the mirror has not applied yet are in the inbox's copy. The backup is verified, durable, and gets
 * its name only when it is complete.
 */
export function makeBackup(order: BackupOrder): MadeBackup {
  const { mirror, inbox, directory, now } = order;
  prepareDirectory(directory, 0o700);
  removeUnfinished(directory);
  refuseWithoutSpace(directory, 'a backup', spaceFor(mirror, inbox));
  const temporary = join(directory, `.backup.${process.pid}.tmp`);
  try {
    mkdirSync(temporary, { mode: 0o700 });
    const manifest = copyInto(temporary, order);
    writeFileSync(manifestOf(temporary), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o400, flush: true });
    sync(temporary);
    const backup = freeName(directory, now);
    renameSync(temporary, backup);
    sync(directory);
    return { backup, made_at: now, bytes: manifest.mirror.bytes + (manifest.inbox?.bytes ?? 0) };
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    throw refused(directory, error);
  }
}

/**
 * Returns the error for a disk that filled up meanwhile (74), or a directory that cannot be written to (77); any other
 * error unchanged.
 */
function refused(directory: string, error: unknown): unknown {
  if (isWithoutRoom(error))
    return withoutSpace(directory, `the disk of ${directory} filled up while a backup was made`, error);
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') return error;
  const reason = code === 'EROFS' ? 'its file system is read-only' : 'permission denied';
  return new CataloguedError('permission', `cannot write to ${directory}: ${reason}`, {
    exitCode: exitCodes.permission,
    hint: 'run it as the user of the daemon, or set backup.directory to a directory that this user may write to',
    cause: error,
  });
}

function copyInto(directory: string, { mirror, inbox, why, made_by, now }: BackupOrder): Manifest {
  const beside = { mode: 0o400 };
  publishCopy(mirror, mirrorCopy(directory), join(directory, '.mirror.tmp'), beside);
  const copied = factsOf(mirrorCopy(directory));
  const applied_delivery = copied.applied_delivery;
  const hasInbox = existsSync(inbox);
  if (hasInbox)
    publishCopy(inbox, inboxCopy(directory), join(directory, '.inbox.tmp'), {
      ...beside,
      amend: (copy) => removeAppliedBodies(copy, applied_delivery),
    });
  return {
    format: 1,
    made_at: now,
    made_by,
    why,
    contract_version: copied.contract_version,
    applied_delivery,
    mirror: described(mirrorCopy(directory)),
    inbox: hasInbox ? described(inboxCopy(directory)) : null,
    rows: copied.rows,
  };
}

function described(path: string): Manifest['mirror'] {
  const db = openReadOnly(path);
  try {
    const schema_version = Number(db.pragma('user_version', { simple: true }));
    return { bytes: statSync(path).size, sha256: sha256Of(path), schema_version };
  } finally {
    db.close();
  }
}

/** Returns the manifest's facts about the content of a mirror of any version. */
export function factsOf(path: string) {
  const db = openReadOnly(path);
  try {
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite%'",
      )
      .pluck()
      .all();
    const rows = tables.map(
      (name) => [name, db.prepare<[], number>(`SELECT count(*) FROM ${name}`).pluck().get() ?? 0] as const,
    );
    const own = readOwnRow(db);
    return {
      contract_version: own?.contract_version ?? 0,
      applied_delivery: own?.last_delivery_id ?? 0,
      rows: Object.fromEntries(rows),
    };
  } finally {
    db.close();
  }
}

/** Returns a free name. It begins with the instant, so that names sort by age. */
function freeName(directory: string, now: number): string {
  const stamp = backupName(now);
  const names = [stamp, ...Array.from({ length: 99 }, (_, index) => `${stamp}-${String(index + 2).padStart(2, '0')}`)];
  const free = names.find((name) => !existsSync(join(directory, name)));
  if (free === undefined) throw new Error(`there are ${names.length} backups of one second in ${directory}`);
  return join(directory, free);
}

/**
 * Removes unfinished backups of processes that were killed, and returns how many. Those of another running process are
 * left alone.
 */
export function removeUnfinished(directory: string): number {
  const left = readdirSync(directory).filter((name) => {
    const pid = unfinished.exec(name)?.[1];
    return pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)));
  });
  for (const name of left) rmSync(join(directory, name), { recursive: true, force: true });
  return left.length;
}

/** Returns how many bytes of an unfinished backup are written. */
export function unfinishedBytes(directory: string): number {
  try {
    return readdirSync(directory)
      .filter((name) => name.startsWith('.backup.'))
      .flatMap((name) => readdirSync(join(directory, name)).map((file) => join(directory, name, file)))
      .reduce((sum, path) => sum + (noteOf(path)?.size ?? 0), 0);
  } catch {
    // The directory does not exist yet, or no longer.
    return 0;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the most bytes that a backup of both files takes while it is made. */
export function spaceFor(mirror: string, inbox: string): number {
  // The inbox's copy is made a second time without its bodies.
  return bytesOf(mirror) + 2 * bytesOf(inbox);
}

/** Returns the size of a database with its log; 0 if there is none. */
export function bytesOf(path: string): number {
  return (noteOf(path)?.size ?? 0) + (noteOf(`${path}-wal`)?.size ?? 0);
}

/**
 * Throws at once if there is too little space for the work (74): a disk that fills up on the way would stop the daemon
 * too.
 */
export function refuseWithoutSpace(directory: string, what: string, needed: number): void {
  const free = freeIn(directory);
  if (free >= needed) return;
  throw withoutSpace(
    directory,
    `${what} needs up to ${megabytes(needed)}, and ${directory} has ${megabytes(free)} free`,
  );
}

export function freeIn(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function withoutSpace(directory: string, says: string, cause?: unknown): CataloguedError {
  return new CataloguedError('backup-space', says, {
    exitCode: exitCodes.io,
    hint: `free space in ${dirname(directory)}, lower backup.keep, or set backup.directory to another disk`,
    cause,
  });
}
