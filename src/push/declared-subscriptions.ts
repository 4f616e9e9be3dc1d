import type { MirrorFacts } from '../mirror/reading.ts';
import type { DeclaredSubscription, WantedSubscription } from './subscription.rules.ts';
import { wantedParts } from './subscription-parts.rules.ts';
import type { StoredSubscription } from './subscriptions.store.ts';

/** The declared subscriptions, and the most entities in one of them. */
export interface Declarations {
  readonly declared: readonly DeclaredSubscription[];
  readonly most: number;
}

export interface WantedSubscriptions {
  readonly wanted: readonly WantedSubscription[];
  /** Declarations that wait for the first walk over the lists. */
  readonly waiting: readonly string[];
}

/**
 * Returns the subscriptions that the service should have. Those with `entities: mirrored` wait until the lists have
 * been read once.
 */
export function wantedSubscriptions({ push }: MirrorFacts, { declared, most }: Declarations): WantedSubscriptions {
  const table = push.subscriptions;
  const isWaiting = ({ type, entities }: DeclaredSubscription) =>
    type !== 'products_i_sell' && entities === 'mirrored' && !table.isListed(type);
  const entitiesOf = (each: DeclaredSubscription) => {
    const { type, entities = null, categories = null, city_ids = null, country_ids = null } = each;
    if (type === 'products_i_sell') return null;
    return entities === 'mirrored' ? table.mirrored(type, { categories, city_ids, country_ids }) : entities;
  };
  const wanted = declared.flatMap((each) => {
    const before = table.parts(each.id);
    if (isWaiting(each) && before.length === 0) return [];
    const taken = new Set(declared.map(({ id }) => id).filter((id) => id !== each.id));
    const entity_ids = isWaiting(each) ? before.flatMap((part) => part.entity_ids) : entitiesOf(each);
    return wantedParts(each, entity_ids, { before, taken, most });
  });
  return { wanted, waiting: declared.filter(isWaiting).map(({ id }) => id) };
}

const uncoveredShown = 20;

/**
 * Lists the declared subscriptions, and those that are no longer declared (`declared_id` null), with the stored facts
 * about them. Reads the mirror file alone, whether or not a daemon runs.
 */
export function listSubscriptions(mirror: MirrorFacts, declarations: Declarations) {
  const { wanted, waiting } = wantedSubscriptions(mirror, declarations);
  const rows = new Map(mirror.push.subscriptions.all().map((row) => [row.subscription_id, row]));
  const declared = wanted.map((each) => listed(rows.get(each.subscription_id) ?? null, each));
  for (const { subscription_id } of wanted) rows.delete(subscription_id);
  const undeclared = [...rows.values()]
    .filter(({ status }) => status !== null)
    .map((row) => listed(row, { ...row, declared_id: null }));
  return {
    subscriptions: [...declared, ...undeclared],
    waiting,
    /** Products on sale that no working subscription covers: their number, and the first ones, best sellers first. */
    uncovered: mirror.push.coverage.uncovered(uncoveredShown),
  };
}

function listed(
  row: StoredSubscription | null,
  named: Pick<WantedSubscription, 'subscription_id' | 'type' | 'entity_ids'> & { readonly declared_id: string | null },
) {
  const { subscription_id, declared_id, type, entity_ids } = named;
  return {
    status: row?.status ?? null,
    covered_products: row?.covered_products ?? null,
    trust: row?.trust ?? null,
    last_delivery_at: row?.last_delivery_at ?? null,
    checked_at: row?.checked_at ?? null,
    put_at: row?.put_at ?? null,
    failures: row?.failures ?? 0,
    failure: row?.failure ?? null,
    not_before: row?.not_before ?? null,
    differences: row === null || row.checked_at === null ? ['never asked'] : row.differences,
    subscription_id,
    declared_id,
    type,
    /** Null: `products_i_sell`. */
    entities: entity_ids?.length ?? null,
  };
}
