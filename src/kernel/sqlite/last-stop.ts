import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type FileNote, noteOf } from './identity.ts';
import { sync } from './sync.ts';

/** Facts that a process knows about a file when it stops using it. */
export interface Leaving {
  /** Damage that a check found; null if none. */
  readonly damage: string | null;
  /** Instant of the last check of the whole file; null if unknown. */
  readonly checked_at: number | null;
}

/** State in which the last process left a file. */
export type LeftFile = FileNote & Leaving;

/** Note by path of the file. It lies beside the files because it has to be read before any of them is opened. */
export type LastStop = Readonly<Record<string, LeftFile>>;

/** Returns an empty note if there is none: the last process was killed, or there was none. */
export function readLastStop(path: string): LastStop {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LastStop;
  } catch {
    return {};
  }
}

/** Writes the note durably; under its name it is always whole. */
export function writeLastStop(path: string, files: Readonly<Record<string, Leaving>>): void {
  const left = Object.entries(files).flatMap(([file, leaving]) => {
    const note = noteOf(file);
    return note === null ? [] : [[file, { ...note, ...leaving }] as const];
  });
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(Object.fromEntries(left))}\n`, { mode: 0o600, flush: true });
  renameSync(temporary, path);
  sync(dirname(path));
}

/** Removes the note before the first write: from here on the files are in use. */
export function forgetLastStop(path: string): void {
  rmSync(path, { force: true });
  sync(dirname(path));
}
