import { ViewsClock } from '../../src/daemon/reading/views-clock.ts';
import { sqliteLibrary } from '../../src/kernel/sqlite/read-only.ts';
import { openReader as open } from '../../src/storefront/reader.ts';
import type { Reader, ReaderOptions } from '../../src/storefront/reader-types.ts';

/**
 * Opens a reader by the library that this process writes mirrors with: two libraries on one file lose each other's
 * locks. With `now` the views judge by that clock too: a world that lives on a fixed day is read on that day.
 */
export function openReader(path: string, options: ReaderOptions = {}): Reader {
  const { now } = options;
  const engine = now === undefined ? sqliteLibrary : new ViewsClock(now).engine(sqliteLibrary);
  return open(path, { engine, ...options });
}
