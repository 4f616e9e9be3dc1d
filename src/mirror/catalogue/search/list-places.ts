import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';

/** The places of products in the service's own order of popularity. */
export interface ListPlaceTable {
  /** Products that stand one after the other in the list, and the place of the first; the first of all is 1. */
  note(product_ids: readonly number[], first: number): void;
  /** The list does not come in that order. */
  clear(): void;
}

/** A place more or less says nothing: only what has moved by this share is written, so that a quiet week costs nothing. */
const worthWriting = 20;

export function listPlaceTable(db: Writes): ListPlaceTable {
  const put = db.change(({ product_id, list_place }: Bound<Tables['_product_list_place']>) =>
    query
      .insertInto('_product_list_place')
      .values({ product_id, list_place })
      .onConflict((known) =>
        known
          .doUpdateSet((of) => ({ list_place: of.ref('excluded.list_place') }))
          .where((of) => {
            const [was, is] = [of.ref('_product_list_place.list_place'), of.ref('excluded.list_place')];
            const moved = of.fn<number>('abs', [of(was, '-', is)]);
            return of(of(moved, '*', worthWriting), '>', of.fn<number>('min', [was, is]));
          }),
      ),
  );
  const clear = db.change(() => query.deleteFrom('_product_list_place'));
  return {
    note: (product_ids, first) => {
      for (const [index, product_id] of product_ids.entries()) put.run({ product_id, list_place: first + index });
    },
    clear: () => {
      clear.run();
    },
  };
}
