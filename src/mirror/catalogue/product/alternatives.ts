import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../../changes/changes.ts';
import { query } from '../../sql/sql.ts';

/** Products that recommend others while they are closed. */
export interface Recommending {
  /** Tells the change feed of those whose alternatives may be others now, because one of them can be had, or no longer. */
  tell(alternative_product_id: number, by: FoundBy): void;
}

/** As long as the chains of the view `alternatives`. */
const longestChain = 8;

export function recommending(db: Writes, changes: ChangeTable): Recommending {
  const direct = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_product')
      .select(['product_id', 'withdrawn_at'])
      .where('alternative_product_id', '=', product_id),
  );
  return {
    tell: (alternative_product_id, by) => {
      if (!changes.tellsFirstReads()) return;
      const met = new Set([alternative_product_id]);
      let last = [alternative_product_id];
      for (let depth = 0; depth < longestChain && last.length > 0; depth += 1) {
        const next = last
          .flatMap((product_id) => direct.all({ product_id }))
          .filter(({ product_id }) => !met.has(product_id));
        for (const { product_id, withdrawn_at } of next) {
          if (withdrawn_at === null && !met.has(product_id))
            changes.add({ product_id, kind: 'product_changed', detail: { fields: ['alternatives'] } }, by);
          met.add(product_id);
        }
        last = next.map(({ product_id }) => product_id);
      }
    },
  };
}
