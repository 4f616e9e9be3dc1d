import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { query } from '../mirror/sql/sql.ts';

/** A follower that was away for longer begins with a new copy. */
const keptMs = 7 * 86_400_000;

export class RowRetention extends Store<Writes> {
  readonly #newest = this.db.value(() =>
    query
      .selectFrom('_row')
      .innerJoin('_row_feed', (join) => join.onTrue())
      .select(({ fn }) => fn.max('number').as('number')),
  );
  readonly #mark = this.db.change(({ at, number }: Bound<{ at: Instant; number: number }>) =>
    query
      .insertInto('_row_mark')
      .values({ at, number })
      .onConflict((taken) => taken.column('at').doNothing()),
  );
  readonly #old = this.db.value(({ before }: Bound<{ before: Instant }>) =>
    query
      .selectFrom('_row_mark')
      .select(({ fn }) => fn.max('number').as('number'))
      .where('at', '<', before),
  );
  readonly #forgetRows = this.db.change(({ number }: Bound<{ number: number }>) =>
    query.deleteFrom('_row').where('number', '<=', number),
  );
  readonly #forgetMarks = this.db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('_row_mark').where('at', '<', before),
  );
  readonly #raise = this.db.change(({ number }: Bound<{ number: number }>) =>
    query.updateTable('_row_feed').set({ floor: number }),
  );

  /** Notes how far the numbers are, and forgets those of more than a week ago; nothing where no rows are published. */
  prune(now: Instant): void {
    const last = this.#newest();
    if (last === null) return;
    this.#mark({ at: now, number: last });
    const before = instant(now - keptMs);
    const number = this.#old({ before });
    if (number === null) return;
    this.#raise({ number });
    this.#forgetRows({ number });
    this.#forgetMarks({ before });
  }
}
