import { isDeepStrictEqual } from 'node:util';
import { deletionsOf } from '../../../domain/search/deletions.ts';
import {
  type Indexed,
  indexed,
  type SearchedText,
  type Spoken,
  type TermOf,
  termsBy,
  type WordReading,
} from '../../../domain/search/terms.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import { stemOf } from './stems.ts';

/** Text of a product in one language, as in `search_entries`. */
export interface Entry extends SearchedText {
  readonly search_id: number;
  readonly product_id: number;
  readonly language: string;
}

export const entryColumns = [
  'search_id', 'product_id', 'language', 'title', 'city', 'country', 'venue', 'tagline', 'summary',
] as const; // biome-ignore format: a list of columns

type Word = Tables['search_words'];

/** The second index, its words and their deletions. */
export interface SearchWords {
  /** Replaces the entries of a product, in all languages, after its text changed from `before` to `after`. */
  replace(before: readonly Entry[], after: readonly Entry[]): void;
  /** Builds the whole index from these entries. */
  rebuild(entries: Iterable<Entry>): void;
}

export function searchWords(db: Writes): SearchWords {
  const text = wordTexts(db);
  const words = wordCounts(db);
  const languages = new Map<string, TermOf>();

  function spoken({ language, ...said }: Entry): Spoken {
    const termOf = languages.get(language) ?? termsBy(stemOf(language));
    languages.set(language, termOf);
    return { said, termOf };
  }

  /** Reads the entries of a product, each beside those in the other languages. */
  function read(entries: readonly Entry[]): ReadonlyMap<number, Indexed & { readonly language: string }> {
    return new Map(
      entries.map((entry) => {
        const others = entries.filter((other) => other !== entry).map(spoken);
        return [entry.search_id, { ...indexed(spoken(entry), others), language: entry.language }];
      }),
    );
  }

  return {
    replace: (before, after) => {
      const [had, has] = [read(before), read(after)];
      for (const [search_id, { terms, readings, language }] of has) {
        const was = had.get(search_id);
        if (!isDeepStrictEqual(was?.terms, terms)) text.put.run({ search_id, ...terms });
        const known = new Set(was?.readings.map(String));
        for (const reading of readings) if (!known.has(String(reading))) words.add(language, reading, 1);
      }
      for (const [search_id, { readings, language }] of had) {
        const is = has.get(search_id);
        if (is === undefined) text.drop.run({ search_id });
        const kept = new Set(is?.readings.map(String));
        for (const reading of readings) if (!kept.has(String(reading))) words.take(language, reading);
      }
    },
    rebuild: (entries) => {
      text.clear();
      words.clear();
      const counted = new Map<string, { language: string; reading: WordReading; documents: number }>();
      for (const ofProduct of Map.groupBy(entries, ({ product_id }) => product_id).values())
        for (const [search_id, { terms, readings, language }] of read(ofProduct)) {
          text.put.run({ search_id, ...terms });
          for (const reading of readings) {
            const key = `${reading[0]}\n${language}\n${reading[1]}`;
            const known = counted.get(key);
            if (known === undefined) counted.set(key, { language, reading, documents: 1 });
            else known.documents++;
          }
        }
      // In the order of the keys: that is how tables grow fastest.
      for (const [, { language, reading, documents }] of [...counted].sort(([a], [b]) => (a < b ? -1 : 1)))
        words.add(language, reading, documents);
      text.optimise();
    },
  };
}

/** Returns the terms of each entry, which the second index is made of. */
function wordTexts(db: Writes) {
  const put = db.change(
    upsert('_search_text', ['search_id'], ['name', 'title', 'city', 'country', 'venue', 'tagline', 'summary']),
  );
  const drop = db.change(({ search_id }: Bound<{ search_id: number }>) =>
    query.deleteFrom('_search_text').where('search_id', '=', search_id),
  );
  const clear = db.change(() => query.deleteFrom('_search_text'));
  const optimise = db.change(() => query.insertInto('search_terms').values({ search_terms: 'optimize' }));
  return { put, drop, clear: () => clear.run(), optimise: () => optimise.run() };
}

/** In how many entries each word is, with the deletions of those that a typo may mean. */
function wordCounts(db: Writes) {
  // A look-up and a write: a write that returns something makes a table of its own for it, each time.
  const counted = db.values(({ word, language, term }: Bound<Omit<Word, 'documents'>>) =>
    query
      .selectFrom('search_words')
      .select('documents')
      .where('word', '=', word)
      .where('language', '=', language)
      .where('term', '=', term),
  );
  const count = db.change(upsert('search_words', ['word', 'language', 'term'], ['documents']));
  const forget = db.change(({ word, language, term }: Bound<Omit<Word, 'documents'>>) =>
    query.deleteFrom('search_words').where('word', '=', word).where('language', '=', language).where('term', '=', term),
  );
  const isKnown = db.values(({ word }: Bound<Pick<Word, 'word'>>) =>
    query
      .selectFrom('search_words')
      .select((of) => of.lit(1).as('one'))
      .where('word', '=', word)
      .where((of) => of(of.fn<number>('instr', ['term', of.val(' ')]), '=', 0))
      .limit(1),
  );
  const putDeletion = db.change(({ shorter, word }: Bound<Tables['search_deletes']>) =>
    query.insertInto('search_deletes').orIgnore().values({ shorter, word }),
  );
  const dropDeletion = db.change(({ shorter, word }: Bound<Tables['search_deletes']>) =>
    query.deleteFrom('search_deletes').where('shorter', '=', shorter).where('word', '=', word),
  );
  const clear = [
    db.change(() => query.deleteFrom('search_words')),
    db.change(() => query.deleteFrom('search_deletes')),
  ];

  const add = (language: string, [word, term]: WordReading, documents: number): void => {
    const before = counted.get({ word, language, term });
    count.run({ word, language, term, documents: (before ?? 0) + documents });
    if (before === undefined && isGuessed(word, term))
      for (const shorter of deletionsOf(word)) putDeletion.run({ shorter, word });
  };

  const take = (language: string, [word, term]: WordReading): void => {
    const documents = (counted.get({ word, language, term }) ?? 0) - 1;
    if (documents > 0) {
      count.run({ word, language, term, documents });
      return;
    }
    forget.run({ word, language, term });
    if (isGuessed(word, term) && isKnown.get({ word }) === undefined)
      for (const shorter of deletionsOf(word)) dropDeletion.run({ shorter, word });
  };

  return { add, take, clear: () => clear.map((all) => all.run()) };
}

/** Returns whether a typo may mean it: what is written as one word by quirk only, is not guessed. */
function isGuessed(word: string, term: string): boolean {
  return !term.includes(' ') && /^[a-z0-9\u00df-\u0dff\u10a0-\u10ff\u1200-\u13ff\u1e00-\u1fff]+$/.test(word);
}
