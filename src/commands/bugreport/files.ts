import { statSync } from 'node:fs';
import { type Database, openReadOnly } from '../../sqlite/read-only.ts';

/** The most rows of one table: enough to see what they have in common. */
const mostRows = 200;

/** Returns what a database file is, whatever is wrong with it: its schema, and how many rows each table has. */
export function fileFacts(path: string): Record<string, unknown> {
  return opened(path, (db) => ({
    path,
    bytes: statSync(path).size,
    schema_version: db.pragma('user_version', { simple: true }),
    rows: Object.fromEntries(
      tablesOf(db).map((name) => [name, db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get()]),
    ),
    schema: db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name').pluck().all(),
  }));
}

/** Returns what fails, of every table that counts failures. */
export function failingRows(path: string): Record<string, unknown[]> {
  return opened(path, (db) => {
    const counting = tablesOf(db).filter((name) => columnsOf(db, name).includes('failures'));
    return Object.fromEntries(
      counting.map((name) => [
        name,
        db.prepare(`SELECT * FROM "${name}" WHERE failures > 0 ORDER BY failures DESC LIMIT ${mostRows}`).all(),
      ]),
    );
  });
}

/** Views that show one product: the last accepted answer of each, with the service's own document where there is one. */
const shown = ['products', 'checkout_information', 'variants', 'images', 'availability_days', 'timeslots'] as const;

export function productRows(path: string, product_id: number): Record<string, unknown[]> {
  return opened(path, (db) => {
    const views = shown.filter((name) => columnsOf(db, name).includes('product_id'));
    return Object.fromEntries(
      views.map((name) => [
        name,
        db.prepare(`SELECT * FROM "${name}" WHERE product_id = ? LIMIT ${mostRows}`).all(product_id),
      ]),
    );
  });
}

function opened<Result>(path: string, read: (db: Database) => Result): Result {
  const db = openReadOnly(path);
  try {
    return read(db);
  } finally {
    db.close();
  }
}

function tablesOf(db: Database): string[] {
  return db
    .prepare<[], string>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all();
}

function columnsOf(db: Database, table: string): string[] {
  return db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
}
