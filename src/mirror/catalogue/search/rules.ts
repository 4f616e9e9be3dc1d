import { genericWords } from '../../../domain/search/generic-words.ts';
import { foldedLetters } from '../../../domain/search/letters.ts';
import { fold } from '../../../domain/search/words.ts';
import type { Database } from '../../../sqlite/database-file.ts';
import { type Entry, entryColumns, searchWords } from './words.ts';

/** Raised with every change of what letters, words, terms or deletions are: what another version made is made again. */
const version = '1';

/**
 * Makes the words of a mirror that another version has written, in one transaction; returns whether it did. At 7,500
 * products it takes a few seconds, once.
 */
export function applySearchRules(db: Database): boolean {
  if (db.prepare<[], string>('SELECT version FROM search_rules').pluck().get() === version) return false;
  db.transaction(() => makeAgain(db)).immediate();
  return true;
}

function makeAgain(db: Database): void {
  db.exec('DELETE FROM search_letter; DELETE FROM search_generic_word');
  const letter = db.prepare<[string, string]>('INSERT INTO search_letter (letter, folded) VALUES (?, ?)');
  for (const pair of foldedLetters()) letter.run(...pair);
  const generic = db.prepare<[string, string]>(
    'INSERT OR IGNORE INTO search_generic_word (language, word) VALUES (?, ?)',
  );
  for (const [language, word] of genericWords()) generic.run(language, fold(word));
  // All are read before anything is written: a connection does one at a time.
  const entries = db.prepare<[], Entry>(`SELECT ${entryColumns} FROM search_entry`).all();
  searchWords(db).rebuild(entries);
  db.prepare(
    'INSERT INTO search_rules (rules_id, version) VALUES (1, ?) ON CONFLICT DO UPDATE SET version = excluded.version',
  ).run(version);
}
