import { genericWords } from '../../../domain/search/generic-words.ts';
import { foldedLetters } from '../../../domain/search/letters.ts';
import { fold } from '../../../domain/search/words.ts';
import type { Database } from '../../../sqlite/database-file.ts';
import { type Bound, type Writes, writesTo } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import { entryColumns, searchWords } from './words.ts';

/** Raised with every change of what letters, words, terms or deletions are: what another version made is made again. */
const version = '4';

/**
 * Makes the words of a mirror that another version has written, in one transaction; returns whether it did. At 7,500
 * products it takes a few seconds, once.
 */
export function applySearchRules(connection: Database): boolean {
  const db = writesTo(connection);
  if (db.values(() => query.selectFrom('_search_rules').select('version')).get() === version) return false;
  db.transaction(() => makeAgain(db));
  return true;
}

function makeAgain(db: Writes): void {
  db.change(() => query.deleteFrom('search_letters')).run();
  db.change(() => query.deleteFrom('search_generic_words')).run();
  const putLetter = db.change(({ letter, folded }: Bound<Tables['search_letters']>) =>
    query.insertInto('search_letters').values({ letter, folded }),
  );
  for (const [letter, folded] of foldedLetters()) putLetter.run({ letter, folded });
  const putGeneric = db.change(({ language, word }: Bound<Tables['search_generic_words']>) =>
    query.insertInto('search_generic_words').orIgnore().values({ language, word }),
  );
  for (const [language, word] of genericWords()) putGeneric.run({ language, word: fold(word) });
  // All are read before anything is written: a connection does one at a time.
  const entries = db.rows(() => query.selectFrom('search_entries').select(entryColumns)).all();
  searchWords(db).rebuild(entries);
  const note = db.change(() =>
    query
      .insertInto('_search_rules')
      .values({ rules_id: 1, version })
      .onConflict((before) => before.doUpdateSet({ version })),
  );
  note.run();
}
