import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { futureToleranceMs } from '../schedule/record.rules.ts';

/* A backup is a directory that is complete once it has its name: a copy of both files, and a manifest. */

/** Returns the name of a backup made now. Names sort by age. */
export function backupName(now: number): string {
  return `${new Date(now).toISOString().replaceAll(':', '').slice(0, 17)}Z`;
}

/**
 * Returns the backups in a directory, oldest first, by name; their content is not inspected. Backups with a name in the
 * future were named with a wrong clock. They come first, so that none of them counts as the newest, and they are
 * removed first. Without `now` all are in the order of their names.
 */
export function backupsIn(directory: string, now?: number): string[] {
  const names = existsSync(directory) && statSync(directory).isDirectory() ? readdirSync(directory) : [];
  const ahead = now === undefined ? null : backupName(now + futureToleranceMs);
  const isAhead = (name: string) => ahead !== null && name > ahead;
  const sorted = names.filter((name) => !name.startsWith('.')).sort();
  return [...sorted.filter(isAhead), ...sorted.filter((name) => !isAhead(name))]
    .map((name) => join(directory, name))
    .filter((path) => existsSync(manifestOf(path)));
}

export const mirrorCopy = (backup: string): string => join(backup, 'mirror.db');
export const inboxCopy = (backup: string): string => join(backup, 'inbox.db');
export const manifestOf = (backup: string): string => join(backup, 'manifest.json');
