import { changeTypes, type ServiceSubscription, type WantedSubscription } from '../../src/push/subscription.rules.ts';

export const wanted: WantedSubscription = {
  subscription_id: 'all',
  declared_id: 'all',
  type: 'product_ids',
  entity_ids: [1, 2, 3],
  change_types: [...changeTypes],
};
/** What the service has where nothing differs. */
export const right: ServiceSubscription = {
  type: 'product_ids',
  entity_ids: [3, 2, 1],
  change_types: [...changeTypes].reverse(),
  status: 'active',
  address: 'current',
};
