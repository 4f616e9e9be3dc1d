import { query } from '../sql/sql.ts';

/** Of a subscription that does not send: see `isWorking`. */
export const silentStatuses = ['degraded', 'failed', 'cancelled', 'missing'];

/** Subscriptions that send, and to us. */
export const working = query
  .selectFrom('_subscription')
  .where('declared_id', 'is not', null)
  .where('status', 'not in', silentStatuses)
  .where('address', '=', 'ours');
