import {
  chmodSync,
  constants,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { type FileKind, openForWriting, schemaVersion } from '../../kernel/sqlite/database-file.ts';
import { developmentFile, ofDevelopment } from '../../kernel/sqlite/development.ts';
import { isWithoutRoom } from '../../kernel/sqlite/fault.ts';
import { lookBeside } from '../../kernel/sqlite/look.ts';
import { mirrorFile } from '../../mirror/sql/files.ts';
import { inboxFile } from '../../receiver/inbox.ts';
import { inboxCopy, mirrorCopy } from '../backups.ts';
import { factsOf, refuseWithoutSpace, removeUnfinished } from './make.ts';
import { type Manifest, notABackup, readManifest, verifyCopy } from './manifest.ts';

/** Last test of a backup: it is restored to see whether that works. */
export interface Drill {
  readonly backup: string;
  readonly at: number;
  /** Null if it could be restored. */
  readonly failure: string | null;
}

/**
 * Tests a backup: restores it beside itself as `restore` would, opens both files as a start would, compares their
 * content with the manifest, and discards them. Writes the result into the directory of the backups. Throws if there is
 * no space for the test, which proves nothing about the backup.
 */
export function tryBackup({ backup, now }: { readonly backup: string; readonly now: number }): Drill {
  const drill = { backup, at: now, failure: failureOf(() => restoreAside(backup)) };
  writeDrill(dirname(backup), drill);
  return drill;
}

function failureOf(work: () => void): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (isWithoutRoom(error) || (error instanceof CataloguedError && error.code === 'backup-space')) throw error;
    return (error as Error).message;
  }
}

function restoreAside(backup: string): void {
  const manifest = verifyBackup(backup);
  const needed = manifest.mirror.bytes + (manifest.inbox?.bytes ?? 0);
  refuseWithoutSpace(dirname(backup), 'restoring a backup on trial', needed);
  removeUnfinished(dirname(backup));
  const aside = join(dirname(backup), `.drill.${process.pid}.tmp`);
  mkdirSync(aside, { mode: 0o700 });
  try {
    openedCopy(mirrorCopy(backup), join(aside, 'mirror.db'), mirrorFile);
    if (manifest.inbox !== null) openedCopy(inboxCopy(backup), join(aside, 'inbox.db'), inboxFile);
    // A newer version adds rows of its own when it brings the schema up to date.
    if (manifest.mirror.schema_version === schemaVersion(mirrorFile))
      compareRows(backup, factsOf(join(aside, 'mirror.db')).rows, manifest.rows);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Reads the manifest of a backup and every byte of its copies; throws 65. */
export function verifyBackup(backup: string): Manifest {
  const manifest = readManifest(backup);
  if (lookBeside(mirrorCopy(backup), mirrorFile, 'header').condition === 'development')
    throw new CataloguedError('development-file', `${backup} cannot be restored: ${ofDevelopment}`, {
      exitCode: exitCodes.data,
      hint: `begin again without it: ${developmentFile(backup).hint}`,
    });
  const newer = [
    ['mirror.db', manifest.mirror, mirrorFile] as const,
    ...(manifest.inbox === null ? [] : [['inbox.db', manifest.inbox, inboxFile] as const]),
  ].find(([, { schema_version }, kind]) => schema_version > schemaVersion(kind));
  if (newer !== undefined)
    throw notABackup(
      backup,
      `${backup} was made by ${manifest.made_by}, which is newer: its ${newer[0]} has schema ${newer[1].schema_version}`,
    );
  verifyCopy(backup, mirrorCopy(backup), manifest.mirror);
  requireKind(backup, mirrorCopy(backup), mirrorFile);
  if (manifest.inbox !== null) {
    verifyCopy(backup, inboxCopy(backup), manifest.inbox);
    requireKind(backup, inboxCopy(backup), inboxFile);
  }
  return manifest;
}

/**
 * Throws 65 unless a copy is a file of this kind. Its bytes may match a manifest that was written for another program's
 * file.
 */
function requireKind(backup: string, path: string, kind: FileKind): void {
  const { condition, wrong } = lookBeside(path, kind, 'header');
  if (condition !== 'well') throw notABackup(backup, `${path} is no ${kind.name} of catalogued: ${wrong}`);
}

/** Opens a copy as a start would: brings its schema up to date, and checks every page and index. */
function openedCopy(copy: string, path: string, kind: FileKind): void {
  copyFileSync(copy, path, constants.COPYFILE_FICLONE);
  chmodSync(path, kind.mode);
  const db = openForWriting(path, kind);
  try {
    const problem = db.pragma('integrity_check(1)', { simple: true });
    if (problem !== 'ok') throw new Error(`${copy} is damaged: ${String(problem)}`);
  } finally {
    db.close();
  }
}

function compareRows(backup: string, found: Manifest['rows'], made: Manifest['rows']): void {
  const differing = Object.keys({ ...found, ...made }).find((table) => found[table] !== made[table]);
  if (differing !== undefined)
    throw new Error(
      `${backup} has ${found[differing] ?? 'no'} rows in ${differing}, and had ${made[differing] ?? 'none'} when it was made`,
    );
}

const noteOf = (directory: string) => join(directory, 'drill.json');

function writeDrill(directory: string, drill: Drill): void {
  const temporary = join(directory, `.${basename(noteOf(directory))}.${process.pid}.tmp`);
  writeFileSync(temporary, `${JSON.stringify(drill)}\n`, { mode: 0o600, flush: true });
  renameSync(temporary, noteOf(directory));
}

/** Returns the result of the last test in a directory of backups; null if there was none. */
export function lastDrill(directory: string): Drill | null {
  try {
    return JSON.parse(readFileSync(noteOf(directory), 'utf8')) as Drill;
  } catch {
    return null;
  }
}
