import type { Database } from '../sqlite/read-only.ts';
import type { Tables } from './sql/tables.ts';

/** Columns by which a mirror identifies itself. */
export type OwnRow = Pick<Tables['_mirror'], 'pair_id' | 'contract_version' | 'written_by' | 'last_delivery_id'>;

/** Reads it, also before the file is brought up to date; null: it has no row yet. */
export function readOwnRow(db: Database): OwnRow | null {
  const columns = 'pair_id, contract_version, written_by, last_delivery_id';
  return db.prepare<[], OwnRow>(`SELECT ${columns} FROM _mirror`).get() ?? null;
}
