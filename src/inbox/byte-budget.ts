import type { Database } from '../sqlite/database-file.ts';

/** Thrown where the budget is used up by deliveries that were not applied yet: none of them leaves, so nothing comes in. */
export class InboxFull extends Error {
  override readonly name = 'InboxFull';
}

export interface ByteBudget {
  /**
   * Called inside the transaction that has added deliveries. Over the budget, the bodies of applied deliveries go,
   * the oldest first, then those in quarantine; then whole rows of both. Throws `InboxFull` where that is not enough.
   */
  keepWithin(budget: number): void;
}

/** So many are looked at together: the oldest are likely to be enough. */
const atOnce = 64;

export function byteBudget(db: Database): ByteBudget {
  const bytes = db.prepare<[], number>('SELECT stored_bytes FROM inbox').pluck();
  const bodies = db
    .prepare<[], number>(
      `SELECT delivery_id FROM delivery INDEXED BY delivery_spent WHERE state <> 'waiting' AND coding IS NOT 0
       ORDER BY state = 'quarantined', delivery_id LIMIT ${atOnce}`,
    )
    .pluck();
  const rows = db
    .prepare<[], number>(
      `SELECT delivery_id FROM delivery NOT INDEXED WHERE state <> 'waiting' ORDER BY delivery_id LIMIT ${atOnce}`,
    )
    .pluck();
  const empty = db.prepare<[number]>(`UPDATE delivery SET body = x'', coding = 0 WHERE delivery_id = ?`);
  const remove = db.prepare<[number]>('DELETE FROM delivery WHERE delivery_id = ?');
  const countGone = db.prepare<[number]>('UPDATE inbox SET bodies_gone = bodies_gone + ?');
  const now = () => bytes.get() ?? 0;

  /** Takes away the oldest until it is enough or none is left; returns how many. */
  function takeAway(oldest: typeof bodies, away: typeof remove, budget: number): number {
    let count = 0;
    for (;;) {
      const found = oldest.all();
      for (const delivery_id of found) {
        if (now() <= budget) return count;
        away.run(delivery_id);
        count += 1;
      }
      if (found.length === 0) return count;
    }
  }

  return {
    keepWithin: (budget) => {
      if (now() <= budget) return;
      const gone = takeAway(bodies, empty, budget);
      if (gone > 0) countGone.run(gone);
      takeAway(rows, remove, budget);
      if (now() > budget) throw new InboxFull('retention.deliveries_bytes is used up by deliveries not applied yet');
    },
  };
}
