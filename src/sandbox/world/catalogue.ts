import { hex, pick, roll } from '../random.ts';

export interface SandboxImage {
  name: string;
  credit: string | null;
  alt_text: string | null;
  /** The origin of the image; absent: the same as of the product's other images. */
  readonly origin?: string;
}

export interface SandboxVariant {
  readonly id: number;
  readonly label: string;
  readonly type: string;
  /** Price as a factor of the adult's price. */
  readonly factor: number;
  /** The group of similar variants; absent: the default group. */
  readonly group?: { readonly id: number; readonly name: string };
  /** Members with other values than the generated ones. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A product of the sandbox. Money in euro cents. Changes are made in place. */
export interface SandboxProduct {
  readonly id: number;
  title: string;
  readonly tagline: string;
  description: string;
  readonly place: Place;
  readonly city_id: number;
  readonly country_id: number;
  readonly experience_ids: readonly number[];
  tag_ids: readonly number[];
  images: SandboxImage[];
  /** The origin of its images: scheme, host and port. */
  image_origin: string;
  price: number;
  /** Factor by which exchange rates have moved since the beginning; absent: 1. */
  rate?: number;
  /** The price that its reads show, if it differs from `price`. */
  readonly from_price?: number;
  /** True: its reads show `null` for its images. */
  readonly images_null?: boolean;
  /** The most tickets of an order, if it differs from the generated one; null: no limit. */
  order_limit?: number | null;
  /** The number of views today, if its reads show it. */
  readonly views_today?: number;
  readonly dynamic: boolean;
  /** Slots a day; 0: one for the whole day. */
  readonly slots: number;
  variants: readonly SandboxVariant[];
  readonly closed_weekday: number | null;
  /** The day of the week on which only children's tickets are sold, if it has any; null: no such day. */
  readonly children_weekday: number | null;
  readonly rating: { average: number; total: number } | null;
  status: 'available' | 'unavailable';
  reason: string | null;
  reopen: string | null;
  /** The recommended product while it is not on sale. Notifications show it; no read does. */
  alternative: number | null;
  withdrawn: boolean;
  /** True: its answers leave out all optional members. */
  bare: boolean;
  /** True: it has texts in English only. Lists in other languages leave it out, and its own reads answer in English. */
  untranslated: boolean;
  readonly sold_out: Set<string>;
  /** Edited members of the product and of its checkout information (edits.ts), in English; null: none. */
  edits: Readonly<Record<string, unknown>> | null;
  /** A recorded answer, served as recorded; null: none. */
  recorded: Readonly<Record<string, unknown>> | null;
}

/** The facts about a product in a real catalogue. The rest is generated. */
export interface CatalogueEntry {
  readonly id: number;
  readonly title: string;
  readonly tagline: string;
  readonly city: string;
  readonly country: string;
  readonly price_cents: number;
  readonly tag_ids: readonly number[];
  readonly rating: number | null;
  readonly available: boolean;
  readonly recorded: Readonly<Record<string, unknown>> | null;
}

const kinds = [
  'Museum',
  'Tower',
  'Cathedral',
  'Palace',
  'Aquarium',
  'Garden',
  'Gallery',
  'Castle',
  'River Cruise',
  'Zoo',
  'Observatory',
  'Theatre',
];
const names = [
  'Lantern',
  'Harbour',
  'Old',
  'Royal',
  'Saint Anne',
  'Northern',
  'Glass',
  'Amber',
  'Silver',
  'Cliff',
  'Garden',
  'Golden',
  'Stone',
  'Blue',
];
const offers = [
  'Entry Ticket',
  'Skip The Line',
  'Guided Tour',
  'Timed Entry + Audio Guide',
  'Day Pass',
  'Evening Visit',
];
const variantKinds = [
  ['Adult (18+)', 'adult', 1],
  ['Child (6-17)', 'child', 0.5],
  ['Senior (65+)', 'senior', 0.8],
  ['Family', 'family', 2.6],
  ['Student', 'student', 0.7],
  ['Infant (0-5)', 'infant', 0],
] as const;

/**
 * Other sets of variants than those with an adult and others: without an adult, for groups only, and with two prices
 * for adults.
 */
const otherVariantKinds = [
  variantKinds.slice(1),
  [
    ['Group of 2 to 4', 'group', 3],
    ['Group of 5 to 8', 'group', 5.5],
    ['Guide', 'other', 1.4],
  ],
  [['Adult (18+)', 'adult', 1], ['Adult, resident', 'adult', 0.6], ...variantKinds.slice(1)],
] as const;

/** Returns the generated catalogue, with the proportions of the real one. */
export function generateCatalogue(seed: number, count: number): SandboxProduct[] {
  return Array.from({ length: count }, (_, index) => {
    const chance = (what: string) => roll(seed, index, what);
    const place = placeOf(seed, index, count);
    const title = `${pick(names, chance('name'))} ${pick(kinds, chance('kind'))} ${place.city}: ${pick(offers, chance('offer'))}`;
    return build(seed, index, count, {
      id: 703_295 + index * 57,
      title,
      tagline: `See the best of ${place.city} at the ${title.split(':')[0]}`,
      city: place.city,
      country: place.country,
      price_cents: priceOf(chance('price'), chance('spread')),
      tag_ids: [...new Set(Array.from({ length: 4 + Math.floor(chance('tags') * 6) }, (_, tag) => 600 + Math.floor(roll(seed, index, tag, 'tag') * 200)))],
      rating: chance('rated') < 0.79 ? Math.round((3.4 + 1.5 * chance('rating')) * 10) / 10 : null,
      available: chance('status') >= 0.051,
      recorded: null,
    }, place); // biome-ignore format: one entry
  });
}

/** Returns products built from real entries. */
export function catalogueFrom(seed: number, entries: readonly CatalogueEntry[]): SandboxProduct[] {
  return entries.map((entry, index) => build(seed, index, entries.length, entry, placeIn(entry.city, entry.country)));
}

/** Returns the same product with small answers. */
export function leaner(product: SandboxProduct): SandboxProduct {
  return { ...product, slots: 0, variants: product.variants.slice(0, 1), images: product.images.slice(0, 1) };
}

function build(seed: number, index: number, count: number, entry: CatalogueEntry, place: Place): SandboxProduct {
  const chance = (what: string) => roll(seed, index, what);
  const slotted = chance('slotted') < 0.4;
  const variants = 2 + Math.floor(chance('variants') ** 2 * 5);
  const recordedVenue = Number((entry.recorded?.venue as { id?: unknown } | undefined)?.id);
  return {
    ...entry,
    description: `${entry.tagline}.\r\n\r\nOpen since ${1800 + Math.floor(chance('year') * 200)}; “${entry.title}” is worth an hour.`,
    place: entry.recorded !== null ? { ...place, zone: null } : place,
    city_id: 60_000 + Math.floor(roll(7, place.city) * 9000),
    country_id: 50_000 + Math.floor(roll(7, place.country) * 250),
    experience_ids: entry.recorded === null ? experiencesOf(seed, index, count) : [recordedVenue],
    images: imagesOf(seed, index),
    image_origin: 'https://images.sandbox.invalid',
    price: entry.price_cents,
    dynamic: chance('dynamic') < 0.3,
    slots: slotted ? (chance('many') < 0.06 ? 41 : 4 + Math.floor(chance('slots') * 15)) : 0,
    variants: (otherVariantKinds[Math.floor(chance('visitors') * 30)] ?? variantKinds)
      .slice(0, variants)
      .map(([label, type, factor], each) => ({
        id: 38_000 + index * 8 + each,
        label,
        type,
        factor,
        ...(type === 'group' ? { group: { id: 8, name: 'Private tour' } } : {}),
      })),
    closed_weekday: chance('closed') < 0.35 ? Math.floor(chance('weekday') * 7) : null,
    children_weekday: chance('children') < 0.06 ? Math.floor(chance('children weekday') * 7) : null,
    rating:
      entry.rating === null ? null : { average: entry.rating, total: 1 + Math.floor(chance('ratings') ** 4 * 100_000) },
    status: entry.available ? 'available' : 'unavailable',
    reason: entry.available ? null : pick(['temporary_closure', 'out_of_season', 'other'], chance('reason')),
    reopen: entry.available
      ? null
      : pick(['within_7_days', 'within_2_weeks', 'within_month', 'more_than_month'], chance('reopen')),
    alternative: null,
    withdrawn: false,
    bare: false,
    untranslated: false,
    sold_out: new Set(),
    edits: null,
  };
}

/**
 * Returns the place of a product. A quarter of the products are in ten large cities. About half of the cities have a
 * single product.
 */
function placeOf(seed: number, index: number, count: number): Place {
  const chance = roll(seed, index, 'city');
  if (chance < 0.25) return pick(places.slice(0, 10), roll(seed, index, 'large'));
  const zone = pick(places, roll(seed, index, 'zone'));
  const known = roll(seed, index, 'known') < 0.99 ? zone : { ...zone, zone: null };
  if (chance < 0.25 + 598 / 7500) return { ...known, city: `Village ${index}` };
  const towns = Math.max(1, Math.round(count * 0.07));
  return { ...known, city: `${zone.city} Town ${Math.floor(roll(seed, index, 'town') ** 1.6 * towns)}` };
}

/** Returns a price in euro cents: median about 32 euros, from a few to several hundred, one in two hundred free. */
function priceOf(chance: number, spread: number): number {
  if (chance < 0.005) return 0;
  const euros = 32 * Math.exp(0.85 * Math.sqrt(-2 * Math.log(1 - chance * 0.999)) * Math.cos(2 * Math.PI * spread));
  return spread < 0.46 ? Math.round(euros) * 100 : Math.max(50, Math.round(euros * 100));
}

/** Returns the main venue, and further venues for nearly half of the products. */
function experiencesOf(seed: number, index: number, count: number): number[] {
  const venues = Math.max(1, Math.round(count * 0.14));
  const venue = (what: string) => 151_000 + Math.floor(roll(seed, index, what) ** 1.4 * venues);
  const more = roll(seed, index, 'many venues') < 0.47 ? 1 + Math.floor(roll(seed, index, 'venues') ** 6 * 40) : 0;
  return [...new Set([venue('venue'), ...Array.from({ length: more }, (_, each) => venue(`venue ${each}`))])];
}

/** Returns the images: median four, at most twenty-two. Some products have none. */
function imagesOf(seed: number, index: number): SandboxImage[] {
  const chance = roll(seed, index, 'images');
  const count =
    chance < 0.04 ? 0 : Math.min(22, 1 + Math.floor(-4.6 * Math.log(1 - roll(seed, index, 'image count') * 0.995)));
  return Array.from({ length: count }, (_, each) => {
    const credit = roll(seed, index, each, 'credit');
    return {
      name: hex(32, seed, index, each, 'image'),
      credit: credit < 0.05 ? null : credit < 0.08 ? '' : `Photo: ${pick(names, credit)} Studio`,
      alt_text: roll(seed, index, each, 'alt') < 0.2 ? null : `View ${each + 1}`,
    };
  });
}

/** A city of the sandbox. Names of countries are not needed; real places have real time zones. */
interface Place {
  readonly city: string;
  readonly country: string;
  readonly zone: string | null;
  readonly lat: number;
  readonly lng: number;
}

const rows = `
Barcelona|Spain|Europe/Madrid|41.38|2.17
Paris|France|Europe/Paris|48.86|2.35
Rome|Italy|Europe/Rome|41.9|12.5
London|United Kingdom|Europe/London|51.51|-0.13
Amsterdam|The Netherlands|Europe/Amsterdam|52.37|4.9
New York|United States|America/New_York|40.71|-74.01
Lisbon|Portugal|Europe/Lisbon|38.72|-9.14
Berlin|Germany|Europe/Berlin|52.52|13.4
Dubai|United Arab Emirates|Asia/Dubai|25.2|55.27
Florence|Italy|Europe/Rome|43.77|11.26
Vienna|Austria|Europe/Vienna|48.21|16.37
Prague|Czech Republic|Europe/Prague|50.08|14.44
Dublin|Ireland|Europe/Dublin|53.35|-6.26
Sydney|Australia|Australia/Sydney|-33.87|151.21
Tokyo|Japan|Asia/Tokyo|35.68|139.69
Bangkok|Thailand|Asia/Bangkok|13.76|100.5
Singapore|Singapore|Asia/Singapore|1.35|103.82
Los Angeles|United States|America/Los_Angeles|34.05|-118.24
Honolulu|United States|Pacific/Honolulu|21.31|-157.86
Reykjavik|Iceland|Atlantic/Reykjavik|64.15|-21.94
Istanbul|Turkey|Europe/Istanbul|41.01|28.98
Mexico City|Mexico|America/Mexico_City|19.43|-99.13
Sao Paulo|Brazil|America/Sao_Paulo|-23.55|-46.63
Kathmandu|Nepal|Asia/Kathmandu|27.72|85.32
Auckland|New Zealand|Pacific/Auckland|-36.85|174.76
Lord Howe Island|Australia|Australia/Lord_Howe|-31.55|159.08
Kiritimati|Kiribati|Pacific/Kiritimati|1.87|-157.4
Pago Pago|American Samoa|Pacific/Pago_Pago|-14.28|-170.7
Waitangi|New Zealand|Pacific/Chatham|-43.95|-176.56
Toronto|Canada|America/Toronto|43.65|-79.38`;

export const places: readonly Place[] = rows
  .trim()
  .split('\n')
  .map((row) => {
    const [city = '', country = '', zone = '', lat, lng] = row.split('|');
    return { city, country, zone, lat: Number(lat), lng: Number(lng) };
  });

/**
 * Returns the place of a real entry. Its zone is that of the city or else of the country in the table above; null:
 * neither is there.
 */
function placeIn(city: string, country: string): Place {
  const known = places.find((place) => place.city === city) ?? places.find((place) => place.country === country);
  return known === undefined ? { city, country, zone: null, lat: 0, lng: 0 } : { ...known, city, country };
}
