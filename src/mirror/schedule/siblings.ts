import type { RecordFacts } from '../../domain/schedule/record.ts';
import type { SiblingKind } from '../../domain/schedule/siblings.ts';
import type { Bound, Reads } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** The groups that a product belongs to; null: none. */
export interface SiblingGroups {
  readonly venue: number | null;
  readonly supplier: string | null;
}

/** Groups of products whose dates tend to change together. */
export interface SiblingReads {
  groupsOf(product_id: number): SiblingGroups;
  /** Returns the same dates of other products of the group that are on sale and were read, at most fifty: planning them again takes a few milliseconds. */
  of(record: RecordFacts, kind: SiblingKind, group: number | string): RecordFacts[];
}

type OfGroup<Group> = Pick<RecordFacts, 'product_id' | 'edition' | 'part'> & { group: Group };

const most = 50;

export function siblingReads(db: Reads): SiblingReads {
  const groups = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom(['product', '_mirror as m'])
      .select(['venue_id as venue', 'supplier'])
      .where('product_id', '=', product_id)
      .whereRef('product.language', '=', 'm.language'),
  );
  const records = ({ product_id, edition, part }: Bound<OfGroup<unknown>>) =>
    query
      .selectFrom(['product as p', '_mirror as m', '_record as r'])
      .selectAll('r')
      .whereRef('p.language', '=', 'm.language')
      .whereRef('r.product_id', '=', 'p.product_id')
      .where('r.resource', '=', 'availability')
      .where('r.edition', '=', edition)
      .where('r.part', '=', part)
      .where('r.product_id', '<>', product_id)
      .where('r.fetched_at', 'is not', null)
      .where('p.sellable', '=', 1)
      .limit(most);
  const ofVenue = db.rows((bound: Bound<OfGroup<number>>) => records(bound).where('p.venue_id', '=', bound.group));
  const ofSupplier = db.rows((bound: Bound<OfGroup<string>>) => records(bound).where('p.supplier', '=', bound.group));
  return {
    groupsOf: (product_id) => groups.get({ product_id }) ?? { venue: null, supplier: null },
    of: ({ product_id, edition, part }, kind, group) =>
      kind === 'venue'
        ? ofVenue.all({ product_id, edition, part, group: Number(group) })
        : ofSupplier.all({ product_id, edition, part, group: String(group) }),
  };
}
