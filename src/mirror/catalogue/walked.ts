import type { Instant } from '../../clock.ts';
import { listsApartMs } from '../../domain/sale/absence.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import type { ListResource, Resource } from '../../domain/schedule/resources.ts';
import { type Bound, type Expression, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/*
 * Query fragments and statements that use a walk over a list to decide what the list lacks.
 */

/** Returns the entries that a walk met in any of its attempts. An entry that only a drifting attempt met did exist. */
export function metBy(resource: Resource, edition: RawBuilder<string>) {
  return query.selectFrom('_walk_row').select('id').where('resource', '=', resource).where('edition', '=', edition);
}

/**
 * Returns whether it is far enough from the last one to count beside it. An instant that has not come yet counts as
 * absent: a machine that once lived in 2038 counts on.
 */
export function countsBeside(last_missing_at: Expression<number>, started_at: RawBuilder<number>): RawBuilder<0 | 1> {
  return sql`(${started_at} - ${last_missing_at} >= ${listsApartMs} or ${last_missing_at} > ${started_at} + ${futureToleranceMs})`;
}

/** Entries of a list that its last complete walk lacks. */
export interface ListAbsences {
  /**
   * Records a complete walk: entries that it met are not missing any more, the other stored ones are missing once more.
   * Returns how many are missing.
   */
  note(walk: { edition: string; started_at: Instant }): number;
  /** Forgets the entries that so many complete walks in a row lack, and returns their ids. */
  end(walks: number): number[];
}

type Walk = Bound<{ edition: string; started_at: Instant }>;

/** `stored` selects the ids of all stored entries. */
export function listAbsences(
  db: Writes,
  resource: Exclude<ListResource, 'products'>,
  stored: Expression<{ id: number }>,
): ListAbsences {
  const found = db.change(({ edition }: Bound<{ edition: string }>) =>
    query.deleteFrom('_list_absence').where('resource', '=', resource).where('id', 'in', metBy(resource, edition)),
  );
  const missed = db.change(({ edition, started_at }: Walk) =>
    query
      .insertInto('_list_absence')
      .columns(['resource', 'id', 'missing_walks', 'last_missing_at'])
      .expression(
        query
          .selectFrom(sql<{ id: number }>`(${stored})`.as('stored'))
          .select([
            sql.lit(resource).as('resource'),
            'stored.id',
            sql.lit(1).as('missing_walks'),
            started_at.as('last_missing_at'),
          ])
          .where('stored.id', 'not in', metBy(resource, edition)),
      )
      .onConflict((taken) =>
        taken.doUpdateSet((of) => {
          const last = of.ref('_list_absence.last_missing_at');
          return {
            missing_walks: of('missing_walks', '+', countsBeside(last, started_at)),
            last_missing_at: sql`case when ${countsBeside(last, started_at)} then ${started_at} else ${last} end`,
          };
        }),
      ),
  );
  const missingFor = db.values(({ walks }: Bound<{ walks: number }>) =>
    query.selectFrom('_list_absence').select('id').where('resource', '=', resource).where('missing_walks', '>=', walks),
  );
  const forget = db.change(({ id }: Bound<Pick<Tables['_list_absence'], 'id'>>) =>
    query.deleteFrom('_list_absence').where('resource', '=', resource).where('id', '=', id),
  );
  return {
    note: ({ edition, started_at }) => {
      found.run({ edition });
      missed.run({ edition, started_at });
      return missingFor.all({ walks: 1 }).length;
    },
    end: (walks) => {
      const gone = missingFor.all({ walks });
      for (const id of gone) forget.run({ id });
      return gone;
    },
  };
}
