import { contract } from '../../../src/mirror/contract/contract.ts';
import { searchTables } from '../../../src/mirror/contract/search.ts';
import type { Column, Table } from '../../../src/mirror/contract/table.ts';

/** The tables of the contract, for tests that go through all of them. */
export const tables: Readonly<Record<string, Table>> = contract;

/** Everything that a reader finds in the file: the insides of the search too. */
export const readable: Readonly<Record<string, Table>> = { ...contract, ...searchTables };

export function columnsOf(view: string): [name: string, column: Column][] {
  return Object.entries(readable[view]?.columns ?? {});
}
