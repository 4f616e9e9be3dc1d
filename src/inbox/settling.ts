import type { Instant } from '../clock.ts';
import { type Bound, sql, type Writes } from '../sqlite/statements.ts';
import { type DeliveryState, type InboxTables, query } from './tables.ts';

/** What may be kept in quarantine. */
export interface QuarantineLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** What ends the waiting of deliveries, and forgets them afterwards. */
export interface Settling {
  /** One that is settled already stays as it is. */
  settle(delivery_id: number, state: Settled, reason: string | null, now: Instant): void;
  /** Forgets what was settled before; returns how many. */
  prune(before: Instant): number;
}

export type Settled = Exclude<DeliveryState, 'waiting'>;

/** Adding up what is kept takes a millisecond: not for each that comes. */
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
  // Which index serves decides how long it takes, and is not Kysely's to say.
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
