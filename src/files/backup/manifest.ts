import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { backupsIn, manifestOf } from '../backups.ts';

const copy = z.object({
  bytes: z.number().int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Number of migrations of the schema it was written with. */
  schema_version: z.number().int(),
});

const manifest = z.object({
  /** Layout of a backup. It is raised when an older version could not restore it. */
  format: z.literal(1),
  made_at: z.number().int(),
  made_by: z.string(),
  why: z.enum(['schedule', 'asked', 'upgrade']),
  contract_version: z.number().int(),
  /**
   * Number of the last delivery whose effects are in the mirror's copy. Later ones are in the inbox's copy with their
   * bodies.
   */
  applied_delivery: z.number().int(),
  mirror: copy,
  /** Null: there was no inbox. */
  inbox: copy.nullable(),
  /** Rows of each table of the mirror. */
  rows: z.record(z.string(), z.number().int()),
});

/** Manifest of a backup. Instants are epoch milliseconds. */
export type Manifest = Readonly<z.infer<typeof manifest>>;
export type WhyBackup = Manifest['why'];

/**
 * Reads a backup's manifest. Throws 65 for a directory that is not a backup, or is one of a newer version, and 77
 * without permission.
 */
export function readManifest(backup: string): Manifest {
  const path = manifestOf(backup);
  try {
    return manifest.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES') throw notABackup(backup, `${path} cannot be read: permission denied`, exitCodes.permission);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw notABackup(backup, notThere(backup));
    throw notABackup(backup, `${path} is no manifest that this version can read`);
  }
}

function notThere(backup: string): string {
  if (statSync(backup, { throwIfNoEntry: false }) === undefined) return `there is no directory ${backup}`;
  return `${backup} is no backup: it has no manifest.json`;
}

/** Returns the error for a directory that is not a backup, or is one no longer. */
export function notABackup(backup: string, wrong: string, exitCode: 65 | 77 = exitCodes.data): CataloguedError {
  const inside = backupsIn(backup).at(-1);
  return new CataloguedError('not-a-backup', wrong, {
    exitCode,
    hint:
      inside === undefined
        ? 'name another backup: catalogued backup --list shows those in backup.directory'
        : `name one of the backups in it: ${inside}`,
  });
}

/** Returns the SHA-256 of a file, read in pieces, as hexadecimal digits. */
export function sha256Of(path: string): string {
  const hash = createHash('sha256');
  const descriptor = openSync(path, 'r');
  try {
    const piece = Buffer.allocUnsafe(1024 * 1024);
    for (let read = readSync(descriptor, piece); read > 0; read = readSync(descriptor, piece))
      hash.update(piece.subarray(0, read));
    return hash.digest('hex');
  } finally {
    closeSync(descriptor);
  }
}

/** Throws 65 unless a copy equals, byte by byte, the one described by the manifest. */
export function verifyCopy(backup: string, path: string, { bytes, sha256 }: Manifest['mirror']): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw notABackup(backup, `${backup} has no ${basename(path)}`);
  if (found.size !== bytes)
    throw notABackup(backup, `${path} has ${found.size} bytes, and had ${bytes} when the backup was made`);
  if (sha256Of(path) !== sha256)
    throw notABackup(backup, `${path} is not what it was when the backup was made (its SHA-256 differs)`);
}
