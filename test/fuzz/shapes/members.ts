import { type Reading, readingOf } from './readings.ts';

/** An answer of the service in which members are replaced. */
export interface Answered {
  /** Requests whose answers are changed. */
  readonly url: RegExp;
  /** Requests whose answers have the same members at another place, and are changed too. */
  readonly also?: { readonly url: RegExp; readonly from: string; readonly to: string };
  /** Resources of a resync that asks for it. */
  readonly resync: 'products' | 'checkout' | 'variants' | 'availability';
  /** Paths of its members and their kinds. Every other member is stored as it was sent, or not at all. */
  readonly members: Readonly<Record<string, MemberKind>>;
  /** Paths of members that no answer of the sandbox has, and others have. */
  readonly added?: readonly string[];
}

export type MemberKind =
  | 'flag'
  | 'places'
  | 'limit'
  | 'money'
  | 'time'
  | 'zone'
  | 'identifier'
  | 'date'
  | 'currency'
  | 'sale-status'
  | 'credit'
  | 'address'
  | 'published'
  | 'measure'
  | 'text'
  | 'object'
  | 'list';

const image = {
  small: 'address',
  medium: 'address',
  large: 'address',
  extra_large: 'address',
  alt_text: 'text',
  credit: 'credit',
  published: 'published',
  visible: 'published',
  status: 'published',
} as const;

const product = {
  id: 'identifier',
  title: 'text',
  tagline: 'text',
  sale_status: 'sale-status',
  sale_status_reason: 'text',
  sale_status_expected_reopen: 'text',
  price: 'money',
  prediscount_price: 'money',
  currency: 'currency',
  city_id: 'identifier',
  city_name: 'text',
  country_id: 'identifier',
  country_name: 'text',
  venue: 'object',
  'venue.id': 'identifier',
  geolocation: 'object',
  'geolocation.lat': 'measure',
  'geolocation.lng': 'measure',
  timezone: 'zone',
  ratings: 'object',
  'ratings.average': 'measure',
  'ratings.total': 'limit',
  tag_ids: 'list',
  'tag_ids[]': 'identifier',
  images: 'list',
  'images[]': 'object',
  ...within('images[].', image),
} as const;

const imagesAdded = ['images[].published', 'images[].visible', 'images[].status', 'images[].credits'];

/** Every read of the service, in the names of docs/service.md. */
export const answered = {
  products: {
    url: /^\/v2\/products\?/,
    resync: 'products',
    members: { products: 'list', 'products[]': 'object', ...within('products[].', product) },
    added: imagesAdded.map((path) => `products[].${path}`),
  },
  product: {
    url: /^\/v2\/products\/\d+(\?|$)/,
    also: { url: /^\/v2\/products\?/, from: 'product', to: 'products[]' },
    resync: 'products',
    members: { product: 'object', ...within('product.', product) },
    added: imagesAdded.map((path) => `product.${path}`),
  },
  checkout_information: {
    url: /\/checkout_information/,
    resync: 'checkout',
    members: {
      has_timeslots: 'flag',
      has_dynamic_pricing: 'flag',
      additional_information: 'object',
      'additional_information.must_know': 'text',
      'additional_information.good_to_know': 'text',
    },
  },
  availability: {
    url: /\/availability/,
    resync: 'availability',
    members: {
      sales_enabled: 'flag',
      max_tickets_per_order: 'limit',
      dates: 'list',
      'dates[]': 'object',
      'dates[].date': 'date',
      'dates[].availability': 'places',
      'dates[].timeslots': 'list',
      'dates[].timeslots[]': 'object',
      'dates[].timeslots[].time': 'time',
      'dates[].timeslots[].timezone': 'zone',
      'dates[].timeslots[].availability': 'places',
      'dates[].timeslots[].variants': 'list',
      'dates[].timeslots[].variants[]': 'object',
      'dates[].timeslots[].variants[].id': 'identifier',
      'dates[].timeslots[].variants[].max_tickets': 'limit',
      'dates[].timeslots[].variants[].currency': 'currency',
      'dates[].timeslots[].variants[].price_mediation': 'object',
      'dates[].timeslots[].variants[].price_mediation.total_retail_price_incl_vat': 'money',
      variants: 'list',
      'variants[]': 'object',
      'variants[].id': 'identifier',
    },
  },
  variants: {
    url: /\/product-variants/,
    resync: 'variants',
    members: { variants: 'list', 'variants[]': 'object', 'variants[].id': 'identifier' },
  },
  experiences: {
    url: /^\/v2\/experiences/,
    resync: 'products',
    members: {
      experiences: 'list',
      'experiences[]': 'object',
      ...within('experiences[].', {
        id: 'identifier',
        title: 'text',
        tagline: 'text',
        description: 'text',
        currency: 'currency',
        from_price: 'money',
        ratings: 'object',
        'ratings.average': 'measure',
        'ratings.total': 'limit',
        product_ids: 'list',
        'product_ids[]': 'identifier',
        images: 'list',
        'images[]': 'object',
        ...within('images[].', image),
      }),
    },
    added: imagesAdded.map((path) => `experiences[].${path}`),
  },
  tags: {
    url: /^\/v2\/tags/,
    resync: 'products',
    members: {
      tags: 'list',
      'tags[]': 'object',
      'tags[].id': 'identifier',
      'tags[].name': 'text',
      'tags[].type_name': 'text',
      'tags[].type_group_name': 'text',
    },
  },
} as const satisfies Record<string, Answered>;

export type AnswerName = keyof typeof answered;

function within<Kind extends string>(prefix: string, members: Readonly<Record<string, Kind>>): Record<string, Kind> {
  return Object.fromEntries(Object.entries(members).map(([name, kind]) => [prefix + name, kind]));
}

/**
 * Members of an availability answer on which an offer depends: a check of one whose member cannot be read never says
 * `holds`. A zone has a second source, the product.
 */
const decidesOffer: ReadonlySet<string> = new Set([
  'sales_enabled',
  'max_tickets_per_order',
  ...Object.keys(answered.availability.members).filter(
    (path) => path.startsWith('dates') && !path.endsWith('.timezone'),
  ),
]);

/** One member of one answer. */
export interface Member {
  readonly answer: AnswerName;
  readonly path: string;
}

/** Returns the kind of a member; null: nothing reads it. */
export function kindOf({ answer, path }: Member): MemberKind | null {
  const members: Readonly<Record<string, MemberKind>> = answered[answer].members;
  return members[path] ?? null;
}

export function decidesOffers({ answer, path }: Member): boolean {
  return answer === 'availability' && decidesOffer.has(path);
}

/** Returns the right reading of a value of a member. */
export function rightReading(member: Member, value: unknown): Reading {
  const kind = kindOf(member);
  return kind === null ? { is: 'unjudged' } : readingOf(kind, value);
}

/** Returns the paths of an answer's members: `dates[].timeslots[].time`. */
export function pathsIn(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return [];
  const paths = Object.entries(value).flatMap(([name, inner]) => {
    const path = Array.isArray(value) ? `${prefix}[]` : prefix === '' ? name : `${prefix}.${name}`;
    return [path, ...pathsIn(inner, path)];
  });
  return [...new Set(paths)];
}

/** Decides which elements of a list are changed. */
export type Picked = (list: string, elements: readonly unknown[]) => readonly number[];

/**
 * Puts a value at a path of a document, in place; with `undefined` the member is left out. Returns how many members
 * were changed.
 */
export function put(document: unknown, path: string, value: unknown, picked: Picked): number {
  return putAt({ document }, ['document', ...path.replaceAll('[]', '.[]').split('.')], '', value, picked);
}

function putAt(holder: unknown, steps: readonly string[], at: string, value: unknown, picked: Picked): number {
  const [name = '', next, ...rest] = steps;
  if (typeof holder !== 'object' || holder === null || JSON.isRawJSON(holder)) return 0;
  const members = holder as Record<string, unknown>;
  if (next === undefined) {
    if (value === undefined && Array.isArray(holder)) holder.splice(Number(name), 1);
    else if (value === undefined) delete members[name];
    else members[name] = value;
    return 1;
  }
  const inner = members[name];
  const here = name === 'document' && at === '' ? '' : `${at}.${name}`.replace(/^\./, '');
  if (next !== '[]') return putAt(inner, [next, ...rest], here, value, picked);
  if (!Array.isArray(inner)) return 0;
  // The last one first: an element that is left out moves those behind it.
  return [...picked(here, inner)]
    .reverse()
    .reduce((count, index) => count + putAt(inner, [String(index), ...rest], `${here}[]`, value, picked), 0);
}
