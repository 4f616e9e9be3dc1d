import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';

type Tag = Tables['product_tags'];

/** The tags of products. */
export interface ProductTags {
  /** Returns whether they are others than before. */
  store(product_id: number, tag_ids: readonly number[]): boolean;
}

export function productTags(db: Writes): ProductTags {
  const ids = db.values(({ product_id }: Bound<Pick<Tag, 'product_id'>>) =>
    query.selectFrom('product_tags').select('tag_id').where('product_id', '=', product_id),
  );
  const drop = db.change(({ product_id }: Bound<Pick<Tag, 'product_id'>>) =>
    query.deleteFrom('product_tags').where('product_id', '=', product_id),
  );
  const add = db.change(({ product_id, tag_id }: Bound<Tag>) =>
    query.insertInto('product_tags').values({ product_id, tag_id }),
  );
  return {
    store: (product_id, tag_ids) => {
      const stored = new Set(ids.all({ product_id }));
      if (stored.size === tag_ids.length && tag_ids.every((id) => stored.has(id))) return false;
      drop.run({ product_id });
      for (const tag_id of tag_ids) add.run({ product_id, tag_id });
      return true;
    },
  };
}
