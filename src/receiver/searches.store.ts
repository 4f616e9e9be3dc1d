import { type Bound, pick, type Reads, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/** Searches for words that occur nowhere in the catalogue. */
export interface SearchCount {
  readonly words: string;
  readonly searches: number;
}

export class SearchReads<Db extends Reads = Reads> extends Store<Db> {
  /**
   * Returns the searches without results on some days (both included) with at least `least` searches, most frequent
   * first.
   */
  readonly fruitless = this.db.rows(({ first, last, least }: Bound<{ first: number; last: number; least: number }>) =>
    query
      .selectFrom('fruitless_search')
      .select(({ fn }) => ['words', fn.sum<number>('searches').as('searches')])
      .where('day', '>=', first)
      .where('day', '<=', last)
      .groupBy('words')
      .having(({ fn }) => fn.sum<number>('searches'), '>=', least)
      .orderBy('searches', 'desc')
      .orderBy('words'),
  );
}

const columns = ['day', 'words', 'searches'] as const;

/** Searches without results, counted by day. */
export class Searches extends SearchReads<Writes> {
  readonly #words = this.db.value(({ day }: Bound<{ day: number }>) =>
    query
      .selectFrom('fruitless_search')
      .select(({ fn }) => fn.countAll<number>().as('words'))
      .where('day', '=', day),
  );
  readonly #has = this.db.value((of: Bound<{ day: number; words: string }>) =>
    query.selectFrom('fruitless_search').select('day').where('day', '=', of.day).where('words', '=', of.words),
  );
  readonly #add = this.db.change((counted: Bound<InboxTables['fruitless_search']>) =>
    query
      .insertInto('fruitless_search')
      .values(pick(counted, columns))
      .onConflict((known) =>
        known
          .columns(['day', 'words'])
          .doUpdateSet(({ eb }) => ({ searches: eb('fruitless_search.searches', '+', counted.searches) })),
      ),
  );
  readonly #drop = this.db.change(({ day }: Bound<{ day: number }>) =>
    query.deleteFrom('fruitless_search').where('day', '<', day),
  );

  /** Adds to the counts of a day. Once the day has `most` different words, only these continue to be counted. */
  add(day: number, counts: ReadonlyMap<string, number>, most: number): void {
    this.db.transaction(() => {
      let room = most - (this.#words({ day }) ?? 0);
      for (const [words, searches] of counts) {
        const known = this.#has({ day, words }) !== null;
        if (!known && room <= 0) continue;
        if (!known) room -= 1;
        this.#add({ day, words, searches });
      }
    });
  }

  /** Deletes the counts of the days before one. */
  prune(day: number): void {
    this.db.transaction(() => this.#drop({ day }));
  }
}
