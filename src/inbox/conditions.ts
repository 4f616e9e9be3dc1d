import { type Instant, instant } from '../clock.ts';
import { type Bound, pick, type Writes } from '../sqlite/statements.ts';
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
export interface ConditionPeriods {
  /** Returns the periods that have not ended, as of the last inspection. */
  open(): ConditionPeriod[];
  /** Returns the instant since which conditions are watched; there are no periods from before. Null: not yet. */
  watchedSince(): number | null;
  /** Returns the periods that lasted at `from` or began later, oldest first. */
  flips(from: Instant): ConditionPeriod[];
  /**
   * Records the conditions that hold now: begins and ends periods. Writes nothing if nothing has changed. Returns the
   * codes of both.
   */
  note(held: readonly Shown[], now: Instant): { readonly began: readonly string[]; readonly ended: readonly string[] };
  /** Acknowledges a condition. Returns false if it does not hold. */
  acknowledge(code: string, because: string, now: Instant): boolean;
  /** Deletes the periods that ended before an instant. */
  prune(before: Instant): void;
}

const columns = ['code', 'began_at', 'says'] as const;

export function conditionPeriods(db: Writes): ConditionPeriods {
  const open = db.rows(() => query.selectFrom('condition_period').selectAll().where('ended_at', 'is', null));
  const flips = db.rows(({ from }: Bound<{ from: Instant }>) =>
    query
      .selectFrom('condition_period')
      .selectAll()
      .where(({ or, eb }) => or([eb('ended_at', 'is', null), eb('ended_at', '>=', from)]))
      .orderBy('began_at')
      .orderBy('period_id'),
  );
  const since = db.values(() => query.selectFrom('inbox').select('watched_since'));
  const watch = db.change(({ now }: Bound<{ now: Instant }>) => query.updateTable('inbox').set({ watched_since: now }));
  const begin = db.change((period: Bound<Pick<ConditionPeriod, 'code' | 'began_at' | 'says'>>) =>
    query.insertInto('condition_period').values(pick(period, columns)),
  );
  const end = db.change(({ code, now }: Bound<{ code: string; now: Instant }>) =>
    query
      .updateTable('condition_period')
      .set(({ fn }) => ({ ended_at: fn<Instant>('max', ['began_at', now]) }))
      .where('code', '=', code)
      .where('ended_at', 'is', null),
  );
  const acknowledge = db.change(({ code, because, now }: Bound<{ code: string; because: string; now: Instant }>) =>
    query
      .updateTable('condition_period')
      .set({ acknowledged: because, acknowledged_at: now })
      .where('code', '=', code)
      .where('ended_at', 'is', null),
  );
  const prune = db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('condition_period').where('ended_at', '<', before),
  );
  return {
    open: () => open.all(),
    watchedSince: () => since.get() ?? null,
    flips: (from) => flips.all({ from }),
    note: (held, now) => {
      const known = new Set(open.all().map(({ code }) => code));
      const holds = new Set(held.map(({ code }) => code));
      const began = held.filter(({ code }) => !known.has(code));
      const ended = [...known].filter((code) => !holds.has(code));
      const first = (since.get() ?? null) === null;
      if (first || began.length + ended.length > 0)
        db.transaction(() => {
          if (first) watch.run({ now });
          for (const code of ended) end.run({ code, now });
          for (const { code, since, says } of began)
            begin.run({ code, began_at: instant(Math.min(since ?? now, now)), says });
        });
      return { began: began.map(({ code }) => code), ended };
    },
    acknowledge: (code, because, now) => db.transaction(() => acknowledge.run({ code, because, now }).changes > 0),
    prune: (before) => {
      db.transaction(() => prune.run({ before }));
    },
  };
}
