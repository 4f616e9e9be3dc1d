import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../../kernel/sqlite/database-file.ts';
import {
  type Bound,
  type PreparedStatement,
  type RawBuilder,
  Store,
  sql,
  type Writes,
  writesTo,
} from '../../kernel/sqlite/statements.ts';
import { byKey, dropBy, insertOf, query, upsert } from '../../mirror/sql/sql.ts';
import type { Tables } from '../../mirror/sql/tables.ts';
import { deletionsOf } from './deletions.rules.ts';
import { genericWords } from './generic-words.rules.ts';
import { foldedLetters } from './letters.rules.ts';
import { stemOf } from './search-stems.store.ts';
import {
  type Indexed,
  indexed,
  type SearchedText,
  type TermOf,
  type TextTerms,
  termsBy,
  type WordReading,
} from './terms.rules.ts';
import { fold } from './words.rules.ts';

/** Text of a product in one language, as in `search_entries`. */
interface Entry extends SearchedText {
  readonly search_id: number;
  readonly product_id: number;
  readonly language: string;
}

interface OfProduct {
  readonly product_id: number;
}

const said = ['title', 'tagline', 'summary', 'city', 'venue', 'country'] as const;
const entryColumns = [
  'search_id', 'product_id', 'language', 'title', 'city', 'country', 'venue', 'tagline', 'summary',
] as const; // biome-ignore format: a list of columns

/** Search index: the entries of `product_search` with their words, and the places. Writes only differences. */
export class SearchTable extends Store<Writes> {
  readonly #put = this.db.change(putting);
  readonly #drop = this.db.change(dropBy('search_entries', ['product_id']));
  readonly #entries = this.db.rows(byKey('search_entries', ['product_id'], entryColumns));
  readonly #dropOthers = this.db.change(({ product_id }: Bound<OfProduct>) =>
    query
      .deleteFrom('search_entries')
      .where('product_id', '=', product_id)
      .where('language', 'not in', query.selectFrom('languages').select('language')),
  );
  readonly #visible = this.db.values(() =>
    query.selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null),
  );
  readonly #words = new SearchWords(this.db);
  readonly #ofVenue = this.db.values(({ venue_id }: Bound<{ venue_id: number }>) =>
    query
      .selectFrom('_product')
      .select('product_id')
      .where('venue_id', '=', venue_id)
      .where('withdrawn_at', 'is', null),
  );
  readonly #dropPlace = this.db.change(({ product_id }: Bound<OfProduct>) =>
    query.deleteFrom('product_places').where('product_id', '=', product_id),
  );
  readonly #putPlace = this.db.change(({ product_id }: Bound<OfProduct>) =>
    query
      .insertInto('product_places')
      .columns(['product_id', 'min_latitude', 'max_latitude', 'min_longitude', 'max_longitude', 'x', 'y', 'z'])
      .expression(placeOf(product_id)),
  );

  /** Handles a change of a product's text in any language. */
  textChanged(product_id: number): void {
    this.#write(this.#put, product_id);
  }

  /** Handles a product that is new, back, has moved, or has another venue. */
  productChanged(product_id: number): void {
    this.#write(this.#put, product_id);
    this.#dropPlace({ product_id });
    this.#putPlace({ product_id });
  }

  /** A product was withdrawn: it is found no more. */
  productGone(product_id: number): void {
    this.#write(this.#drop, product_id);
    this.#dropPlace({ product_id });
  }

  /** An experience is called otherwise, or is gone: the products whose venue it is say so. */
  venueChanged(venue_id: number): void {
    for (const product_id of this.#ofVenue({ venue_id })) this.#write(this.#put, product_id);
  }

  /** Other languages are mirrored than before: at 7,500 products it takes seconds. */
  languagesChanged(): void {
    for (const product_id of this.#visible()) {
      this.#write(this.#dropOthers, product_id);
      this.#write(this.#put, product_id);
    }
  }

  #write(statement: PreparedStatement<OfProduct, number>, product_id: number): void {
    const before = this.#entries({ product_id });
    if (statement({ product_id }) > 0) this.#words.replace(before, this.#entries({ product_id }));
  }
}

/** Writes what a product says, where it says something else. */
function putting({ product_id }: Bound<OfProduct>) {
  return query
    .insertInto('search_entries')
    .columns(['product_id', 'language', ...said])
    .expression(spokenOf(product_id))
    .onConflict((taken) =>
      taken
        .doUpdateSet((entry) => Object.fromEntries(said.map((column) => [column, entry.ref(`excluded.${column}`)])))
        .where((entry) =>
          entry.or(
            said.map((column) => entry(`search_entries.${column}`, 'is not', entry.ref(`excluded.${column}`) as never)),
          ),
        ),
    );
}

/** Returns what a visible product says in each mirrored language, as search entries have it and the view `products` shows it. */
function spokenOf(product_id: RawBuilder<number>) {
  return query
    .selectFrom('product as p')
    .leftJoin('_experience as e', 'e.experience_id', 'p.venue_id')
    .select(['p.product_id', 'p.language', 'p.title', 'p.tagline', 'p.summary', 'p.city_name as city'])
    .select((of) => of.fn.coalesce('e.title', 'p.venue_name').as('venue'))
    .select('p.country_name as country')
    .where('p.product_id', '=', product_id);
}

/** Returns the location of a product that has valid coordinates: in degrees, and on a globe of radius 1. */
function placeOf(product_id: RawBuilder<number>) {
  return query
    .selectFrom('_product')
    .select([
      'product_id',
      'latitude as min_latitude',
      'latitude as max_latitude',
      'longitude as min_longitude',
      'longitude as max_longitude',
    ])
    .select((of) => {
      const [latitude, longitude] = [of.ref('latitude'), of.ref('longitude')];
      return [
        sql`cos(radians(${latitude})) * cos(radians(${longitude}))`.as('x'),
        sql`cos(radians(${latitude})) * sin(radians(${longitude}))`.as('y'),
        sql`sin(radians(${latitude}))`.as('z'),
      ];
    })
    .where('product_id', '=', product_id)
    .where((of) => of.between('latitude', -90, 90))
    .where((of) => of.between('longitude', -180, 180));
}

/** The second index: the terms of each entry, in how many entries each word is, and the deletions of words that a typo may mean. */
class SearchWords extends Store<Writes> {
  readonly #putText = this.db.change(
    upsert('_search_text', ['search_id'], ['name', 'title', 'city', 'country', 'venue', 'tagline', 'summary']),
  );
  readonly #dropText = this.db.change(dropBy('_search_text', ['search_id']));
  // A look-up and a write: a write that returns something makes a table of its own for it, each time.
  readonly #documents = this.db.value(byKey('search_words', ['word', 'language', 'term'], ['documents']));
  readonly #count = this.db.change(upsert('search_words', ['word', 'language', 'term'], ['documents']));
  readonly #forget = this.db.change(dropBy('search_words', ['word', 'language', 'term']));
  readonly #isKnown = this.db.value(({ word }: Bound<{ word: string }>) =>
    query
      .selectFrom('search_words')
      .select((of) => of.lit(1).as('one'))
      .where('word', '=', word)
      .where((of) => of(of.fn<number>('instr', ['term', of.val(' ')]), '=', 0))
      .limit(1),
  );
  readonly #putDeletion = this.db.change(({ shorter, word }: Bound<Tables['search_deletes']>) =>
    query.insertInto('search_deletes').orIgnore().values({ shorter, word }),
  );
  readonly #dropDeletion = this.db.change(dropBy('search_deletes', ['shorter', 'word']));
  readonly #clear = [
    this.db.change(() => query.deleteFrom('_search_text')),
    this.db.change(() => query.deleteFrom('search_words')),
    this.db.change(() => query.deleteFrom('search_deletes')),
  ];
  readonly #optimise = this.db.change(() => query.insertInto('search_terms').values({ search_terms: 'optimize' }));
  /** By language. Each remembers the terms of words. */
  readonly #termsOf = new Map<string, TermOf>();

  /** Replaces the entries of a product, in all languages, after its text changed from `before` to `after`. */
  replace(before: readonly Entry[], after: readonly Entry[]): void {
    const [had, has] = [this.#read(before), this.#read(after)];
    for (const [search_id, { terms, readings, language }] of has) {
      const was = had.get(search_id);
      if (!isDeepStrictEqual(was?.terms, terms)) this.#putText({ search_id, ...terms });
      const known = new Set(was?.readings.map(String));
      for (const reading of readings) if (!known.has(String(reading))) this.#add(language, reading, 1);
    }
    for (const [search_id, { readings, language }] of had) {
      const is = has.get(search_id);
      if (is === undefined) this.#dropText({ search_id });
      const kept = new Set(is?.readings.map(String));
      for (const reading of readings) if (!kept.has(String(reading))) this.#take(language, reading);
    }
  }

  /** Builds the whole index from these entries. */
  rebuild(entries: Iterable<Entry>): void {
    for (const all of this.#clear) all();
    const counted = new Map<string, { language: string; reading: WordReading; documents: number }>();
    for (const ofProduct of Map.groupBy(entries, ({ product_id }) => product_id).values())
      for (const [search_id, { terms, readings, language }] of this.#read(ofProduct)) {
        this.#putText({ search_id, ...terms });
        for (const reading of readings) {
          const key = `${reading[0]}\n${language}\n${reading[1]}`;
          const known = counted.get(key);
          if (known === undefined) counted.set(key, { language, reading, documents: 1 });
          else known.documents++;
        }
      }
    // In the order of the keys: that is how tables grow fastest.
    for (const [, { language, reading, documents }] of [...counted].sort(([a], [b]) => (a < b ? -1 : 1)))
      this.#add(language, reading, documents);
    this.#optimise();
  }

  /** Reads the entries of a product, each beside those in the other languages. */
  #read(entries: readonly Entry[]): ReadonlyMap<number, Indexed & { readonly language: string }> {
    return new Map(
      entries.map((entry) => {
        const others = entries.filter((other) => other !== entry).map((other) => this.#spoken(other));
        return [entry.search_id, { ...indexed(this.#spoken(entry), others), language: entry.language }];
      }),
    );
  }

  #spoken({ language, ...said }: Entry): TextTerms {
    const termOf = this.#termsOf.get(language) ?? termsBy(stemOf(language));
    this.#termsOf.set(language, termOf);
    return { said, termOf };
  }

  #add(language: string, [word, term]: WordReading, documents: number): void {
    const before = this.#documents({ word, language, term });
    this.#count({ word, language, term, documents: (before ?? 0) + documents });
    if (before === null && isGuessed(word, term))
      for (const shorter of deletionsOf(word)) this.#putDeletion({ shorter, word });
  }

  #take(language: string, [word, term]: WordReading): void {
    const documents = (this.#documents({ word, language, term }) ?? 0) - 1;
    if (documents > 0) {
      this.#count({ word, language, term, documents });
      return;
    }
    this.#forget({ word, language, term });
    if (isGuessed(word, term) && this.#isKnown({ word }) === null)
      for (const shorter of deletionsOf(word)) this.#dropDeletion({ shorter, word });
  }
}

/** Returns whether a typo may mean it: what is written as one word by quirk only, is not guessed. */
function isGuessed(word: string, term: string): boolean {
  return !term.includes(' ') && /^[a-z0-9\u00df-\u0dff\u10a0-\u10ff\u1200-\u13ff\u1e00-\u1fff]+$/.test(word);
}

/** Raised with every change of what letters, words, terms or deletions are: what another version made is made again. */
const version = '4';

/**
 * Makes the words of a mirror that another version has written, in one transaction; returns whether it did. At 7,500
 * products it takes a few seconds, once.
 */
export function applySearchRules(connection: Database): boolean {
  const db = writesTo(connection);
  if (db.value(() => query.selectFrom('_search_rules').select('version'))() === version) return false;
  db.transaction(() => makeAgain(db));
  return true;
}

function makeAgain(db: Writes): void {
  db.change(() => query.deleteFrom('search_letters'))();
  db.change(() => query.deleteFrom('search_generic_words'))();
  const putLetter = db.change(insertOf('search_letters', ['letter', 'folded']));
  for (const [letter, folded] of foldedLetters()) putLetter({ letter, folded });
  const putGeneric = db.change(({ language, word }: Bound<Tables['search_generic_words']>) =>
    query.insertInto('search_generic_words').orIgnore().values({ language, word }),
  );
  for (const [language, word] of genericWords()) putGeneric({ language, word: fold(word) });
  // All are read before anything is written: a connection does one at a time.
  const entries = db.rows(() => query.selectFrom('search_entries').select(entryColumns))();
  new SearchWords(db).rebuild(entries);
  const note = db.change(() =>
    query
      .insertInto('_search_rules')
      .values({ rules_id: 1, version })
      .onConflict((before) => before.doUpdateSet({ version })),
  );
  note();
}

/** A place more or less says nothing: only what has moved by this share is written, so that a quiet week costs nothing. */
const worthWriting = 20;

/** The places of products in the service's own order of popularity. */
export class ListPlaceTable extends Store<Writes> {
  readonly #put = this.db.change(({ product_id, list_place }: Bound<{ product_id: number; list_place: number }>) =>
    query
      .updateTable('_product_read')
      .set({ list_place })
      .where('product_id', '=', product_id)
      .where(
        sql<boolean>`(list_place is null or abs(list_place - ${list_place}) * ${worthWriting} > min(list_place, ${list_place}))`,
      ),
  );
  readonly #clear = this.db.change(() =>
    query.updateTable('_product_read').set({ list_place: null }).where('list_place', 'is not', null),
  );

  /** Products that stand one after the other in the list, and the place of the first; the first of all is 1. */
  note(product_ids: readonly number[], first: number): void {
    for (const [index, product_id] of product_ids.entries()) this.#put({ product_id, list_place: first + index });
  }

  /** The list does not come in that order. */
  clear(): void {
    this.#clear();
  }
}
