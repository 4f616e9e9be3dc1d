import { Store, type Writes } from '../../sqlite/statements.ts';
import { ClosureTable } from './closures.ts';
import { GapTable, NoticeTable } from './notices.ts';
import { SubscriptionTable } from './subscriptions.ts';

/** Tables of change notifications: those received, expected and missed, and the subscriptions that send them. */
export class PushTables extends Store<Writes> {
  readonly closures = new ClosureTable(this.db);
  readonly gaps = new GapTable(this.db);
  readonly notices = new NoticeTable(this.db);
  readonly subscriptions = new SubscriptionTable(this.db);
}
