import { type Bound, pick, type Reads, type Writes } from '../sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/** Searches for words that occur nowhere in the catalogue. */
export interface SearchCount {
  readonly words: string;
  readonly searches: number;
}

export interface SearchReads {
  /**
   * Returns the searches without results on some days (both included) with at least `least` searches, most frequent
   * first.
   */
  fruitless(days: { readonly first: number; readonly last: number }, least: number): SearchCount[];
}

/** Searches without results, counted by day. */
export interface Searches extends SearchReads {
  /** Adds to the counts of a day. Once the day has `most` different words, only these continue to be counted. */
  add(day: number, counts: ReadonlyMap<string, number>, most: number): void;
  /** Deletes the counts of the days before one. */
  prune(day: number): void;
}

export function searchReads(db: Reads): SearchReads {
  const fruitless = db.rows(({ first, last, least }: Bound<{ first: number; last: number; least: number }>) =>
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
  return { fruitless: (days, least) => fruitless.all({ ...days, least }) };
}

const columns = ['day', 'words', 'searches'] as const;

export function searchesIn(db: Writes): Searches {
  const words = db.values(({ day }: Bound<{ day: number }>) =>
    query
      .selectFrom('fruitless_search')
      .select(({ fn }) => fn.countAll<number>().as('words'))
      .where('day', '=', day),
  );
  const has = db.values((of: Bound<{ day: number; words: string }>) =>
    query.selectFrom('fruitless_search').select('day').where('day', '=', of.day).where('words', '=', of.words),
  );
  const add = db.change((counted: Bound<InboxTables['fruitless_search']>) =>
    query
      .insertInto('fruitless_search')
      .values(pick(counted, columns))
      .onConflict((known) =>
        known
          .columns(['day', 'words'])
          .doUpdateSet(({ eb }) => ({ searches: eb('fruitless_search.searches', '+', counted.searches) })),
      ),
  );
  const drop = db.change(({ day }: Bound<{ day: number }>) =>
    query.deleteFrom('fruitless_search').where('day', '<', day),
  );
  return {
    ...searchReads(db),
    add: (day, counts, most) => {
      db.transaction(() => {
        let room = most - (words.get({ day }) ?? 0);
        for (const [text, searches] of counts) {
          const known = has.get({ day, words: text }) !== undefined;
          if (!known && room <= 0) continue;
          if (!known) room -= 1;
          add.run({ day, words: text, searches });
        }
      });
    },
    prune: (day) => {
      db.transaction(() => drop.run({ day }));
    },
  };
}
