import { hash } from 'node:crypto';
import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, type Reads, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, dropBy, query, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import type { ShortListFacts } from '../says/conditions/facts.rules.ts';
import { isSettled, type ShortList } from '../trust/short-list.rules.ts';
import type { Resource } from './resources.rules.ts';

export interface WalkKey {
  readonly resource: Resource;
  readonly edition: string;
}

export type WalkState = Omit<Tables['_walk'], 'resource' | 'edition'>;

/** Counts of a page of a list. */
interface PageCounts {
  /** Number of rows that the service counts; null if it does not say. */
  readonly counted: number | null;
  /** Number of rows that could not be used, and the reason for the first of them. */
  readonly unusable: number;
  readonly unusable_example: string | null;
}

/** A page of a list, as its walk counts it. */
export interface TurnedPage extends PageCounts {
  readonly ids: readonly number[];
}

/** The state of an attempt that begins. */
const begun = { next_page: 1, repeated: 0, counted: null, unusable: 0, unusable_example: null };

const state = [
  'started_at', 'next_page', 'attempt', 'repeated', 'completed_at', 'counted', 'unusable', 'unusable_example',
] as const; // biome-ignore format: a list of columns

/** Rows of a list as an attempt to walk it met them: each of them once. */
type WalkPage = Omit<Tables['_walk_page'], 'ids'> & { readonly ids: readonly number[] };

const pageKey = ['resource', 'edition', 'attempt', 'page'] as const;

type Advance = WalkKey & PageCounts & { next_page: number; repeated: number };

/** Walks over paged lists, one page at a time. */
export class WalkTable extends Store<Writes> {
  readonly find = this.db.row(byKey('_walk', ['resource', 'edition'], state));
  readonly #begin = this.db.change(
    ({ resource, edition, started_at, attempt }: Bound<WalkKey & { started_at: Instant; attempt: number }>) =>
      query
        .insertInto('_walk')
        .values({ resource, edition, started_at, attempt, ...begun, completed_at: null })
        .onConflict((known) => known.columns(['resource', 'edition']).doUpdateSet({ started_at, attempt, ...begun })),
  );
  readonly #advance = this.db.change((bound: Bound<Advance>) =>
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
  /** Ends the walk. Only a complete one says anything about what is absent. */
  readonly end = this.db.change((bound: Bound<WalkKey & { completed_at: Instant | null }>) =>
    query
      .updateTable('_walk')
      .set(({ fn }) => ({ next_page: 0, completed_at: fn.coalesce(bound.completed_at, 'completed_at') }))
      .where('resource', '=', bound.resource)
      .where('edition', '=', bound.edition),
  );
  readonly #forgetPages = this.db.change(dropBy('_walk_page', ['resource', 'edition']));
  readonly #note = this.db.change(upsert('_walk_page', pageKey, ['ids']));
  readonly #drop = this.db.change(dropBy('_walk_page', pageKey));
  readonly #pages = this.db.rows((bound: Bound<WalkKey>) =>
    query
      .selectFrom('_walk_page')
      .selectAll()
      .where('resource', '=', bound.resource)
      .where('edition', '=', bound.edition)
      .orderBy('attempt', 'desc'),
  );

  /** Begins at page 1 again, as attempt number `attempt`; the first attempt forgets the rows of the walk before. */
  begin(key: WalkKey, started_at: Instant, attempt: number): WalkState {
    if (attempt === 1) this.#forgetPages(key);
    this.#begin({ ...key, started_at, attempt });
    return this.find(key) as WalkState;
  }

  /** Notes a page, and goes on to the next one; returns how many of its rows this attempt has met before. */
  turn(key: WalkKey, { next_page, attempt }: WalkState, { ids, ...page }: TurnedPage): number {
    const pages = this.#of(key).filter((each) => each.attempt === attempt);
    const met = new Set(pages.flatMap((each) => each.ids));
    const fresh = [...new Set(ids)].filter((id) => !met.has(id));
    const known = pages.find((each) => each.page === next_page)?.ids ?? [];
    this.#put({ ...key, attempt, page: next_page, ids: [...known, ...fresh] });
    const repeated = ids.length - fresh.length;
    this.#advance({ ...key, ...page, next_page: next_page + 1, repeated });
    return repeated;
  }

  /** Returns how many different rows this attempt has met, and how many all its attempts together. */
  rows(key: WalkKey, attempt: number): { attempt: number; all: number } {
    const pages = this.#of(key);
    const count = (some: readonly WalkPage[]) => new Set(some.flatMap(({ ids }) => ids)).size;
    return { attempt: count(pages.filter((each) => each.attempt === attempt)), all: count(pages) };
  }

  /** Returns a hash of the ids that all its attempts have met. */
  rowHash(key: WalkKey): string {
    const ids = [...new Set(this.#of(key).flatMap((page) => page.ids))];
    return hash('sha256', ids.sort((a, b) => a - b).join());
  }

  /** Returns the page on which a row was last met; null: unknown, or not met by this walk yet. */
  pageOf(key: WalkKey, id: number): number | null {
    return this.#of(key).find(({ ids }) => ids.includes(id))?.page || null;
  }

  /** Returns how many pages the list had; null: unknown. */
  pages(key: WalkKey): number | null {
    return Math.max(0, ...this.#of(key).map(({ page }) => page)) || null;
  }

  /** Notes that rows were met on a page by a read outside the walk, which does not count them. */
  moved(key: WalkKey, page: number, ids: readonly number[]): void {
    const moving = new Set(ids);
    for (const [attempt, pages] of Map.groupBy(this.#of(key), (each) => each.attempt)) {
      const others = pages.filter((each) => each.page !== page && each.ids.some((id) => moving.has(id)));
      if (others.length === 0) continue;
      const known = pages.find((each) => each.page === page)?.ids ?? [];
      const met = others.flatMap((each) => each.ids.filter((id) => moving.has(id)));
      this.#put({ ...key, attempt, page, ids: [...known, ...met] });
      for (const each of others) this.#put({ ...each, ids: each.ids.filter((id) => !moving.has(id)) });
    }
  }

  /** Returns the pages of a walk, those of its newest attempt first. */
  #of(key: WalkKey): WalkPage[] {
    return this.#pages(key).map((page) => ({ ...page, ids: JSON.parse(page.ids) as number[] }));
  }

  #put(page: WalkPage): void {
    if (page.ids.length === 0) this.#drop(page);
    else this.#note({ ...page, ids: JSON.stringify(page.ids) });
  }
}

/** A list whose last walk was short, as status shows it. */
export interface ShortListStatus extends ShortListFacts {
  readonly walked_at: number;
}

export class ShortListReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #all = this.db.rows(() =>
    query
      .selectFrom('_short_list as s')
      .innerJoin('_record as r', (on) =>
        on
          .onRef('r.resource', '=', 's.resource')
          .onRef('r.edition', '=', 's.edition')
          .on('r.product_id', '=', 0)
          .on('r.part', '=', 0),
      )
      .innerJoin('_mirror as m', (on) => on.on('m.mirror_id', '=', 1))
      .select(['s.resource', 's.edition', 's.since_at as since', 's.walked_at', 's.counted', 's.met', 's.unusable'])
      .select(['s.unusable_example', 's.lists'])
      .select(sql<0 | 1>`s.edition = m.language || '/' || m.currency`.as('primary'))
      .orderBy(sql`s.resource <> 'products'`)
      .orderBy(sql`s.edition <> m.language || '/' || m.currency`)
      .orderBy('s.resource')
      .orderBy('s.edition'),
  );

  /** Returns those that are still walked, the product lists first. */
  all(): (ShortListStatus & { readonly resource: Resource })[] {
    return this.#all().map(({ lists, ...row }) => ({ ...row, settled: isSettled(lists, row.met) ? 1 : 0 }));
  }
}

const shortList = [
  'since_at', 'walked_at', 'counted', 'met', 'unusable', 'unusable_example', 'row_hash', 'lists', 'agreed_at',
] as const; // biome-ignore format: a list of columns

/** Lists whose last walk met fewer rows than the service counts, or rows that could not be used. */
export class ShortListTable extends ShortListReads<Writes> {
  readonly find = this.db.row(({ resource, edition }: Bound<WalkKey>) =>
    query.selectFrom('_short_list').selectAll().where('resource', '=', resource).where('edition', '=', edition),
  );
  readonly #put = this.db.change(upsert('_short_list', ['resource', 'edition'], shortList));
  /** Forgets that a list was short. */
  readonly end = this.db.change(dropBy('_short_list', ['resource', 'edition']));

  /** Notes a short walk that ended at `at`. */
  note(key: WalkKey, list: ShortList & { readonly unusable_example: string | null }, at: Instant): void {
    const since_at = this.find(key)?.since_at ?? at;
    this.#put({ ...list, agreed_at: instant(list.agreed_at), ...key, since_at, walked_at: at });
  }
}
