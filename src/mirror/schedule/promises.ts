import type { Tiers } from '../../domain/catalogue/availability.ts';
import type { Resources } from '../../domain/schedule/record-kinds.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';

/** The cadences that rows' `stale_at` follow, in milliseconds. */
export interface StaleAfter {
  readonly products: number;
  readonly checkout_information: number;
  readonly variants: number;
  readonly experiences: number;
  readonly product_detail: number;
  readonly images: number;
  readonly dynamic_pricing: { readonly products: number; readonly checkout_information: number };
  /** Of products that a working, trusted subscription covers. */
  readonly covered: { readonly checkout_information: number; readonly variants: number };
  readonly availability: Tiers;
}

/** What is promised: of everything, and what categories promise instead. */
export interface Promised {
  readonly cadence: StaleAfter;
  readonly extent: { readonly resources: Resources };
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
  const wanted = promises(cadence, daysPerRequest).filter(({ resource }) => isPromised(resource, extent.resources));
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
  for (const [table, own] of [
    ['product_text', cadence.products],
    ['experience', cadence.experiences],
  ] as const) {
    db.prepare<[number]>(`UPDATE ${table} SET stale_at = checked_at + ?`).run(own);
  }
  db.prepare<[number]>('UPDATE product_price SET stale_at = read_at + ?').run(cadence.products);
  moveStaleAt(db, cadence, null);
  return true;
}

/** Moves `stale_at` of checkout information and variants with their cadence, of one product or (null) of all. */
export function moveStaleAt(db: Database, cadence: StaleAfter, product_id: number | null): void {
  const { dynamic_pricing, covered, checkout_information, variants } = cadence;
  const which = product_id === null ? '' : 'WHERE product_id = @product_id';
  const isCovered = (table: string) => `(SELECT covered FROM product p WHERE p.product_id = ${table}.product_id)`;
  db.prepare(
    `UPDATE checkout_information_read SET stale_at = checked_at + CASE WHEN has_dynamic_pricing = 1 THEN @dynamic
       WHEN ${isCovered('checkout_information_read')} THEN @covered ELSE @own END ${which}`,
  ).run({
    dynamic: dynamic_pricing.checkout_information,
    covered: covered.checkout_information,
    own: checkout_information,
    product_id,
  });
  db.prepare(
    `UPDATE variant SET stale_at = checked_at + CASE WHEN ${isCovered('variant')} THEN @covered ELSE @own END ${which}`,
  ).run({ covered: covered.variants, own: variants, product_id });
}

/** What the service may lack is promised as long as it is asked for. */
function isPromised(resource: string, resources: Resources): boolean {
  const optional = (['experiences', 'product_detail'] as const).find((each) => each === resource);
  return optional === undefined || resources.has(optional);
}

/** Beyond every window: a category's horizon may be longer than that of everything. */
const lastPart = 400;

function promises(cadence: StaleAfter, daysPerRequest: number): Tables['promise'][] {
  const { near, middle, far, horizon } = cadence.availability;
  const tier = (name: string, promise_ms: number, from: number, to: number) => ({
    resource: 'availability',
    tier: name,
    promise_ms,
    first_part: Math.floor(from / daysPerRequest),
    last_part: Number.isFinite(to) ? Math.floor((Math.min(to, horizon) - 1) / daysPerRequest) : lastPart,
  });
  const plain = (
    ['products', 'product_detail', 'checkout_information', 'variants', 'experiences', 'images'] as const
  ).map((resource) => ({
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
