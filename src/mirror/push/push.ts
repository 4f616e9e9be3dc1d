import type { Writes } from '../../sqlite/statements.ts';
import { type ClosureTable, closureTable } from './closures.ts';
import { type SubscriptionTable, subscriptionTable } from './subscriptions.ts';
import { type TrustTable, trustTable } from './trust.ts';

/** What notifications have said, whether they can be trusted, and where they are sent. */
export interface PushTables {
  readonly closures: ClosureTable;
  readonly trust: TrustTable;
  readonly subscriptions: SubscriptionTable;
}

export function pushTables(writes: Writes): PushTables {
  return { closures: closureTable(writes), trust: trustTable(writes), subscriptions: subscriptionTable(writes) };
}
