import { type Bound, sql, type Writes } from '../sqlite/statements.ts';
import { query } from './tables.ts';

/**
 * Thrown when deliveries that are not applied yet use up the budget: none of them can be removed, so none is accepted.
 */
export class InboxFull extends Error {
  override readonly name = 'InboxFull';
}

export interface ByteBudget {
  /**
   * Removes data until the budget is met. Called after deliveries were added. Removes the bodies of applied deliveries
   * first, oldest first, then those in quarantine, then whole rows of both. Throws `InboxFull` if that is not enough.
   */
  keepWithin(budget: number): void;
}

/** The number of oldest deliveries that are read together; they are likely to be enough. */
const atOnce = 64;

type Oldest = { delivery_id: number };

export function byteBudget(db: Writes): ByteBudget {
  const bytes = db.values(() => query.selectFrom('inbox').select('stored_bytes'));
  // The index decides the speed, and Kysely cannot name one.
  const bodies = db.values(
    () =>
      sql<Oldest>`select delivery_id from delivery indexed by delivery_spent where state <> 'waiting' and coding is not 0
        order by state = 'quarantined', delivery_id limit ${sql.lit(atOnce)}`,
  );
  const rows = db.values(
    () =>
      sql<Oldest>`select delivery_id from delivery not indexed where state <> 'waiting'
        order by delivery_id limit ${sql.lit(atOnce)}`,
  );
  const empty = db.change(({ delivery_id }: Bound<Oldest>) =>
    query.updateTable('delivery').set({ body: sql<Buffer>`x''`, coding: 0 }).where('delivery_id', '=', delivery_id),
  );
  const remove = db.change(({ delivery_id }: Bound<Oldest>) =>
    query.deleteFrom('delivery').where('delivery_id', '=', delivery_id),
  );
  const countGone = db.change(({ gone }: Bound<{ gone: number }>) =>
    query.updateTable('inbox').set(({ eb }) => ({ bodies_gone: eb('bodies_gone', '+', gone) })),
  );
  const now = () => bytes.get() ?? 0;

  /** Removes the oldest until the budget is met or none is left. Returns the number removed. */
  function takeAway(oldest: typeof bodies, away: typeof remove, budget: number): number {
    let count = 0;
    for (;;) {
      const found = oldest.all();
      for (const delivery_id of found) {
        if (now() <= budget) return count;
        away.run({ delivery_id });
        count += 1;
      }
      if (found.length === 0) return count;
    }
  }

  return {
    keepWithin: (budget) => {
      if (now() <= budget) return;
      const gone = takeAway(bodies, empty, budget);
      if (gone > 0) countGone.run({ gone });
      takeAway(rows, remove, budget);
      if (now() > budget) throw new InboxFull('retention.deliveries_bytes is used up by deliveries not applied yet');
    },
  };
}
