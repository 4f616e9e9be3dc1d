import type { Instant } from '../clock.ts';
import { type Bound, sql, type Writes } from '../sqlite/statements.ts';
import { type DeliveryState, type InboxTables, query } from './tables.ts';

/** The most that is kept in quarantine. */
export interface QuarantineLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** Records the outcome of waiting deliveries, and deletes old ones. */
export interface Settling {
  /** Records the outcome of a delivery. One that has an outcome keeps it. */
  settle(delivery_id: number, state: Settled, reason: string | null, now: Instant): void;
  /** Deletes the deliveries whose outcome was recorded before an instant. Returns their number. */
  prune(before: Instant): number;
}

export type Settled = Exclude<DeliveryState, 'waiting'>;

/** Deliveries between two checks of the limits. Adding up all rows takes a millisecond, too long for each delivery. */
const trimEvery = 64;

export function settlingIn(db: Writes, limits: QuarantineLimits): Settling {
  type Row = InboxTables['delivery'];
  const settle = db.change(
    ({ delivery_id, state, reason, settled_at }: Bound<Pick<Row, 'delivery_id' | 'state' | 'reason' | 'settled_at'>>) =>
      query
        .updateTable('delivery')
        .set({ state, reason, settled_at })
        .where('delivery_id', '=', delivery_id)
        .where('state', '=', 'waiting'),
  );
  const counted = (state: Settled) =>
    db.returning(() =>
      query
        .updateTable('inbox')
        .set(({ eb }) => ({ [state]: eb(state, '+', 1) }))
        .returning(state),
    );
  const count = {
    applied: counted('applied'),
    superseded: counted('superseded'),
    quarantined: counted('quarantined'),
  };
  // The index decides the speed, and Kysely cannot name one.
  const trim = db.change(({ rows, bytes }: Bound<QuarantineLimits>) =>
    query.deleteFrom('delivery').where(
      'delivery_id',
      'in',
      sql<number>`(select delivery_id from (
        select delivery_id, row_number() over newest as row, sum(length(body)) over newest as bytes
        from delivery indexed by delivery_quarantined where state = 'quarantined'
        window newest as (order by delivery_id desc rows unbounded preceding))
      where row > ${rows} or bytes > ${bytes})`,
    ),
  );
  const prune = db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('delivery').where('settled_at', '<', before),
  );
  return {
    settle: (delivery_id, state, reason, now) => {
      if (settle.run({ delivery_id, state, reason, settled_at: now }).changes === 0) return;
      const [ever = 0] = count[state].all();
      if (state === 'quarantined' && ever % Math.min(limits.rows, trimEvery) === 0) trim.run(limits);
    },
    prune: (before) => prune.run({ before }).changes,
  };
}
