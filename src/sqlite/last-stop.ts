import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type FileNote, noteOf } from './identity.ts';
import { sync } from './sync.ts';

/** How the last process left a file. */
export type LeftFile = FileNote & {
  /** What a check has found wrong with it; null: nothing. */
  readonly damage: string | null;
  /** When all of it was last gone through; null: not known. */
  readonly checked_at: number | null;
};

/** What a process knows of a file that it leaves. */
export type Leaving = Pick<LeftFile, 'damage' | 'checked_at'>;

/** A note beside the files, because it has to be read before either is opened. By path of the file. */
export type LastStop = Readonly<Record<string, LeftFile>>;

/** An empty one where there is none: the last process was killed, or there was none. */
export function readLastStop(path: string): LastStop {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LastStop;
  } catch {
    return {};
  }
}

/** Durable, and whole under its name. */
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

/** Before the first write: from here on the files are in use. */
export function forgetLastStop(path: string): void {
  rmSync(path, { force: true });
  sync(dirname(path));
}
