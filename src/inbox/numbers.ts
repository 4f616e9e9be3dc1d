import type { Bound, Writes } from '../sqlite/statements.ts';
import type { Settled } from './settling.ts';
import { query } from './tables.ts';

/** The numbers of deliveries, for a mirror that may have applied more or fewer than this file knows. */
export interface Numbers {
  /** Returns the highest number that was used or skipped. */
  newest(): number;
  /** Continues above this number. Skipped numbers do not count as received. */
  goOnAbove(delivery_id: number): void;
  /**
   * Makes the deliveries above this number that have an outcome wait again; returns how many. `gone_since`: arrival of
   * the first one that cannot wait because its body was removed; 0: its row was removed too; null: all can wait.
   */
  waitAgain(delivery_id: number): { readonly deliveries: number; readonly gone_since: number | null };
}

type Above = { delivery_id: number };

export function numbersIn(db: Writes): Numbers {
  const last = db.values(() => query.selectFrom('sqlite_sequence').select('seq').where('name', '=', 'delivery'));
  const begin = db.change(() => query.insertInto('sqlite_sequence').values({ name: 'delivery', seq: 0 }));
  const skipTo = db.change(({ delivery_id }: Bound<Above>) =>
    query.updateTable('sqlite_sequence').set({ seq: delivery_id }).where('name', '=', 'delivery'),
  );
  const noteSkipped = db.change(({ numbers }: Bound<{ numbers: number }>) =>
    query.updateTable('inbox').set(({ eb }) => ({ skipped_numbers: eb('skipped_numbers', '+', numbers) })),
  );
  const uncount = db.change(({ delivery_id }: Bound<Above>) =>
    query.updateTable('inbox').set(({ eb, selectFrom }) => {
      const less = (state: Settled) =>
        eb(
          state,
          '-',
          selectFrom('delivery')
            .where('delivery_id', '>', delivery_id)
            .where('state', '=', state)
            .where('coding', 'is not', 0)
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .$asScalar()
            .$notNull(),
        );
      return { applied: less('applied'), superseded: less('superseded'), quarantined: less('quarantined') };
    }),
  );
  const unsettle = db.change(({ delivery_id }: Bound<Above>) =>
    query
      .updateTable('delivery')
      .set({ state: 'waiting', reason: null, settled_at: null })
      .where('delivery_id', '>', delivery_id)
      .where('state', '<>', 'waiting')
      .where('coding', 'is not', 0),
  );
  const one = db.values(({ delivery_id }: Bound<Above>) =>
    query.selectFrom('delivery').select('delivery_id').where('delivery_id', '=', delivery_id),
  );
  const firstGone = db.values(({ delivery_id }: Bound<Above>) =>
    query
      .selectFrom('delivery')
      .select(({ fn }) => fn.min('received_at').as('received_at'))
      .where('delivery_id', '>', delivery_id)
      .where('coding', '=', 0),
  );

  function goneSince(delivery_id: number): number | null {
    const wasGivenOut = (last.get() ?? 0) > delivery_id;
    const isGone = wasGivenOut && one.get({ delivery_id: delivery_id + 1 }) === undefined;
    return isGone ? 0 : (firstGone.get({ delivery_id }) ?? null);
  }

  return {
    newest: () => last.get() ?? 0,
    goOnAbove: (delivery_id) => {
      const known = last.get();
      if (known === undefined) begin.run();
      if (delivery_id <= (known ?? 0)) return;
      skipTo.run({ delivery_id });
      noteSkipped.run({ numbers: delivery_id - (known ?? 0) });
    },
    waitAgain: (delivery_id) => {
      uncount.run({ delivery_id });
      const gone_since = goneSince(delivery_id);
      return { deliveries: unsettle.run({ delivery_id }).changes, gone_since };
    },
  };
}
