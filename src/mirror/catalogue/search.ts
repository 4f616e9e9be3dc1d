import { type Bound, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import { entryColumns, searchWords } from './search/words.ts';

/** Search index: the entries of `product_search` with their words, and the places. Writes only differences. */
export interface SearchTable {
  /** Handles a change of a product's text in any language. */
  textChanged(product_id: number): void;
  /** Handles a product that is new, back, has moved, or has another venue. */
  productChanged(product_id: number): void;
  /** A product was withdrawn: it is found no more. */
  productGone(product_id: number): void;
  /** An experience is called otherwise, or is gone: the products whose venue it is say so. */
  venueChanged(experience_id: number): void;
  /** Other languages are mirrored than before: at 7,500 products it takes seconds. */
  languagesChanged(): void;
}

interface OfProduct {
  readonly product_id: number;
}

const said = ['title', 'tagline', 'summary', 'city', 'venue', 'country'] as const;

export function searchTable(db: Writes): SearchTable {
  const put = putting(db);
  const drop = db.change(({ product_id }: Bound<OfProduct>) =>
    query.deleteFrom('search_entries').where('product_id', '=', product_id),
  );
  const entries = db.rows(({ product_id }: Bound<OfProduct>) =>
    query.selectFrom('search_entries').select(entryColumns).where('product_id', '=', product_id),
  );
  const dropOthers = db.change(({ product_id }: Bound<OfProduct>) =>
    query
      .deleteFrom('search_entries')
      .where('product_id', '=', product_id)
      .where('language', 'not in', query.selectFrom('languages').select('language')),
  );
  const visible = db.values(() => query.selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null));
  const words = searchWords(db);
  const ofVenue = db.values(({ venue_id }: Bound<{ venue_id: number }>) =>
    query
      .selectFrom('_product')
      .select('product_id')
      .where('venue_id', '=', venue_id)
      .where('withdrawn_at', 'is', null),
  );
  const dropPlace = db.change(({ product_id }: Bound<OfProduct>) =>
    query.deleteFrom('product_places').where('product_id', '=', product_id),
  );
  const putPlace = db.change(({ product_id }: Bound<OfProduct>) =>
    query
      .insertInto('product_places')
      .columns(['product_id', 'min_latitude', 'max_latitude', 'min_longitude', 'max_longitude', 'x', 'y', 'z'])
      .expression(placeOf(product_id)),
  );

  function write(statement: typeof put, product_id: number): void {
    const before = entries.all({ product_id });
    if (statement.run({ product_id }).changes > 0) words.replace(before, entries.all({ product_id }));
  }

  return {
    textChanged: (product_id) => write(put, product_id),
    productChanged: (product_id) => {
      write(put, product_id);
      dropPlace.run({ product_id });
      putPlace.run({ product_id });
    },
    productGone: (product_id) => {
      write(drop, product_id);
      dropPlace.run({ product_id });
    },
    languagesChanged: () => {
      for (const product_id of visible.all()) {
        write(dropOthers, product_id);
        write(put, product_id);
      }
    },
    venueChanged: (venue_id) => {
      for (const product_id of ofVenue.all({ venue_id })) write(put, product_id);
    },
  };
}

/** Writes what a product says, where it says something else. */
function putting(db: Writes) {
  return db.change(({ product_id }: Bound<OfProduct>) =>
    query
      .insertInto('search_entries')
      .columns(['product_id', 'language', ...said])
      .expression(spokenOf(product_id))
      .onConflict((taken) =>
        taken
          .doUpdateSet((entry) => Object.fromEntries(said.map((column) => [column, entry.ref(`excluded.${column}`)])))
          .where((entry) =>
            entry.or(
              said.map((column) =>
                entry(`search_entries.${column}`, 'is not', entry.ref(`excluded.${column}`) as never),
              ),
            ),
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
