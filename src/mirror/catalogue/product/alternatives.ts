import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../../changes/changes.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';

/** Products that recommend others while they are closed: what can be had of a chain of recommendations is in `alternatives`. */
export interface Recommending {
  /** Handles a product that becomes or stops being available, or recommends another one. Reports those that lead to it. */
  changed(product_id: number, by: FoundBy): void;
  /** Recomputes the stored alternative of a product after a change in whether the product itself needs one. */
  again(product_id: number): void;
}

const longestChain = 8;

type OfProduct = Pick<Tables['_product'], 'product_id'>;

export function recommending(db: Writes, changes: ChangeTable): Recommending {
  const direct = db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product')
      .select(['product_id', 'withdrawn_at'])
      .where('alternative_product_id', '=', product_id),
  );
  const one = db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_product')
      .select(['sellable', 'withdrawn_at', 'closure_unconfirmed', 'alternative_product_id'])
      .where('product_id', '=', product_id),
  );
  const stored = db.values(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('alternatives').select('alternative_product_id').where('product_id', '=', product_id),
  );
  const drop = db.change(({ product_id }: Bound<OfProduct>) =>
    query.deleteFrom('alternatives').where('product_id', '=', product_id),
  );
  const add = db.change(({ product_id, alternative_product_id }: Bound<Tables['alternatives']>) =>
    query.insertInto('alternatives').values({ product_id, alternative_product_id }),
  );

  /** Returns the first of a chain that can be had; null: none can, or the product needs none. */
  function resolved(product_id: number): number | null {
    const row = one.get({ product_id });
    if (row === undefined || row.withdrawn_at !== null || row.sellable === 1 || row.closure_unconfirmed === 1)
      return null;
    let candidate = row.alternative_product_id;
    for (let depth = 0; depth < longestChain && candidate !== null; depth += 1) {
      const next = one.get({ product_id: candidate });
      if (next?.sellable === 1) return candidate;
      candidate = next?.alternative_product_id ?? null;
    }
    return null;
  }

  function again(product_id: number): void {
    const [before, after] = [stored.get({ product_id }) ?? null, resolved(product_id)];
    if (before === after) return;
    drop.run({ product_id });
    if (after !== null) add.run({ product_id, alternative_product_id: after });
  }

  return {
    again,
    changed: (product_id, by) => {
      again(product_id);
      const met = new Set([product_id]);
      let last = [product_id];
      for (let depth = 0; depth < longestChain && last.length > 0; depth += 1) {
        const next = last.flatMap((id) => direct.all({ product_id: id })).filter((each) => !met.has(each.product_id));
        for (const { product_id: id, withdrawn_at } of next) {
          if (met.has(id)) continue;
          met.add(id);
          again(id);
          if (withdrawn_at === null && changes.tellsFirstReads())
            changes.add({ product_id: id, kind: 'product_changed', detail: { fields: ['alternatives'] } }, by);
        }
        last = next.map((each) => each.product_id);
      }
    },
  };
}
