import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { clockTables, contractTables, searchedTables } from '../../src/feed/capture.store.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const searchable = ['product_places', 'product_search', 'search_terms'];

const listed = (db: Database.Database, type: string) =>
  db
    .prepare<[string], string>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = ? AND name NOT LIKE 'sqlite%' ORDER BY name",
    )
    .pluck()
    .all(type);

const others = (db: Database.Database) => listed(db, 'table').filter((name) => !name.startsWith('_'));

it('every table of a mirror has a private name, is one of the contract, stands under a view of it, or is one that storefronts search, and their own tables have theirs', () => {
  using test = testMirror();
  const db = new Database(test.mirror.path);
  expect(others(db)).toEqual([...clockTables, ...contractTables, ...searchedTables].sort());
  expect(listed(db, 'virtual')).toEqual(searchable);
  expect(listed(db, 'shadow').filter((name) => !searchable.some((index) => name.startsWith(`${index}_`)))).toEqual([]);
  expect(listed(db, 'view').filter((name) => name.startsWith('_'))).toEqual([]);
  // Control.
  db.exec('CREATE TABLE planted (planted_id INTEGER PRIMARY KEY) STRICT');
  expect(others(db)).toEqual([...clockTables, ...contractTables, ...searchedTables, 'planted'].sort());
  db.close();
});
