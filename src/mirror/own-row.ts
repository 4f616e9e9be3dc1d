import type { Database } from '../sqlite/read-only.ts';
import type { Tables } from './sql/tables.ts';

/** What a mirror says of itself, whatever version has written it; 0 where that version had no such column. */
export type OwnRow = Pick<Tables['_mirror'], 'pair_id' | 'contract_version' | 'written_by' | 'last_delivery_id'>;

/** Reads it before the file is brought up to date, when its table may still have the name without `_`; null: it has no row yet. */
export function readOwnRow(db: Database): OwnRow | null {
  const named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('mirror', '_mirror')";
  const table = db.prepare<[], string>(named).pluck().get() ?? '_mirror';
  const row = db.prepare<[], OwnRow>(`SELECT * FROM ${table}`).get();
  if (row === undefined) return null;
  const { pair_id, contract_version, written_by, last_delivery_id = 0 } = row;
  return { pair_id, contract_version, written_by, last_delivery_id };
}
