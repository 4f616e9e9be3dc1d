import { listsApartMs } from '../../domain/sale/absence.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import { type Expression, type RawBuilder, sql } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/*
 * Query fragments that use a walk over a list to decide what the list lacks.
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
