import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/** A period during which a condition was shown. */
export type ConditionPeriod = Readonly<InboxTables['condition_period']>;

/** A condition that held at one inspection. */
interface Shown {
  readonly code: string;
  readonly since: Instant | null;
  readonly says: string;
}

/** The periods of conditions, kept for 90 days. They survive a mirror that is repaired or filled from scratch. */
export class ConditionPeriods extends Store<Writes> {
  /** Returns the periods that have not ended, as of the last inspection. */
  readonly open = this.db.rows(() => query.selectFrom('condition_period').selectAll().where('ended_at', 'is', null));
  /** Returns the periods that lasted at `from` or began later, oldest first. */
  readonly flips = this.db.rows(({ from }: Bound<{ from: Instant }>) =>
    query
      .selectFrom('condition_period')
      .selectAll()
      .where(({ or, eb }) => or([eb('ended_at', 'is', null), eb('ended_at', '>=', from)]))
      .orderBy('began_at')
      .orderBy('period_id'),
  );
  /** Returns the instant since which conditions are watched; there are no periods from before. Null: not yet. */
  readonly watchedSince = this.db.value(() => query.selectFrom('inbox').select('watched_since'));
  readonly #watch = this.db.change(({ now }: Bound<{ now: Instant }>) =>
    query.updateTable('inbox').set({ watched_since: now }),
  );
  readonly #begin = this.db.change(
    ({ code, began_at, says }: Bound<{ code: string; began_at: Instant; says: string }>) =>
      query.insertInto('condition_period').values({ code, began_at, says }),
  );
  readonly #end = this.db.change(({ code, now }: Bound<{ code: string; now: Instant }>) =>
    query
      .updateTable('condition_period')
      .set(({ fn }) => ({ ended_at: fn<Instant>('max', ['began_at', now]) }))
      .where('code', '=', code)
      .where('ended_at', 'is', null),
  );
  readonly #acknowledge = this.db.change(
    ({ code, because, now }: Bound<{ code: string; because: string; now: Instant }>) =>
      query
        .updateTable('condition_period')
        .set({ acknowledged: because, acknowledged_at: now })
        .where('code', '=', code)
        .where('ended_at', 'is', null),
  );
  readonly #prune = this.db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('condition_period').where('ended_at', '<', before),
  );

  /**
   * Records the conditions that hold now: begins and ends periods. Writes nothing if nothing has changed. Returns the
   * codes of both.
   */
  note(held: readonly Shown[], now: Instant): { readonly began: readonly string[]; readonly ended: readonly string[] } {
    const known = new Set(this.open().map(({ code }) => code));
    const holds = new Set(held.map(({ code }) => code));
    const began = held.filter(({ code }) => !known.has(code));
    const ended = [...known].filter((code) => !holds.has(code));
    const first = this.watchedSince() === null;
    if (first || began.length + ended.length > 0)
      this.db.transaction(() => {
        if (first) this.#watch({ now });
        for (const code of ended) this.#end({ code, now });
        for (const { code, since, says } of began)
          this.#begin({ code, began_at: instant(Math.min(since ?? now, now)), says });
      });
    return { began: began.map(({ code }) => code), ended };
  }

  /** Acknowledges a condition. Returns false if it does not hold. */
  acknowledge(code: string, because: string, now: Instant): boolean {
    return this.db.transaction(() => this.#acknowledge({ code, because, now }) > 0);
  }

  /** Deletes the periods that ended before an instant. */
  prune(before: Instant): void {
    this.db.transaction(() => this.#prune({ before }));
  }
}
