import { identifier, members, wholeNumber } from './arguments.ts';
import type { Connection } from './connection.ts';
import type { Editions } from './editions.ts';
import { existing } from './existing.ts';
import { experienceColumns } from './printed-sql.ts';
import type { ExperienceImageRow, Reader } from './reader-types.ts';
import { allColumns, type ViewRow } from './views.ts';

/** Returns the reads of what products have in common: venues, cities, countries and tags. */
export function whereReads(
  connection: Connection,
  editions: Editions,
): Pick<Reader, 'experience' | 'experienceImages' | 'experiences' | 'cities' | 'countries' | 'tags'> {
  const named = existing(connection);
  const one = connection.query<object, ViewRow<'experiences'>>(
    `SELECT ${experienceColumns} FROM experiences e WHERE e.experience_id = @experience_id AND e.language = @language`,
  );
  const images = connection.query<[number], ExperienceImageRow>(
    `SELECT ${allColumns('experience_images', 'i')} FROM experience_images i WHERE i.experience_id = ? ORDER BY i.position`,
  );
  const page = 'e.language = @language AND e.experience_id > @after ORDER BY e.experience_id LIMIT @limit';
  const all = connection.query<object, ViewRow<'experiences'>>(
    `SELECT ${experienceColumns} FROM experiences e WHERE ${page}`,
  );
  const inCity = connection.query<object, ViewRow<'experiences'>>(
    `SELECT ${experienceColumns}
      FROM (SELECT DISTINCT venue_id FROM products WHERE city_id = @city_id AND language = @language) v
      CROSS JOIN experiences e ON e.experience_id = v.venue_id WHERE ${page}`,
  );
  const cities = connection.query<[string], ViewRow<'cities'>>(
    `SELECT ${allColumns('cities', 'c')} FROM cities c WHERE c.language = ? ORDER BY c.products DESC, c.city_id`,
  );
  const countries = connection.query<[string], ViewRow<'countries'>>(
    `SELECT ${allColumns('countries', 'c')} FROM countries c WHERE c.language = ? ORDER BY c.products DESC, c.country_id`,
  );
  const tags = connection.query<object, ViewRow<'tags'>>(
    `SELECT ${allColumns('tags', 't')} FROM tags t WHERE t.language = @language ORDER BY t.tag_id`,
  );
  const tagsOf = connection.query<object, ViewRow<'tags'>>(
    `SELECT ${allColumns('tags', 't')} FROM product_tags g CROSS JOIN tags t ON t.tag_id = g.tag_id
      WHERE g.product_id = @product_id AND t.language = @language ORDER BY t.tag_id`,
  );
  return {
    experience: (experience_id, options = {}) =>
      one.get({ experience_id: identifier('experience_id', experience_id), ...editions.of(options) }) ?? null,
    experienceImages: (experience_id) => images.all([identifier('experience_id', experience_id)]),
    experiences: (question = {}) => {
      const known = ['city_id', 'language', 'currency', 'after', 'limit'] as const;
      const { city_id, language, currency, after = -1, limit } = members('question', question, known);
      if (city_id !== undefined) identifier('city_id', city_id);
      named({ city_id });
      return (city_id === undefined ? all : inCity).all({
        city_id,
        ...editions.of({ language, currency }),
        after: wholeNumber('after', after, { least: -1, most: Number.MAX_SAFE_INTEGER }),
        limit: wholeNumber('limit', limit, { least: 1, most: 10_000, absent: 100 }),
      });
    },
    cities: (question = {}) => {
      const { country_id, language } = members('question', question, ['country_id', 'language']);
      if (country_id !== undefined) identifier('country_id', country_id);
      named({ country_id });
      const rows = cities.all([editions.language(language)]);
      return country_id === undefined ? rows : rows.filter((row) => row.country_id === country_id);
    },
    countries: (options = {}) => countries.all([editions.of(options).language]),
    tags: (question = {}) => {
      const { product_id, language } = members('question', question, ['product_id', 'language']);
      if (product_id !== undefined) identifier('product_id', product_id);
      return (product_id === undefined ? tags : tagsOf).all({ product_id, language: editions.language(language) });
    },
  };
}
