import { language, productId } from './repeated.ts';
import { degrees, flag, id, integer, real, table, text } from './table.ts';

/*
 * The insides of the search. They stand in the file and are no part of the contract: schema/search.sql, the statements of
 * docs/search.md and the reader's search use them, and change with them.
 */

const title = text({ null: 'not sent' }, 'The title.');
const tagline = text({ null: 'not sent' }, 'The tagline.');
const summary = text({ null: 'not sent' }, 'The summary.');
const city = text({ null: 'not sent' }, 'The name of the city.');
const venue = text(
  { null: 'neither the main experience nor the product says it' },
  'The title of the main experience.',
);

const box = {
  product_id: productId,
  min_latitude: degrees({}, 'Rounded down by less than a metre.'),
  max_latitude: degrees({}, 'Rounded up by less than a metre.'),
  min_longitude: degrees({}, 'Rounded down by less than three metres.'),
  max_longitude: degrees({}, 'Rounded up by less than three metres.'),
  x: real({}, 'cos(latitude) * cos(longitude): on a globe of radius 1.'),
  y: real({}, 'cos(latitude) * sin(longitude).'),
  z: real({}, 'sin(latitude).'),
};

/** FTS5 over what people read. */
const productSearch = table(
  'product_search',
  { key: ['product_id', 'language'], rows: 'a visible product and language' },
  { title, tagline, summary, city, venue, product_id: productId, language },
);

/** R*Tree. */
const productPlaces = table(
  'product_places',
  { key: ['product_id'], rows: 'a visible product that says where it is' },
  box,
);

const productPopularity = table(
  'product_popularity',
  { key: ['product_id'], rows: 'a visible product: its place in popularity, with all that it follows from' },
  {
    product_id: productId,
    sellable: flag({}, 'As in products.'),
    city_id: id({ null: 'not sent' }, 'The city.'),
    country_id: id({ null: 'not sent' }, 'The country.'),
    rating: real({ null: 'nobody rated it' }, '0 to 5.'),
    popularity: real({}, '0 to 1: rating and reported sales, half each; an unrated product counts as 3 of 5.'),
    list_place: integer(
      { null: 'the list is not asked for in it, or the product was not in it' },
      'From 1, in the service’s order of popularity.',
    ),
    rating_count: integer({ null: 'not said' }, 'How many people rated it.'),
    weighed_rating: integer({}, 'Thousandths of a star: as if ten more people had rated it with 4 stars.'),
    recent_sales: integer({}, 'Reported sales, halved once a month.'),
    recent_checks: integer({}, 'Checks before orders, halved once a month.'),
    place: integer(
      {},
      'From 1, the most popular first: list_place, halved for every doubling of recent sales, ten recent checks counting as one; without one it follows from weighed_rating.',
    ),
  },
);

/** FTS5 over terms; its rowid is `search_entries.search_id`. */
const searchTerms = table(
  'search_terms',
  { key: [], rows: 'an entry' },
  {
    name: text(
      {},
      'Terms of the title up to its colon, without those of the city, and of such names in the other languages.',
    ),
    title: text({}, 'Terms.'),
    city: text({}, 'Terms.'),
    country: text({}, 'Terms.'),
    venue: text({}, 'Terms.'),
    tagline: text({}, 'Terms.'),
    summary: text({}, 'Terms.'),
  },
);

const searchEntries = table(
  'search_entries',
  { key: ['search_id'], rows: 'a visible product and language' },
  {
    search_id: integer({}, 'The rowid of search_terms and of product_search.'),
    product_id: productId,
    language,
    title,
    tagline,
    summary,
    city,
    venue,
    country: text({ null: 'not sent' }, 'The name of the country.'),
  },
);

const searchWords = table(
  'search_words',
  { key: ['language', 'word', 'term'], rows: 'a word and a term that stands for it' },
  {
    word: text({}, 'A word as people type it, folded by search_letters.'),
    language,
    term: text({}, 'What stands for it in search_terms; several, with spaces, of words that are written as one.'),
    documents: integer({}, 'How many search_entries have it.'),
  },
);

const searchDeletes = table(
  'search_deletes',
  { key: ['shorter', 'word'], rows: 'a word and what is left of it when letters are left out' },
  {
    shorter: text({}, 'The word with letters left out: one, of a long word two of its first eight.'),
    word: text({}, 'In search_words.'),
  },
);

const searchLetters = table(
  'search_letters',
  { key: ['letter'], rows: 'a letter that is not searched as itself' },
  {
    letter: text({}, 'The letter.'),
    folded: text({}, 'What it is searched as: a space where it ends a word, nothing where it is passed over.'),
  },
);

const searchGenericWords = table(
  'search_generic_words',
  { key: ['language', 'word'], rows: 'a word that is left out of a query as long as another word remains' },
  { language: text({}, 'Lower case; words of en count in every language.'), word: text({}, 'Folded.') },
);

export const searchTables = {
  product_search: productSearch,
  product_places: productPlaces,
  product_popularity: productPopularity,
  search_terms: searchTerms,
  search_entries: searchEntries,
  search_words: searchWords,
  search_deletes: searchDeletes,
  search_letters: searchLetters,
  search_generic_words: searchGenericWords,
};
