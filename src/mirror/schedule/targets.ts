import { beyondFrom, cadenceOfDay } from '../../domain/catalogue/availability.ts';
import type { Offered } from '../../domain/schedule/record-kinds.ts';
import { type Resource, resources, type UntieredResource, untieredResources } from '../../domain/schedule/resources.ts';
import { type Bound, pick, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { type StaleAfter, staleRows } from './stale.ts';

/** Freshness targets of all resources, and those that categories set instead. */
export interface FreshnessTargets {
  readonly cadence: StaleAfter;
  readonly extent: { readonly resources: Offered };
  readonly categories: readonly { readonly name: string }[];
  of(category: string | null): { readonly cadence: StaleAfter };
}

/** Freshness targets, and the `stale_at` values that depend on them. */
export interface TargetTable {
  /**
   * Stores the freshness targets that `freshness` is judged by and, where a cadence has changed, moves the `stale_at`
   * of lists and texts with it: cadences never stand in SQL. Records and dates follow when their product is replanned, and
   * all records are marked as not yet planned. Returns whether anything changed.
   */
  write(targets: FreshnessTargets, daysPerRequest: number): boolean;
  /** Returns up to which product the records are planned by the current targets; null if all are. */
  replannedTo(): number | null;
  /** Marks all records as not yet planned by the current targets. */
  markAllUnplanned(): void;
  replanned(to: number | null): void;
  /** Drops the freshness target of a resource. */
  drop(resource: Resource): void;
  /** Moves `stale_at` of rows whose cadence depends on the product, for one product or (null) for all. */
  moveStaleAt(cadence: StaleAfter, product_id: number | null): void;
}

export function targetTable(db: Writes): TargetTable {
  const stored = db.rows(() => query.selectFrom('_target').select(columns).orderBy('resource').orderBy('tier'));
  const ownCadences = db.values(() => query.selectFrom('_budget').select('category_cadences'));
  const saveOwnCadences = db.change(({ own }: Bound<{ own: string }>) =>
    query.updateTable('_budget').set({ category_cadences: own, replanned_to: sql.lit(beforeAll) }),
  );
  const replannedTo = db.values(() => query.selectFrom('_budget').select('replanned_to'));
  const replanned = db.change(({ to }: Bound<{ to: number | null }>) =>
    query.updateTable('_budget').set({ replanned_to: to }),
  );
  const clear = db.change(() => query.deleteFrom('_target'));
  const drop = db.change(({ resource }: Bound<{ resource: Resource }>) =>
    query.deleteFrom('_target').where('resource', '=', resource),
  );
  const add = db.change((target: Bound<Tables['_target']>) =>
    query.insertInto('_target').values(pick(target, columns)),
  );
  const detail = db.change(detailTarget);
  const stale = staleRows(db);
  return {
    write: ({ cadence, extent, categories, of }, daysPerRequest) => {
      const wanted = targets(cadence, extent.resources, daysPerRequest);
      const own = JSON.stringify(categories.map(({ name }) => [name, of(name).cadence]));
      if (JSON.stringify(stored.all()) === JSON.stringify(wanted) && (ownCadences.get() ?? '[]') === own) return false;
      saveOwnCadences.run({ own });
      clear.run();
      for (const target of wanted) add.run(target);
      detail.run();
      stale.moveOfEverything(cadence);
      stale.moveByProduct(cadence, null);
      return true;
    },
    replannedTo: () => replannedTo.get() ?? null,
    markAllUnplanned: () => {
      replanned.run({ to: beforeAll });
    },
    replanned: (to) => {
      replanned.run({ to });
    },
    drop: (resource) => {
      drop.run({ resource });
      detail.run();
    },
    moveStaleAt: stale.moveByProduct,
  };
}

/** Writes how long the read of a product's details counts as fresh, where it is another time than before. */
function detailTarget() {
  const target = query.selectFrom('_target').select('target_ms').where('resource', '=', 'product_detail');
  return query
    .updateTable('product')
    .set({ detail_target_ms: target })
    .where('detail_target_ms', 'is not', target as never);
}

/** Before the lists, whose number is 0. */
const beforeAll = -1;

const columns = ['resource', 'tier', 'target_ms', 'first_part', 'last_part'] as const;

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
