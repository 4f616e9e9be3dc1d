import type { contract } from '../contract/contract.ts';
import type { searchTables } from '../contract/search.ts';
import type { DaemonRow } from '../contract/table.ts';

type Readable = typeof contract & Omit<typeof searchTables, keyof OfSqlite>;

/** Everything that readers of the file find in it, as it is declared. */
export type Views = { [Name in keyof Readable]: DaemonRow<Readable[Name]> };

/** SQLite's own. */
export interface OfSqlite {
  /** The highest number that each AUTOINCREMENT has given out. */
  sqlite_sequence: { name: '_change'; seq: number };
  /** The second search index takes commands through the column that has its name. */
  search_terms: { search_terms: 'optimize' };
}
