import type { Instant } from '../../clock.ts';
import type { Tiers } from '../../domain/catalogue/availability.ts';
import {
  type Cadences,
  isCovered,
  isDynamic,
  listResources,
  textResources,
  type UntieredResource,
} from '../../domain/schedule/resources.ts';
import { type Bound, type Compilable, sql, type Writes } from '../../sqlite/statements.ts';
import { mirrorInstants } from '../sql/instants.ts';
import { query } from '../sql/sql.ts';

/** The cadences as configured (`policy.cadence`), in milliseconds. They decide when stored rows are stale. */
export interface StaleAfter extends Cadences {
  readonly images: number;
  readonly availability: Tiers;
}

type Every = { every: number };
type OfProduct = { own: number; dynamic: number; covered: number; product_id: number };
type Which = 'all' | 'one';

/** Rows that say themselves when they are stale, counted from the read that brought them. */
interface StaleRows {
  /** One of several tables: for the compiler, the one that has all the columns that any of them has. */
  readonly table: 'checkout';
  readonly after: 'checked_at';
}

function rowsOf(resource: UntieredResource): StaleRows[] {
  return Object.entries(mirrorInstants).flatMap(([table, columns]) =>
    'stale_at' in columns && columns.stale_at.cadence === resource
      ? [{ table, after: columns.stale_at.after } as StaleRows]
      : [],
  );
}

/** Returns the update for a resource read as a list, whose cadence is the same for all products. */
function ofEverything({ table, after }: StaleRows) {
  return ({ every }: Bound<Every>): Compilable<unknown> =>
    query.updateTable(table).set(({ ref }) => ({ stale_at: sql<Instant>`${ref(after)} + ${every}` }));
}

/** Returns the update for a resource read per product; its cadence depends on subscriptions and dynamic prices. */
function ofProducts(resource: UntieredResource, { table, after }: StaleRows, which: Which) {
  return ({ product_id, own, dynamic, covered }: Bound<OfProduct>): Compilable<unknown> =>
    query
      .updateTable(`${table} as r`)
      .set(({ eb, exists, selectFrom }) => {
        const isCovered = exists(
          selectFrom('_product as p')
            .select('p.product_id')
            .whereRef('p.product_id', '=', 'r.product_id')
            .where('p.covered', '=', 1),
        );
        const every = eb.case().when(isCovered).then(covered).else(own).end();
        const often = () => eb.case().when('has_dynamic_pricing', '=', 1).then(dynamic).else(every).end();
        return { stale_at: sql<Instant>`${eb.ref(after)} + ${isDynamic(resource) ? often() : every}` };
      })
      .$if(which === 'one', (of) => of.where('product_id', '=', product_id));
}

/** Moves the `stale_at` of rows after a cadence or what it depends on has changed. */
export function staleRows(db: Writes) {
  const lists = listResources.flatMap((resource) =>
    rowsOf(resource).map((rows) => ({ resource, move: db.change(ofEverything(rows)) })),
  );
  const texts = textResources.flatMap((resource) =>
    rowsOf(resource).map((rows) => ({
      resource,
      all: db.change(ofProducts(resource, rows, 'all')),
      one: db.change(ofProducts(resource, rows, 'one')),
    })),
  );
  return {
    moveOfEverything: (cadence: StaleAfter) => {
      for (const { resource, move } of lists) move.run({ every: cadence[resource] });
    },
    /** Of one product or (null) of all. */
    moveByProduct: (cadence: StaleAfter, product_id: number | null) => {
      for (const { resource, all, one } of texts) {
        const own = cadence[resource];
        const dynamic = isDynamic(resource) ? cadence.dynamic_pricing[resource] : own;
        const covered = isCovered(resource) ? cadence.covered[resource] : own;
        const cases = { own, dynamic, covered };
        if (product_id === null) all.run({ ...cases, product_id: 0 });
        else one.run({ ...cases, product_id });
      }
    },
  };
}
