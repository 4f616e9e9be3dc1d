import type { Database } from 'better-sqlite3';
import { type Row, shownImage, slug } from './expected.ts';
import type { Shown } from './shown.ts';

/** The views that are compared with all products at once. */
export const comparedPlaces = ['experiences', 'experience_images', 'cities', 'countries', 'tags'] as const;
export type ComparedPlace = (typeof comparedPlaces)[number];

/** A view that counts products by something, and the rows that it must have. */
interface ExpectedPlaces {
  readonly view: ComparedPlace;
  readonly key: 'experience_id' | 'image_key' | 'city_id' | 'country_id' | 'tag_id';
  readonly rows: Row[];
}

const readAt = new Set([
  'document',
  'checked_at',
  'changed_at',
  'verified_at',
  'expires_at',
  'stale',
  'expired_at',
  'freshness',
]);

/** Returns what the views must say of where products are, by all that the service shows of them in one language. */
function expectedPlaces(states: readonly Shown[], language: string, currency: string): ExpectedPlaces[] {
  const visible = states.filter((state) => state.visible).sort((a, b) => a.product_id - b.product_id);
  const counted = (members: readonly Shown[]) => ({
    products: members.length,
    sellable_products: members.filter(({ sale_status }) => sale_status === 'available').length,
  });
  const by = (key: 'city_id' | 'country_id') =>
    Map.groupBy(
      visible.filter(({ detail }) => detail[key] != null),
      ({ detail }) => Number(detail[key]),
    );
  // The list says of products that do not say it themselves that they belong to it: they are counted, and say nothing.
  const venues = Map.groupBy(
    visible.filter(({ venue, detail }) => venue !== null && detail.venue != null),
    ({ venue }) => Number(venue?.id),
  );
  return [
    {
      view: 'tags',
      key: 'tag_id',
      rows: states.flatMap(({ listed_tags }) => listed_tags ?? []).map((tag) => tagRow(tag, language)),
    },
    {
      view: 'cities',
      key: 'city_id',
      rows: [...by('city_id')].map(([city_id, members]) => ({
        city_id,
        language,
        name: said(members, 'city_name'),
        slug: slug(said(members, 'city_name'), city_id),
        country_id: commonest(members.map(({ detail }) => detail.country_id)),
        ...counted(members),
      })),
    },
    {
      view: 'countries',
      key: 'country_id',
      rows: [...by('country_id')].map(([country_id, members]) => ({
        country_id,
        language,
        name: said(members, 'country_name'),
        ...counted(members),
      })),
    },
    {
      view: 'experience_images',
      key: 'image_key',
      rows: [...venues].flatMap(([experience_id, [first]]) =>
        ((first?.venue?.images ?? []) as Row[]).map((image, position) => ({
          experience_id,
          ...shownImage(image, position),
        })),
      ),
    },
    {
      view: 'experiences',
      key: 'experience_id',
      rows: [...venues].flatMap(([experience_id, [first]]) =>
        first === undefined
          ? []
          : [
              {
                experience_id,
                ...venueRow(first, language, currency),
                ...counted(visible.filter(({ experience_ids }) => experience_ids.includes(experience_id))),
              },
            ],
      ),
    },
  ];
}

/** `shown`: the language of the texts, if it is another one. */
function tagRow({ id, name, type_name = null, type_group_name = null, shown }: Row, language: string): Row {
  return { tag_id: Number(id), language, language_shown: shown ?? language, name, type_name, type_group_name };
}

/** Of equally many the smaller one. */
function commonest(ids: readonly unknown[]): number | null {
  const counts = Map.groupBy(ids.filter((id) => id != null).map(Number), (id) => id);
  const ranked = [...counts].sort(([left, { length: ls }], [right, { length: rs }]) => rs - ls || left - right);
  return ranked[0]?.[0] ?? null;
}

function said(members: readonly Shown[], name: string): unknown {
  return members.map(({ detail }) => detail[name]).find((value) => value != null) ?? null;
}

/** Where the list of experiences does not say where a venue is, the first of its products does. */
function venueRow({ venue, detail }: Shown, language: string, currency: string): Row {
  const { id, title, tagline, description, experience_url, address, geolocation, ratings, from_price } =
    venue as Record<string, Row | null>;
  const [own, place] = [detail.venue as Row, (geolocation ?? detail.geolocation) as Row];
  return {
    language,
    language_shown: language,
    title,
    slug: slug(title, Number(id)),
    tagline,
    description,
    url: experience_url,
    address: address?.street ?? own.address ?? null,
    city_id: Number(detail.city_id),
    city_name: detail.city_name,
    country_id: Number(detail.country_id),
    country_name: detail.country_name,
    latitude: place.lat,
    longitude: place.lng,
    rating: ratings?.total === 0 ? null : ratings?.average,
    rating_count: ratings?.total,
    // Euros without cents.
    from_price: from_price === undefined ? null : Number(from_price) * 100,
    currency,
  };
}

function isOfVenues(view: ComparedPlace): boolean {
  return view === 'experiences' || view === 'experience_images';
}

/** Tells where the views differ. What only another product's venue is called is not looked at. */
export function comparePlaces(
  db: Database,
  states: readonly Shown[],
  { language, currency }: { readonly language: string; readonly currency: string },
  differ: (text: string) => void,
): Record<string, number> {
  const primary = (view: string) => db.prepare<[], Row>(`SELECT * FROM ${view} WHERE is_primary = 1`).get();
  // Counted in the primary currency; the list of experiences is read in the primary language alone.
  if (primary('currencies')?.currency !== currency) return {};
  const views = expectedPlaces(states, language, currency).filter(
    ({ view }) => !isOfVenues(view) || primary('languages')?.language === language,
  );
  for (const { view, key, rows } of views) {
    const found = new Map(
      db
        .prepare<[], Row>(
          `SELECT * FROM ${view}${view === 'experience_images' ? '' : ` WHERE language = '${language}'`}`,
        )
        .all()
        .map((row) => [row[key], row]),
    );
    for (const row of rows) {
      const other = found.get(row[key]);
      if (other === undefined) differ(`${view}: missing ${JSON.stringify(row)}`);
      for (const column of Object.keys(other ?? {}).filter((name) => !readAt.has(name)))
        if (other?.[column] !== row[column])
          differ(
            `${view}.${column} of ${row[key]}: ${JSON.stringify(other?.[column])}, must be ${JSON.stringify(row[column])}`,
          );
    }
    if (!isOfVenues(view) && found.size !== rows.length) differ(`${view}: ${found.size} rows, must be ${rows.length}`);
  }
  return Object.fromEntries(views.map(({ view, rows }) => [view, rows.length]));
}
