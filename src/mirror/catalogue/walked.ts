import type { Instant } from '../../clock.ts';
import { listsApartMs, walksUntilDropped } from '../../domain/sale/absence.ts';
import type { ListResource, Resource } from '../../domain/schedule/resources.ts';
import { type Bound, type Expression, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import type { FoundBy } from '../changes/changes.ts';
import { query } from '../sql/sql.ts';

/*
 * Query fragments and statements that use a walk over a list to decide what the list lacks.
 */

/** Returns the entries that a walk met in any of its attempts. An entry that only a drifting attempt met did exist. */
function metBy(resource: Resource, edition: RawBuilder<string>) {
  return query.selectFrom('_walk_row').select('id').where('resource', '=', resource).where('edition', '=', edition);
}

/** A complete walk over a list. */
export interface CompleteWalk {
  readonly edition: string;
  readonly started_at: Instant;
  /** Entries that the list's filter may leave out. */
  readonly included?: readonly number[];
}

export type BoundWalk = Bound<Omit<CompleteWalk, 'included'> & { readonly included: string }>;

/** Entries that the last complete walk of a list lacks. */
export interface ListAbsences {
  /** Records a complete walk: a stored entry that it did not meet is missing once more, any other one is not missing. */
  note(walk: CompleteWalk): void;
  drop(id: number): void;
  /** Records a complete walk of a list of `stored` entries. Forgets those that enough walks lack, and returns their ids. */
  gone(walk: CompleteWalk, stored: number): { readonly missing: number; readonly ids: readonly number[] };
}

/** Decides whether an entry is stored; else the one that is shown stays, as stale. `isKnown`: one is shown. */
export type IsUsable<Entry> = (entry: Entry, isKnown: boolean) => boolean;

/** A list without reads of its entries: its walks alone decide which are gone. */
export interface DroppedByWalks {
  /** Drops what this and enough earlier walks lack; returns how many were missing, and how many of them are dropped. */
  dropMissing(walk: CompleteWalk, by: FoundBy): { readonly missing: number; readonly dropped: number };
}

/** `stored` selects the ids of the entries that a walk should have met. Walks that are close together count as one. */
export function listAbsences(
  db: Writes,
  resource: ListResource,
  stored: (walk: BoundWalk) => Expression<{ id: number }>,
): ListAbsences {
  const unmet = (walk: BoundWalk) =>
    query
      .selectFrom(sql<{ id: number }>`(${stored(walk)})`.as('stored'))
      .where('stored.id', 'not in', metBy(resource, walk.edition));
  const found = db.change((walk: BoundWalk) =>
    query
      .deleteFrom('_absence')
      .where('resource', '=', resource)
      .where('id', 'not in', unmet(walk).select('stored.id')),
  );
  const missed = db.change((walk: BoundWalk) =>
    query
      .insertInto('_absence')
      .columns(['resource', 'id', 'missing_walks', 'first_missing_at', 'last_missing_at'])
      .expression(
        unmet(walk).select([
          sql.lit(resource).as('resource'),
          'stored.id',
          sql.lit(1).as('missing_walks'),
          walk.started_at.as('first_missing_at'),
          walk.started_at.as('last_missing_at'),
        ]),
      )
      .onConflict((taken) =>
        taken.doUpdateSet((of) => {
          const [walks, first, last] = [of.ref('missing_walks'), of.ref('first_missing_at'), of.ref('last_missing_at')];
          const counts = sql<0 | 1>`(${walks} = 0 or ${walk.started_at} - ${last} >= ${listsApartMs})`;
          return {
            first_missing_at: sql`case when ${walks} = 0 then ${walk.started_at} else ${first} end`,
            missing_walks: of('missing_walks', '+', counts),
            last_missing_at: sql`case when ${counts} then ${walk.started_at} else ${last} end`,
          };
        }),
      ),
  );
  const missing = db.values(({ walks }: Bound<{ walks: number }>) =>
    query.selectFrom('_absence').select('id').where('resource', '=', resource).where('missing_walks', '>=', walks),
  );
  const drop = db.change(({ id }: Bound<{ id: number }>) =>
    query.deleteFrom('_absence').where('resource', '=', resource).where('id', '=', id),
  );
  const note = ({ included = [], ...walk }: CompleteWalk) => {
    const bound = { ...walk, included: JSON.stringify(included) };
    found.run(bound);
    missed.run(bound);
  };
  const forget = (id: number) => {
    drop.run({ id });
  };
  return {
    note,
    drop: forget,
    gone: (walk, stored) => {
      note(walk);
      const all = missing.all({ walks: 1 }).length;
      const ids = missing.all({ walks: walksUntilDropped(all, stored) });
      ids.forEach(forget);
      return { missing: all, ids };
    },
  };
}
