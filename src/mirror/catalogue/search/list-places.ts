import type { Database } from '../../../sqlite/database-file.ts';

/** The places of products in the service's own order of popularity. Every function runs inside the caller's transaction. */
export interface ListPlaceTable {
  /** Products that stand one after the other in the list, and the place of the first; the first of all is 1. */
  note(product_ids: readonly number[], first: number): void;
  /** The list does not come in that order. */
  clear(): void;
}

export function listPlaceTable(db: Database): ListPlaceTable {
  // A place more or less says nothing: only what has moved by a twentieth is written, so that a quiet week costs nothing.
  const put = db.prepare<[number, number]>(
    `INSERT INTO product_list_place (product_id, list_place) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET list_place = excluded.list_place
       WHERE 20 * abs(list_place - excluded.list_place) > min(list_place, excluded.list_place)`,
  );
  const clear = db.prepare('DELETE FROM product_list_place');
  return {
    note: (product_ids, first) => {
      for (const [index, product_id] of product_ids.entries()) put.run(product_id, first + index);
    },
    clear: () => {
      clear.run();
    },
  };
}
