import type { Writes } from '../../sqlite/statements.ts';
import { type ClosureTable, closureTable } from './closures.ts';
import { type GapTable, gapTable } from './gaps.ts';
import { type NoticeTable, noticeTable } from './notices.ts';
import { type SubscriptionTable, subscriptionTable } from './subscriptions.ts';

/** Tables of change notifications: those received, expected and missed, and the subscriptions that send them. */
export interface PushTables {
  readonly closures: ClosureTable;
  readonly gaps: GapTable;
  readonly notices: NoticeTable;
  readonly subscriptions: SubscriptionTable;
}

export function pushTables(writes: Writes): PushTables {
  return {
    closures: closureTable(writes),
    gaps: gapTable(writes),
    notices: noticeTable(writes),
    subscriptions: subscriptionTable(writes),
  };
}
