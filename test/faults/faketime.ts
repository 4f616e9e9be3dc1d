import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** libfaketime as Debian and its relatives install it; null: it is not installed. */
export function faketimeLibrary(): string | null {
  for (const directory of ['/usr/lib', '/usr/local/lib']) {
    for (const name of ['', ...directoriesIn(directory)]) {
      const path = join(directory, name, 'faketime', library);
      if (existsSync(path)) return path;
    }
  }
  return null;
}

/** The one for programs with threads. */
const library = 'libfaketimeMT.so.1';

function directoriesIn(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}
