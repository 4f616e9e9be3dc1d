import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/* A backup is a directory that is whole once it has its name: a copy of both files, and a manifest. */

/** Returns the backups in a directory, oldest first, by name: nothing in them has been looked at. */
export function backupsIn(directory: string): string[] {
  const names = existsSync(directory) && statSync(directory).isDirectory() ? readdirSync(directory) : [];
  return names
    .filter((name) => !name.startsWith('.'))
    .sort()
    .map((name) => join(directory, name))
    .filter((path) => existsSync(manifestOf(path)));
}

export const mirrorCopy = (backup: string): string => join(backup, 'mirror.db');
export const inboxCopy = (backup: string): string => join(backup, 'inbox.db');
export const manifestOf = (backup: string): string => join(backup, 'manifest.json');
