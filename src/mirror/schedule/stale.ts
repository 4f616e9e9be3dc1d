import type { Tiers } from '../../domain/catalogue/availability.ts';
import {
  type Cadences,
  isCovered,
  isDynamic,
  type UntieredResource,
  untieredResources,
} from '../../domain/schedule/resources.ts';
import type { Bound, Compilable, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** The cadences that rows' `stale_at` follow, in milliseconds. */
export interface StaleAfter extends Cadences {
  readonly images: number;
  readonly availability: Tiers;
}

type Every = { every: number };
type OfProduct = { own: number; dynamic: number; covered: number; product_id: number };
type Which = 'all' | 'one';

/** Rows that say themselves when they are stale, counted from the read that brought them. */
interface StaleRows {
  /** What is the same for all products. */
  readonly ofEverything?: readonly ((bound: Bound<Every>) => Compilable<unknown>)[];
  /** Returns what depends on the product. */
  readonly byProduct?: (bound: Bound<OfProduct>, which: Which) => Compilable<unknown>;
}

const rows: Readonly<Record<UntieredResource, StaleRows>> = {
  products: {
    ofEverything: [
      ({ every }) => query.updateTable('product_text').set(({ eb }) => ({ stale_at: eb('checked_at', '+', every) })),
      ({ every }) => query.updateTable('product_price').set(({ eb }) => ({ stale_at: eb('read_at', '+', every) })),
    ],
  },
  experiences: {
    ofEverything: [
      ({ every }) => query.updateTable('experience').set(({ eb }) => ({ stale_at: eb('checked_at', '+', every) })),
    ],
  },
  product_detail: {},
  checkout_information: {
    byProduct: ({ product_id, own, dynamic, covered }, which) =>
      query
        .updateTable('checkout_information_read as c')
        .set(({ eb, exists, selectFrom }) => ({
          stale_at: eb(
            'checked_at',
            '+',
            eb
              .case()
              .when('has_dynamic_pricing', '=', 1)
              .then(dynamic)
              .when(
                exists(
                  selectFrom('product as p')
                    .select('p.product_id')
                    .whereRef('p.product_id', '=', 'c.product_id')
                    .where('p.covered', '=', 1),
                ),
              )
              .then(covered)
              .else(own)
              .end(),
          ),
        }))
        .$if(which === 'one', (of) => of.where('product_id', '=', product_id)),
  },
  variants: {
    byProduct: ({ product_id, own, covered }, which) =>
      query
        .updateTable('variant as v')
        .set(({ eb, exists, selectFrom }) => ({
          stale_at: eb(
            'checked_at',
            '+',
            eb
              .case()
              .when(
                exists(
                  selectFrom('product as p')
                    .select('p.product_id')
                    .whereRef('p.product_id', '=', 'v.product_id')
                    .where('p.covered', '=', 1),
                ),
              )
              .then(covered)
              .else(own)
              .end(),
          ),
        }))
        .$if(which === 'one', (of) => of.where('product_id', '=', product_id)),
  },
};

/** Moves the `stale_at` of rows after a cadence or what it depends on has changed. */
export function staleRows(db: Writes) {
  const statements = untieredResources.map((resource) => {
    const { ofEverything = [], byProduct } = rows[resource];
    return {
      resource,
      ofEverything: ofEverything.map((build) => db.change(build)),
      byProduct: byProduct && {
        all: db.change((bound: Bound<OfProduct>) => byProduct(bound, 'all')),
        one: db.change((bound: Bound<OfProduct>) => byProduct(bound, 'one')),
      },
    };
  });
  return {
    moveOfEverything: (cadence: StaleAfter) => {
      for (const { resource, ofEverything } of statements)
        for (const move of ofEverything) move.run({ every: cadence[resource] });
    },
    /** Of one product or (null) of all. */
    moveByProduct: (cadence: StaleAfter, product_id: number | null) => {
      for (const { resource, byProduct } of statements) {
        const own = cadence[resource];
        const dynamic = isDynamic(resource) ? cadence.dynamic_pricing[resource] : own;
        const covered = isCovered(resource) ? cadence.covered[resource] : own;
        const cases = { own, dynamic, covered };
        if (product_id === null) byProduct?.all.run({ ...cases, product_id: 0 });
        else byProduct?.one.run({ ...cases, product_id });
      }
    },
  };
}
