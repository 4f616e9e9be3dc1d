import type { Database } from '../../sqlite/database-file.ts';
import { type Entry, entryColumns, searchWords } from './search/words.ts';

/**
 * What can be searched: the entries of `product_search` with their words, and the places. Every function runs inside the caller's
 * transaction, and writes only what differs.
 */
export interface SearchTable {
  /** What a product says has changed, in any language. */
  textChanged(product_id: number): void;
  /** A product is new, back, elsewhere, or of another venue. */
  productChanged(product_id: number): void;
  /** A product was withdrawn: it is found no more. */
  productGone(product_id: number): void;
  /** An experience is called otherwise, or is gone: the products whose venue it is say so. */
  venueChanged(experience_id: number): void;
}

/** A member of the product's document, where it is text. */
const textIn = (path: string) =>
  `CASE json_type(document, '${path}') WHEN 'text' THEN json_extract(document, '${path}') END`;

export function searchTable(db: Database): SearchTable {
  const said = ['title', 'tagline', 'summary', 'city', 'venue', 'country'];
  const put = db.prepare<[number]>(
    `INSERT INTO search_entry (product_id, language, ${said.join()})
     SELECT product_id, language, title, tagline, ${textIn('$.summary')}, city_name, COALESCE(venue_title, ${textIn('$.venue.name')}), country_name
     FROM (
       SELECT t.*, e.title AS venue_title, COALESCE(t.merged_document, t.detail_document, t.list_document) AS document
       FROM product p
       CROSS JOIN product_text t ON t.product_id = p.product_id
       LEFT JOIN experience e ON e.experience_id = p.venue_id
       WHERE p.product_id = ? AND p.withdrawn_at IS NULL
     ) WHERE true
     ON CONFLICT DO UPDATE SET ${said.map((column) => `${column} = excluded.${column}`).join()}
       WHERE ${said.map((column) => `${column} IS NOT excluded.${column}`).join(' OR ')}`,
  );
  const drop = db.prepare<[number]>('DELETE FROM search_entry WHERE product_id = ?');
  const entries = db.prepare<[number], Entry>(`SELECT ${entryColumns} FROM search_entry WHERE product_id = ?`);
  const words = searchWords(db);
  const ofVenue = db
    .prepare<[number], number>('SELECT product_id FROM product WHERE venue_id = ? AND withdrawn_at IS NULL')
    .pluck();
  const dropPlace = db.prepare<[number]>('DELETE FROM product_places WHERE product_id = ?');
  const putPlace = db.prepare<[number]>(
    `INSERT INTO product_places (product_id, min_latitude, max_latitude, min_longitude, max_longitude, x, y, z)
     SELECT product_id, latitude, latitude, longitude, longitude,
       cos(radians(latitude)) * cos(radians(longitude)), cos(radians(latitude)) * sin(radians(longitude)), sin(radians(latitude))
     FROM product WHERE product_id = ? AND latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180`,
  );

  function write(statement: typeof put, product_id: number): void {
    const before = entries.all(product_id);
    if (statement.run(product_id).changes > 0) words.replace(before, entries.all(product_id));
  }

  return {
    textChanged: (product_id) => write(put, product_id),
    productChanged: (product_id) => {
      write(put, product_id);
      dropPlace.run(product_id);
      putPlace.run(product_id);
    },
    productGone: (product_id) => {
      write(drop, product_id);
      dropPlace.run(product_id);
    },
    venueChanged: (experience_id) => {
      for (const product_id of ofVenue.all(experience_id)) write(put, product_id);
    },
  };
}
