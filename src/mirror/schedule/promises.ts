import type { Tiers } from '../../domain/catalogue/availability.ts';
import { optionalPathOf } from '../../domain/schedule/offer.ts';
import type { Offered } from '../../domain/schedule/record-kinds.ts';
import {
  type Cadences,
  isCovered,
  isDynamic,
  type UntieredResource,
  untieredResources,
} from '../../domain/schedule/resources.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';

/** The cadences that rows' `stale_at` follow, in milliseconds. */
export interface StaleAfter extends Cadences {
  readonly images: number;
  readonly availability: Tiers;
}

/** What is promised: of everything, and what categories promise instead. */
export interface Promised {
  readonly cadence: StaleAfter;
  readonly extent: { readonly resources: Offered };
  readonly categories: readonly { readonly name: string }[];
  of(category: string | null): { readonly cadence: StaleAfter };
}

/**
 * Writes down the promises that `freshness` is judged by and, where a cadence has changed, moves every stored
 * `stale_at` with it: cadences never stand in SQL. Returns whether anything changed. Inside the caller's transaction.
 */
export function writePromises(
  db: Database,
  { cadence, extent, categories, of }: Promised,
  daysPerRequest: number,
): boolean {
  const wanted = promises(cadence, extent.resources, daysPerRequest);
  const stored = db.prepare<[], Tables['promise']>('SELECT * FROM promise ORDER BY resource, tier').all();
  const told = db.prepare<[], string | null>('SELECT category_cadences FROM budget').pluck().get() ?? '[]';
  const own = JSON.stringify(categories.map(({ name }) => [name, of(name).cadence]));
  if (JSON.stringify(stored) === JSON.stringify(wanted) && told === own) return false;
  db.prepare<[string]>('UPDATE budget SET category_cadences = ?').run(own);
  db.exec('DELETE FROM promise');
  const add = db.prepare<Tables['promise']>(
    'INSERT INTO promise (resource, tier, promise_ms, first_part, last_part) VALUES (@resource, @tier, @promise_ms, @first_part, @last_part)',
  );
  for (const promise of wanted) add.run(promise);
  for (const resource of untieredResources)
    for (const { table, read } of ofEverything[resource])
      db.prepare<[number]>(`UPDATE ${table} SET stale_at = ${read} + ?`).run(cadence[resource]);
  moveStaleAt(db, cadence, null);
  return true;
}

/** Tables whose rows say themselves when they are stale, and the column of the read that it is counted from: the same for all products. */
const ofEverything: Readonly<Record<UntieredResource, readonly { readonly table: string; readonly read: string }[]>> = {
  products: [
    { table: 'product_text', read: 'checked_at' },
    { table: 'product_price', read: 'read_at' },
  ],
  experiences: [{ table: 'experience', read: 'checked_at' }],
  product_detail: [],
  checkout_information: [],
  variants: [],
};

/** The same where it depends on the product; null: its rows do not say so. */
const byProduct: Readonly<Record<UntieredResource, string | null>> = {
  products: null,
  experiences: null,
  product_detail: null,
  checkout_information: 'checkout_information_read',
  variants: 'variant',
};

/** Moves `stale_at` of what depends on the product with its cadence, of one product or (null) of all. */
export function moveStaleAt(db: Database, cadence: StaleAfter, product_id: number | null): void {
  const which = product_id === null ? '' : 'WHERE product_id = @product_id';
  for (const resource of untieredResources) {
    const table = byProduct[resource];
    if (table === null) continue;
    const cases = [
      ...(isDynamic(resource) ? ['WHEN has_dynamic_pricing = 1 THEN @dynamic'] : []),
      ...(isCovered(resource)
        ? [`WHEN (SELECT covered FROM product p WHERE p.product_id = ${table}.product_id) THEN @covered`]
        : []),
      'WHEN 1 THEN @own',
    ];
    db.prepare(`UPDATE ${table} SET stale_at = checked_at + CASE ${cases.join(' ')} END ${which}`).run({
      dynamic: isDynamic(resource) ? cadence.dynamic_pricing[resource] : null,
      covered: isCovered(resource) ? cadence.covered[resource] : null,
      own: cadence[resource],
      product_id,
    });
  }
}

/** What the service may lack is promised as long as it is asked for. */
function isPromised(resource: UntieredResource, offered: Offered): boolean {
  return optionalPathOf(resource) === null || offered.has(resource);
}

/** Beyond every window: a category's horizon may be longer than that of everything. */
const lastPart = 400;

function promises(cadence: StaleAfter, offered: Offered, daysPerRequest: number): Tables['promise'][] {
  const { near, middle, far, horizon } = cadence.availability;
  const tier = (name: string, promise_ms: number, from: number, to: number) => ({
    resource: 'availability',
    tier: name,
    promise_ms,
    first_part: Math.floor(from / daysPerRequest),
    last_part: Number.isFinite(to) ? Math.floor((Math.min(to, horizon) - 1) / daysPerRequest) : lastPart,
  });
  const untiered = untieredResources.filter((resource) => isPromised(resource, offered));
  const plain = [...untiered, 'images' as const].map((resource) => ({
    resource,
    tier: '',
    promise_ms: cadence[resource],
    first_part: 0,
    last_part: 0,
  }));
  const tiers = [
    tier('near', near.every, 0, near.days),
    ...(horizon > near.days ? [tier('middle', middle.every, near.days, middle.days)] : []),
    ...(horizon > middle.days ? [tier('far', far.every, middle.days, Number.POSITIVE_INFINITY)] : []),
  ];
  return [...tiers, ...plain].sort((a, b) => compare(a.resource, b.resource) || compare(a.tier, b.tier));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
