import { deletionsOf } from '../../../domain/search/deletions.ts';
import { type Indexed, indexed, type Said, type Stem, type WordReading } from '../../../domain/search/terms.ts';
import type { Database } from '../../../sqlite/database-file.ts';
import { stemOf } from './stems.ts';

/** What a product says in a language, as `search_entry` has it. */
export interface Entry extends Said {
  readonly search_id: number;
  readonly language: string;
}

export const entryColumns = 'search_id, language, title, city, country, venue, tagline, summary';

/** The second index, its words and their deletions. Every function runs inside the caller's transaction. */
export interface SearchWords {
  /** What products say has changed from `before` to `after`: entries by their id, of which either may lack some. */
  replace(before: readonly Entry[], after: readonly Entry[]): void;
  /** Makes all of it again from these entries. */
  rebuild(entries: Iterable<Entry>): void;
}

export function searchWords(db: Database): SearchWords {
  const putText = db.prepare<Indexed['terms'] & { search_id: number }>(
    `INSERT INTO search_text (search_id, name, title, city, country, venue, tagline, summary)
     VALUES (@search_id, @name, @title, @city, @country, @venue, @tagline, @summary)
     ON CONFLICT DO UPDATE SET name = excluded.name, title = excluded.title, city = excluded.city, country = excluded.country,
       venue = excluded.venue, tagline = excluded.tagline, summary = excluded.summary`,
  );
  const dropText = db.prepare<[number]>('DELETE FROM search_text WHERE search_id = ?');
  const count = db.prepare<[string, string, string, number], { documents: number }>(
    `INSERT INTO search_word (word, language, term, documents) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET documents = documents + excluded.documents RETURNING documents`,
  );
  const forget = db.prepare<[string, string, string]>(
    'DELETE FROM search_word WHERE word = ? AND language = ? AND term = ?',
  );
  const isKnown = db.prepare<[string]>("SELECT 1 FROM search_word WHERE word = ? AND instr(term, ' ') = 0 LIMIT 1");
  const putDeletion = db.prepare<[string, string]>('INSERT OR IGNORE INTO search_delete (shorter, word) VALUES (?, ?)');
  const dropDeletion = db.prepare<[string, string]>('DELETE FROM search_delete WHERE shorter = ? AND word = ?');
  const stems = new Map<string, Stem>();

  function read({ language, ...said }: Entry): Indexed {
    const stem = stems.get(language) ?? stemOf(language);
    stems.set(language, stem);
    return indexed(said, stem);
  }

  function add(language: string, [word, term]: WordReading, documents: number): void {
    const now = count.get(word, language, term, documents);
    if (now?.documents === documents && isGuessed(word, term))
      for (const shorter of deletionsOf(word)) putDeletion.run(shorter, word);
  }

  function take(language: string, [word, term]: WordReading): void {
    if ((count.get(word, language, term, -1)?.documents ?? 0) > 0) return;
    forget.run(word, language, term);
    if (isGuessed(word, term) && isKnown.get(word) === undefined)
      for (const shorter of deletionsOf(word)) dropDeletion.run(shorter, word);
  }

  function replaceOne(before: Entry | undefined, after: Entry | undefined): void {
    const [was, is] = [before, after].map((entry) => (entry === undefined ? null : read(entry)));
    if (after !== undefined && is != null) putText.run({ search_id: after.search_id, ...is.terms });
    else if (before !== undefined) dropText.run(before.search_id);
    const language = after?.language ?? before?.language ?? '';
    const had = new Set(was?.readings.map(String));
    const has = new Set(is?.readings.map(String));
    for (const reading of is?.readings ?? []) if (!had.has(String(reading))) add(language, reading, 1);
    for (const reading of was?.readings ?? []) if (!has.has(String(reading))) take(language, reading);
  }

  return {
    replace: (before, after) => {
      const left = new Map(before.map((entry) => [entry.search_id, entry]));
      for (const entry of after) {
        const old = left.get(entry.search_id);
        left.delete(entry.search_id);
        if (old === undefined || differ(old, entry)) replaceOne(old, entry);
      }
      for (const entry of left.values()) replaceOne(entry, undefined);
    },
    rebuild: (entries) => {
      db.exec('DELETE FROM search_text; DELETE FROM search_word; DELETE FROM search_delete');
      const counted = new Map<string, { language: string; reading: WordReading; documents: number }>();
      for (const entry of entries) {
        const { terms, readings } = read(entry);
        putText.run({ search_id: entry.search_id, ...terms });
        for (const reading of readings) {
          const key = `${reading[0]}\n${entry.language}\n${reading[1]}`;
          const known = counted.get(key);
          if (known === undefined) counted.set(key, { language: entry.language, reading, documents: 1 });
          else known.documents++;
        }
      }
      // In the order of the keys: that is how tables grow fastest.
      for (const [, { language, reading, documents }] of [...counted].sort(([a], [b]) => (a < b ? -1 : 1)))
        add(language, reading, documents);
      db.exec("INSERT INTO search_terms (search_terms) VALUES ('optimize')");
    },
  };
}

/** Whether a typo may mean it: what is written as one word by habit only, is not guessed. */
function isGuessed(word: string, term: string): boolean {
  return !term.includes(' ') && /^[a-z0-9\u00df-\u0dff\u10a0-\u10ff\u1200-\u13ff\u1e00-\u1fff]+$/.test(word);
}

const said = ['title', 'city', 'country', 'venue', 'tagline', 'summary'] as const;

function differ(a: Entry, b: Entry): boolean {
  return said.some((name) => a[name] !== b[name]);
}
