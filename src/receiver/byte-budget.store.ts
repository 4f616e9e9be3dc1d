import type { Database } from '../kernel/sqlite/database-file.ts';
import { type Bound, type PreparedStatement, Store, sql, type Writes, writesTo } from '../kernel/sqlite/statements.ts';
import { query } from './tables.ts';

/**
 * Thrown when deliveries that are not applied yet use up the budget: none of them can be removed, so none is accepted.
 */
export class InboxFull extends Error {
  override readonly name = 'InboxFull';
}

/** The number of oldest deliveries that are read together; they are likely to be enough. */
const atOnce = 64;

type Nothing = Record<never, never>;
type Oldest = { delivery_id: number };

/** Keeps the stored deliveries within a number of bytes. */
export class ByteBudget extends Store<Writes> {
  readonly #bytes = this.db.value(() => query.selectFrom('inbox').select('stored_bytes'));
  // The index decides the speed, and Kysely cannot name one.
  readonly #bodies = this.db.values(
    () =>
      sql<Oldest>`select delivery_id from delivery indexed by delivery_spent where state <> 'waiting' and coding is not 0
        order by state = 'quarantined', delivery_id limit ${sql.lit(atOnce)}`,
  );
  readonly #rows = this.db.values(
    () =>
      sql<Oldest>`select delivery_id from delivery not indexed where state <> 'waiting'
        order by delivery_id limit ${sql.lit(atOnce)}`,
  );
  readonly #empty = this.db.change(({ delivery_id }: Bound<Oldest>) =>
    query.updateTable('delivery').set(noBody).where('delivery_id', '=', delivery_id),
  );
  readonly #remove = this.db.change(({ delivery_id }: Bound<Oldest>) =>
    query.deleteFrom('delivery').where('delivery_id', '=', delivery_id),
  );
  readonly #countGone = this.db.change(({ gone }: Bound<{ gone: number }>) =>
    query.updateTable('inbox').set(({ eb }) => ({ bodies_gone: eb('bodies_gone', '+', gone) })),
  );

  /**
   * Removes data until the budget is met. Called after deliveries were added. Removes the bodies of applied deliveries
   * first, oldest first, then those in quarantine, then whole rows of both. Throws `InboxFull` if that is not enough.
   */
  keepWithin(budget: number): void {
    if (this.#now() <= budget) return;
    const gone = this.#takeAway(this.#bodies, this.#empty, budget);
    if (gone > 0) this.#countGone({ gone });
    this.#takeAway(this.#rows, this.#remove, budget);
    if (this.#now() > budget)
      throw new InboxFull('retention.deliveries_bytes is used up by deliveries not applied yet');
  }

  #now(): number {
    return this.#bytes() ?? 0;
  }

  /** Removes the oldest until the budget is met or none is left. Returns the number removed. */
  #takeAway(
    oldest: PreparedStatement<Nothing, number[]>,
    away: PreparedStatement<Oldest, number>,
    budget: number,
  ): number {
    let count = 0;
    for (;;) {
      const found = oldest();
      for (const delivery_id of found) {
        if (this.#now() <= budget) return count;
        away({ delivery_id });
        count += 1;
      }
      if (found.length === 0) return count;
    }
  }
}

const noBody = { body: sql<Buffer>`x''`, coding: 0 } as const;

/**
 * Removes from a copy of an inbox the bodies that are not needed again: those of deliveries with an outcome whose
 * effects are in the mirror's copy. Waiting deliveries keep their bodies, and are applied where the copy is restored.
 */
export function removeAppliedBodies(copy: Database, applied_delivery: number): void {
  const db = writesTo(copy);
  const empty = db.change(({ applied }: Bound<{ applied: number }>) =>
    query
      .updateTable('delivery')
      .set(noBody)
      .where('state', '<>', 'waiting')
      .where('delivery_id', '<=', applied)
      .where('coding', 'is not', 0),
  );
  db.transaction(() => empty({ applied: applied_delivery }));
  copy.exec('VACUUM');
}
