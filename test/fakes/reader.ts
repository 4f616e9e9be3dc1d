import { sqliteLibrary } from '../../src/sqlite/read-only.ts';
import { openReader as open } from '../../src/storefront/reader.ts';
import type { Reader, ReaderOptions } from '../../src/storefront/reader-types.ts';

/** Opens a reader by the library that this process writes mirrors with: two libraries on one file lose each other's locks. */
export function openReader(path: string, options: ReaderOptions = {}): Reader {
  return open(path, { engine: sqliteLibrary, ...options });
}
