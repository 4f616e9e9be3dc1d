import type { Instant } from '../../clock.ts';
import type { VariantGroup } from '../../domain/catalogue/variant.ts';
import { mayReplace } from '../../domain/schedule/record.ts';
import type { Bound, Writes } from '../../sqlite/statements.ts';
import { query, upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

type Row = Tables['_variant_group'];
type OfProduct = Pick<Row, 'product_id'>;

/** The answer that names the groups. */
interface GroupRead extends OfProduct {
  readonly sent_at: Instant;
}

/** Names of the groups of a product's variants. A group that an answer does not name keeps its name. */
export interface VariantGroupTable {
  /** Returns the variants whose groups have another name now, in any language. */
  store(read: GroupRead, groups: readonly VariantGroup[]): number[];
}

export function variantGroups(db: Writes): VariantGroupTable {
  const ofProduct = db.rows(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('_variant_group').selectAll().where('product_id', '=', product_id),
  );
  const put = db.change(upsert('_variant_group', ['product_id', 'group_id'], ['name', 'read_at']));
  const grouped = db.rows(({ product_id }: Bound<OfProduct>) =>
    query
      .selectFrom('_variant')
      .select(['variant_id', 'group_ids'])
      .where('product_id', '=', product_id)
      .where('group_ids', 'is not', null),
  );

  return {
    store: ({ product_id, sent_at }, groups) => {
      const known = new Map(ofProduct.all({ product_id }).map((row) => [row.group_id, row]));
      const renamed = groups.filter(({ group_id, name }) => {
        const before = known.get(group_id);
        return before?.name !== name && mayReplace(before?.read_at ?? null, sent_at);
      });
      for (const group of renamed) put.run({ product_id, ...group, read_at: sent_at });
      if (renamed.length === 0) return [];
      const ids = new Set(renamed.map(({ group_id }) => group_id));
      const members = grouped
        .all({ product_id })
        .filter(({ group_ids }) => (JSON.parse(group_ids ?? '[]') as number[]).some((id) => ids.has(id)));
      return [...new Set(members.map(({ variant_id }) => variant_id))];
    },
  };
}
