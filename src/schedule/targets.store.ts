import { beyondFrom, cadenceOfDay, type Tiers } from '../dates/availability.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import { type Bound, type Compilable, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { mirrorInstants } from '../mirror/sql/instants.ts';
import { dropBy, insertOf, query, setBy } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import type { Offered } from './record.rules.ts';
import {
  type Cadences,
  type Resource,
  resources,
  type TextResource,
  textResources,
  type UntieredResource,
  untieredResources,
} from './resources.rules.ts';

/** The cadences as configured (`policy.cadence`), in milliseconds. They decide when stored rows are stale. */
export interface StaleAfter extends Cadences {
  readonly images: number;
  readonly availability: Tiers;
}

/** Freshness targets of all resources, and those that categories set instead. */
export interface FreshnessTargets {
  readonly cadence: StaleAfter;
  readonly extent: { readonly resources: Offered };
  readonly categories: readonly { readonly name: string }[];
  of(category: string | null): { readonly cadence: StaleAfter };
}

/** Before the lists, whose number is 0. */
const beforeAll = -1;

const columns = ['resource', 'tier', 'target_ms', 'first_part', 'last_part'] as const;

/** Freshness targets, and the `stale_at` values that depend on them. */
export class TargetTable extends Store<Writes> {
  readonly #all = this.db.rows(() => query.selectFrom('_target').select(columns).orderBy('resource').orderBy('tier'));
  readonly #ownCadences = this.db.value(() => query.selectFrom('_budget').select('category_cadences'));
  readonly #saveOwnCadences = this.db.change(({ own }: Bound<{ own: string }>) =>
    query.updateTable('_budget').set({ category_cadences: own, replanned_to: sql.lit(beforeAll) }),
  );
  /** Returns up to which product the records are planned by the current targets; null if all are. */
  readonly replannedTo = this.db.value(() => query.selectFrom('_budget').select('replanned_to'));
  readonly replanned = this.db.change(setBy('_budget', [], ['replanned_to']));
  readonly #clear = this.db.change(() => query.deleteFrom('_target'));
  readonly #drop = this.db.change(dropBy('_target', ['resource']));
  readonly #add = this.db.change(insertOf('_target', columns));
  readonly #updateDetails = this.db.change(detailTarget);
  readonly #lists = (['experiences', 'tags'] as const).flatMap((resource) =>
    rowsOf(resource).map((rows) => ({ resource, move: this.db.change(moved(rows)) })),
  );
  readonly #ofProducts = (['products', ...textResources] as const).flatMap((resource) =>
    rowsOf(resource).map((rows) => ({ resource, move: this.db.change(movedOfProduct(rows)) })),
  );

  /**
   * Stores the freshness targets that `freshness` is judged by and, where a cadence has changed, moves the `stale_at`
   * of experiences and tags with it: cadences never stand in SQL. All else follows when its product is replanned, and all
   * records are marked as not yet planned. Returns whether anything changed.
   */
  write({ cadence, extent, categories, of }: FreshnessTargets, daysPerRequest: number): boolean {
    const wanted = targets(cadence, extent.resources, daysPerRequest);
    const own = JSON.stringify([[null, cadence], ...categories.map(({ name }) => [name, of(name).cadence])]);
    if (JSON.stringify(this.#all()) === JSON.stringify(wanted) && this.#ownCadences() === own) return false;
    this.#saveOwnCadences({ own });
    this.#clear();
    for (const target of wanted) this.#add(target);
    this.#updateDetails();
    for (const { resource, move } of this.#lists) move({ every: cadence[resource] });
    return true;
  }

  /** Marks all records as not yet planned by the current targets. */
  markAllUnplanned(): void {
    this.replanned({ replanned_to: beforeAll });
  }

  /** Drops the freshness target of a resource. */
  drop(resource: Resource): void {
    this.#drop({ resource });
    this.#updateDetails();
  }

  /** Moves `stale_at` of a product's texts and prices. `every` returns the cadence of a resource for it in milliseconds. */
  moveStaleAt(product_id: number, every: (resource: 'products' | TextResource) => number): void {
    for (const { resource, move } of this.#ofProducts) move({ product_id, every: every(resource) });
  }
}

/** Writes how long the read of a product's details counts as fresh, where it is another time than before. */
function detailTarget() {
  const target = query.selectFrom('_target').select('target_ms').where('resource', '=', 'product_detail');
  return query
    .updateTable('product')
    .set({ detail_target_ms: target })
    .where('detail_target_ms', 'is not', target as never);
}

/** Returns whether a resource has a freshness target. One that is not needed has it only as long as it is requested. */
function hasTarget(resource: UntieredResource, offered: Offered): boolean {
  return resources[resource].needed || offered.has(resource);
}

/** Beyond every window: a category's horizon may be longer than that of everything. */
const lastPart = 400;

function targets(cadence: StaleAfter, offered: Offered, daysPerRequest: number): Tables['_target'][] {
  const { near, middle, far, horizon } = cadence.availability;
  const beyond = beyondFrom(cadence.availability);
  const tier = (name: string, target_ms: number, from: number, to: number) => ({
    resource: 'availability',
    tier: name,
    target_ms,
    first_part: Math.floor(from / daysPerRequest),
    last_part: Number.isFinite(to) ? Math.floor((Math.min(to, horizon) - 1) / daysPerRequest) : lastPart,
  });
  const untiered = untieredResources.filter((resource) => hasTarget(resource, offered));
  const plain = [...untiered, 'images' as const].map((resource) => ({
    resource,
    tier: '',
    target_ms: cadence[resource],
    first_part: 0,
    last_part: 0,
  }));
  const tiers = [
    tier('near', near.every, 0, near.days),
    ...(horizon > near.days ? [tier('middle', middle.every, near.days, middle.days)] : []),
    ...(horizon > middle.days ? [tier('far', far.every, middle.days, beyond)] : []),
    ...(beyond < horizon
      ? [tier('beyond', cadenceOfDay(cadence.availability, beyond), beyond, Number.POSITIVE_INFINITY)]
      : []),
  ];
  return [...tiers, ...plain].sort((a, b) => compare(a.resource, b.resource) || compare(a.tier, b.tier));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

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

/** Returns the update of all rows to a new cadence, in milliseconds. Rows that were stale from the start stay so. */
function moved({ table, after }: StaleRows) {
  return ({ every }: Bound<{ every: number }>) => {
    const stale_at = sql<Instant>`${sql.ref(after)} + ${every}`;
    return query
      .updateTable(table)
      .set({ stale_at })
      .where('stale_at', '<>', stale_at)
      .whereRef('stale_at', '>', after);
  };
}

/** Returns the same for the rows of a product. */
function movedOfProduct(rows: StaleRows) {
  return ({ product_id, every }: Bound<{ product_id: number; every: number }>): Compilable<unknown> =>
    moved(rows)({ every }).where('product_id', '=', product_id);
}
