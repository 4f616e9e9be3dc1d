import { type Instant, instant } from '../../clock.ts';
import type { Bound, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** A follower that was away for longer begins with a new copy. */
const keptMs = 7 * 86_400_000;

export interface RowRetention {
  /** Notes how far the numbers are, and forgets those of more than a week ago; nothing where no rows are published. */
  prune(now: Instant): void;
}

export function rowRetention(db: Writes): RowRetention {
  const newest = db.values(() =>
    query
      .selectFrom('_row')
      .innerJoin('_row_feed', (join) => join.onTrue())
      .select(({ fn }) => fn.max('number').as('number')),
  );
  const mark = db.change(({ at, number }: Bound<{ at: Instant; number: number }>) =>
    query
      .insertInto('_row_mark')
      .values({ at, number })
      .onConflict((taken) => taken.column('at').doNothing()),
  );
  const old = db.values(({ before }: Bound<{ before: Instant }>) =>
    query
      .selectFrom('_row_mark')
      .select(({ fn }) => fn.max('number').as('number'))
      .where('at', '<', before),
  );
  const forgetRows = db.change(({ number }: Bound<{ number: number }>) =>
    query.deleteFrom('_row').where('number', '<=', number),
  );
  const forgetMarks = db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('_row_mark').where('at', '<', before),
  );
  const raise = db.change(({ number }: Bound<{ number: number }>) =>
    query.updateTable('_row_feed').set({ floor: number }),
  );
  return {
    prune: (now) => {
      const last = newest.get() ?? null;
      if (last === null) return;
      mark.run({ at: now, number: last });
      const before = instant(now - keptMs);
      const number = old.get({ before }) ?? null;
      if (number === null) return;
      raise.run({ number });
      forgetRows.run({ number });
      forgetMarks.run({ before });
    },
  };
}
