import type { Instant } from '../../clock.ts';
import type { Bound, Reads, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/** The views of one window of dates, as counted at an instant; part -1: of no date in particular. */
export type WindowViews = Omit<Tables['_interest'], 'product_id'>;

/** Known interest of shoppers in a product. */
export interface KnownInterest {
  /** Its rank in the service's order of popularity, from 1; null if unknown. */
  readonly list_place: number | null;
  readonly windows: readonly WindowViews[];
}

export interface InterestReads {
  of(product_id: number): KnownInterest;
}

export interface InterestTable extends InterestReads {
  /** Stores the views of a window as they are counted now. */
  count(views: Tables['_interest']): void;
  /** Deletes views that were last counted before an instant. Returns how many rows. */
  prune(before: Instant): number;
}

type OfProduct = Bound<{ product_id: number }>;

export function interestReads(db: Reads): InterestReads {
  const place = db.values(({ product_id }: OfProduct) =>
    query.selectFrom('_product_list_place').select('list_place').where('product_id', '=', product_id),
  );
  const windows = db.rows(({ product_id }: OfProduct) =>
    query.selectFrom('_interest').select(['part', 'views', 'counted_at']).where('product_id', '=', product_id),
  );
  return {
    of: (product_id) => ({ list_place: place.get({ product_id }) ?? null, windows: windows.all({ product_id }) }),
  };
}

export function interestTable(db: Writes): InterestTable {
  const put = db.change(({ product_id, part, views, counted_at }: Bound<Tables['_interest']>) =>
    query
      .insertInto('_interest')
      .values({ product_id, part, views, counted_at })
      .onConflict((known) => known.columns(['product_id', 'part']).doUpdateSet({ views, counted_at })),
  );
  const drop = db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('_interest').where('counted_at', '<', before),
  );
  return {
    ...interestReads(db),
    count: (views) => {
      put.run(views);
    },
    prune: (before) => drop.run({ before }).changes,
  };
}
