import { readFileSync } from 'node:fs';
import { extname } from 'node:path';

/*
 * Directory of the package. This file is right below src/, and its bundle right below dist/: both are one step
 * away from the root.
 */

/** The package's own folder, with schema/, config/ and package.json in it. */
export const packageRoot = new URL('../', import.meta.url);

interface Manifest {
  readonly version: string;
  /** Versions of what builds and tests the program, and of what is part of it. */
  readonly devDependencies: Readonly<Record<string, string>>;
}

export const manifest = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')) as Manifest;

/** The version of this program. */
export const { version } = manifest;

/** Programs that run as a process or a thread of their own, by their path below src/ and dist/. */
export const ownPrograms = [
  'daemon/reading/worker',
  'files/backup/child',
  'files/integrity-child',
  'files/snapshot/child',
  'says/doctor/reader-probe',
  'says/status/worker',
] as const;

/** The file of a program of our own: the source or the built one, like this one. */
export function ownProgram(name: (typeof ownPrograms)[number]): URL {
  return new URL(`${name}${extname(import.meta.url)}`, import.meta.url);
}
