import { openMirrorAt } from '../../fakes/mirror-at.ts';

export type Row = Readonly<Record<string, string | number | null>>;

/** Rows of the views as readers see them, by key. */
export interface Shown {
  readonly rows: Readonly<Record<string, ReadonlyMap<string, Row>>>;
}

/** What is read of each view, the key first. Times of day are read near enough to be touched. */
const reads: Readonly<Record<string, { readonly key: number; readonly sql: string }>> = {
  products: {
    key: 2,
    sql: `SELECT product_id, language, sellable, from_price, lowest_price, lowest_adult_price, prediscount_price, timezone,
      title, tagline, city_id, country_id, city_name, country_name, disabled_reason, expected_reopening, venue_id, latitude, longitude,
      rating, rating_count, stale FROM products`,
  },
  product_tags: { key: 2, sql: 'SELECT product_id, tag_id FROM product_tags' },
  product_experiences: { key: 2, sql: 'SELECT product_id, experience_id FROM product_experiences' },
  bookable_days: {
    key: 3,
    sql: 'SELECT product_id, date, currency, lowest_price, lowest_adult_price, max_tickets, stale FROM bookable_days',
  },
  availability_days: {
    key: 3,
    sql: `SELECT product_id, date, currency, state, lowest_price, lowest_adult_price, availability, max_tickets, max_tickets_per_order,
      stale FROM availability_days`,
  },
  availability_slots: {
    key: 5,
    sql: `SELECT product_id, date, currency, time, variant_id, availability, max_tickets, retail_price, stale
      FROM availability_slots WHERE date <= '2026-11-29'`,
  },
  /** Instant until which a time is sold, which only the table under the views has. */
  slot_day: {
    key: 4,
    sql: `SELECT product_id, date, currency,
        CASE WHEN typeof(value ->> 0) = 'integer' AND value ->> 0 < 1440 THEN time(60 * (value ->> 0), 'unixepoch') ELSE value ->> 0 END AS time,
        COALESCE(ends ->> key, zero_at + 60000 * CASE typeof(value ->> 0) WHEN 'text' THEN 1440 ELSE value ->> 0 END) AS until
      FROM slot_day CROSS JOIN json_each(slots) WHERE date <= '2026-11-29'`,
  },
  images: { key: 2, sql: 'SELECT product_id, image_key, credit, alt_text, position FROM images' },
  experience_images: { key: 2, sql: 'SELECT experience_id, image_key, credit, alt_text FROM experience_images' },
  variants: { key: 3, sql: 'SELECT product_id, language, variant_id, variant_type, group_names, stale FROM variants' },
  checkout_information: {
    key: 2,
    sql: 'SELECT product_id, language, has_timeslots, has_dynamic_pricing, must_know, good_to_know, stale FROM checkout_information',
  },
  experiences: {
    key: 2,
    sql: 'SELECT experience_id, language, title, tagline, from_price, rating, rating_count, stale FROM experiences',
  },
  tags: { key: 2, sql: 'SELECT tag_id, language, name, type_name, type_group_name, stale FROM tags' },
};

/** Reads the views as they are at an instant. */
export function shownBy(path: string, now: number): Shown {
  const db = openMirrorAt(path, now);
  try {
    return {
      rows: Object.fromEntries(
        Object.entries(reads).map(([view, { key, sql }]) => {
          const found = db.prepare<[], Row>(sql).all();
          return [view, new Map(found.map((row) => [Object.values(row).slice(0, key).join(' '), row]))];
        }),
      ),
    };
  } finally {
    db.close();
  }
}
