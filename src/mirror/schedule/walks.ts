import { hash } from 'node:crypto';
import type { Instant } from '../../clock.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import type { Bound, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

export interface WalkKey {
  readonly resource: Resource;
  readonly edition: string;
}

export type WalkState = Omit<Tables['_walk'], 'resource' | 'edition'>;

/** A page of a list, as its walk counts it. */
export interface TurnedPage {
  readonly ids: readonly number[];
  /** Number of rows that the service counts; null if it does not say. */
  readonly counted: number | null;
  /** Number of rows that could not be used, and the reason for the first of them. */
  readonly unusable: number;
  readonly unusable_example: string | null;
}

/** Walks over paged lists, one page at a time. */
export interface WalkTable {
  find(key: WalkKey): WalkState | null;
  /** Begins at page 1 again, as attempt number `attempt`; the first attempt forgets the rows of the walk before. */
  begin(key: WalkKey, started_at: Instant, attempt: number): WalkState;
  /** Notes a page, and goes on to the next one; returns how many of its rows this attempt has met before. */
  turn(key: WalkKey, walk: WalkState, page: TurnedPage): number;
  /** Returns how many different rows this attempt has met, and how many all its attempts together. */
  rows(key: WalkKey, attempt: number): { attempt: number; all: number };
  /** Returns a hash of the ids that all its attempts have met. */
  rowHash(key: WalkKey): string;
  /** Returns the page on which a row was last met; null: unknown, or not met by this walk yet. */
  pageOf(key: WalkKey, id: number): number | null;
  /** Returns how many pages the list had; null: unknown. */
  pages(key: WalkKey): number | null;
  /** Notes that rows were met on a page by a read outside the walk, which does not count them. */
  moved(key: WalkKey, page: number, ids: readonly number[]): void;
  /** Ends the walk. Only a complete one says anything about what is absent. */
  end(key: WalkKey, completed_at: Instant | null): void;
}

/** The state of an attempt that begins. */
const begun = { next_page: 1, repeated: 0, counted: null, unusable: 0, unusable_example: null };

export function walkTable(db: Writes): WalkTable {
  const one = db.rows((bound: Bound<WalkKey>) =>
    query
      .selectFrom('_walk')
      .select(['started_at', 'next_page', 'attempt', 'repeated', 'completed_at'])
      .select(['counted', 'unusable', 'unusable_example'])
      .where('resource', '=', bound.resource)
      .where('edition', '=', bound.edition),
  );
  const begin = db.change(
    ({ resource, edition, started_at, attempt }: Bound<WalkKey & Pick<WalkState, 'started_at' | 'attempt'>>) =>
      query
        .insertInto('_walk')
        .values({ resource, edition, started_at, attempt, ...begun, completed_at: null })
        .onConflict((known) => known.columns(['resource', 'edition']).doUpdateSet({ started_at, attempt, ...begun })),
  );
  type Advance = WalkKey & Pick<WalkState, 'next_page' | 'repeated'> & Omit<TurnedPage, 'ids'>;
  const advance = db.change((bound: Bound<Advance>) =>
    query
      .updateTable('_walk')
      .set(({ eb, fn }) => ({
        next_page: bound.next_page,
        repeated: eb('repeated', '+', bound.repeated),
        // A page may count fewer than another one, or none: the most that any page counts is believed.
        counted: fn<number | null>('max', [
          fn.coalesce('counted', bound.counted),
          fn.coalesce(bound.counted, 'counted'),
        ]),
        unusable: eb('unusable', '+', bound.unusable),
        unusable_example: fn.coalesce('unusable_example', bound.unusable_example),
      }))
      .where('resource', '=', bound.resource)
      .where('edition', '=', bound.edition),
  );
  const finish = db.change((bound: Bound<WalkKey & Pick<WalkState, 'completed_at'>>) =>
    query
      .updateTable('_walk')
      .set(({ fn }) => ({ next_page: 0, completed_at: fn.coalesce(bound.completed_at, 'completed_at') }))
      .where('resource', '=', bound.resource)
      .where('edition', '=', bound.edition),
  );
  const met = walkRows(db);
  const pages = listPages(db);

  const find = (key: WalkKey) => one.get(key) ?? null;
  return {
    find,
    begin: (key, started_at, attempt) => {
      if (attempt === 1) met.forget(key);
      begin.run({ ...key, started_at, attempt });
      return find(key) as WalkState;
    },
    turn: (key, { next_page, attempt }, { ids, ...page }) => {
      const repeated = ids.filter((id) => !met.note({ ...key, id, attempt, page: next_page })).length;
      advance.run({ ...key, ...page, next_page: next_page + 1, repeated });
      return repeated;
    },
    rows: met.count,
    rowHash: (key) => hash('sha256', met.ids(key)),
    pageOf: (key, id) => pages.of.get({ ...key, id }) ?? null,
    pages: (key) => pages.all.get(key) ?? null,
    moved: (key, page, ids) => {
      for (const id of ids) pages.move.run({ ...key, id, page });
    },
    end: (key, completed_at) => {
      finish.run({ ...key, completed_at });
    },
  };
}

/** The rows that a walk has met. */
function walkRows(db: Writes) {
  const forget = db.change((bound: Bound<WalkKey>) =>
    query.deleteFrom('_walk_row').where('resource', '=', bound.resource).where('edition', '=', bound.edition),
  );
  const note = db.change(({ resource, edition, id, attempt, page }: Bound<Tables['_walk_row']>) =>
    query
      .insertInto('_walk_row')
      .values({ resource, edition, id, attempt, page })
      .onConflict((known) =>
        known
          .columns(['resource', 'edition', 'id'])
          .doUpdateSet({ attempt, page })
          .where('_walk_row.attempt', '<>', attempt),
      ),
  );
  const ids = db.values((bound: Bound<WalkKey>) =>
    query
      .selectFrom('_walk_row')
      .select('id')
      .where('resource', '=', bound.resource)
      .where('edition', '=', bound.edition)
      .orderBy('id'),
  );
  const count = db.rows((bound: Bound<WalkKey & { attempt: number }>) =>
    query
      .selectFrom('_walk_row')
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('attempt', '=', bound.attempt).as('attempt'),
        fn.countAll<number>().as('all'),
      ])
      .where('resource', '=', bound.resource)
      .where('edition', '=', bound.edition),
  );
  return {
    forget: (key: WalkKey) => {
      forget.run(key);
    },
    /** Returns whether this attempt meets it for the first time. */
    note: (row: Tables['_walk_row']) => note.run(row).changes > 0,
    /** Returns the ids of all rows as one text. */
    ids: (key: WalkKey) => ids.all(key).join(),
    count: (key: WalkKey, attempt: number) => count.get({ ...key, attempt }) ?? { attempt: 0, all: 0 },
  };
}

/** The pages on which rows stood. */
function listPages(db: Writes) {
  type Row = WalkKey & { id: number };
  const of = db.values(({ resource, edition, id }: Bound<Row>) =>
    query
      .selectFrom('_walk_row')
      .select('page')
      .where('resource', '=', resource)
      .where('edition', '=', edition)
      .where('id', '=', id),
  );
  const all = db.values(({ resource, edition }: Bound<WalkKey>) =>
    query
      .selectFrom('_walk_row')
      .select((eb) => eb.fn.max<number | null>('page').as('pages'))
      .where('resource', '=', resource)
      .where('edition', '=', edition),
  );
  const move = db.change(({ resource, edition, id, page }: Bound<Row & { page: number }>) =>
    query
      .updateTable('_walk_row')
      .set({ page })
      .where('resource', '=', resource)
      .where('edition', '=', edition)
      .where('id', '=', id)
      .where('page', 'is not', page),
  );
  return { of, all, move };
}
