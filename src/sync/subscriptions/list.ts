import type { StoredSubscription, UncoveredProduct } from '../../mirror/push/subscriptions.ts';
import type { MirrorFacts } from '../../mirror/reading.ts';
import { type SubscriptionSettings, wantedSubscriptions } from './declared.ts';

/** A subscription in the list: its declaration and the stored facts about it. The service is not called. */
export interface ListedSubscription
  extends Pick<
    StoredSubscription,
    | 'subscription_id'
    | 'type'
    | 'covered_products'
    | 'last_delivery_at'
    | 'trust'
    | 'checked_at'
    | 'put_at'
    | 'failures'
  > {
  /** Null: no longer declared. */
  readonly declared_id: string | null;
  /** The number of declared products or experiences; null: `products_i_sell`. */
  readonly entities: number | null;
  readonly status: string | null;
  readonly failure: string | null;
  readonly not_before: number | null;
  readonly differences: readonly string[];
}

export interface SubscriptionList {
  readonly subscriptions: readonly ListedSubscription[];
  /** Declarations that wait for the first complete lists. */
  readonly waiting: readonly string[];
  /** Products on sale that no working subscription covers: their number, and the first ones, best sellers first. */
  readonly uncovered: { readonly count: number; readonly products: readonly UncoveredProduct[] };
}

const uncoveredShown = 20;

/** Lists the subscriptions from the mirror file alone, whether or not a daemon runs. */
export function listSubscriptions(
  mirror: MirrorFacts,
  settings: Pick<SubscriptionSettings, 'declared' | 'most'>,
): SubscriptionList {
  const { wanted, waiting } = wantedSubscriptions({ mirror, settings });
  const rows = new Map(mirror.push.subscriptions.all().map((row) => [row.subscription_id, row]));
  const listed = wanted.map(({ subscription_id, declared_id, type, entity_ids }): ListedSubscription => {
    const row = rows.get(subscription_id);
    rows.delete(subscription_id);
    return { ...known(row), subscription_id, declared_id, type, entities: entity_ids?.length ?? null };
  });
  const undeclared = [...rows.values()]
    .filter(({ status }) => status !== null)
    .map((row): ListedSubscription => {
      const { subscription_id, type, entity_ids } = row;
      return { ...known(row), subscription_id, declared_id: null, type, entities: entity_ids?.length ?? null };
    });
  return {
    subscriptions: [...listed, ...undeclared],
    waiting,
    uncovered: mirror.push.subscriptions.uncovered(uncoveredShown),
  };
}

function known(row: StoredSubscription | undefined) {
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
    differences: row === undefined || row.checked_at === null ? ['never asked'] : row.differences,
  };
}
