import { isMembers, type Members, memberNames, nearestNumber } from '../kernel/values/exact-json.ts';
import {
  type AnswerContext,
  address,
  count,
  credit,
  currency,
  date,
  flag,
  hidden,
  identifier,
  identifiers,
  integer,
  limit,
  list,
  type Member,
  measure,
  money,
  noTime,
  object,
  postal,
  price,
  retailPrice,
  shown,
  stateWord,
  text,
  time,
  unreadable,
  words,
  zone,
} from './member.rules.ts';

/** An answer that is JSON, but not what the endpoint specifies: a failed read, and the old copy stays. */
export class WrongShape extends Error {
  override readonly name = 'WrongShape';
}

type Declared = Readonly<Record<string, Member<unknown, null>>>;
type ValueOf<Declaration> = Declaration extends Member<infer Value, infer Absent> ? Value | Absent : never;
/** The values of declared members. */
type RowValues<Row extends Declared> = { readonly [Name in keyof Row]: ValueOf<Row[Name]> };

/** Declares the members of a row: decoding, `probe` and the documents follow this one place. */
export class Shape<Row extends Declared = Declared> {
  /** The name of a row in a message: `the product`. */
  readonly row: string;
  readonly members: Row;
  readonly #entries: readonly (readonly [name: string, path: string, member: Member<unknown>])[];
  readonly #names: ReadonlySet<string>;

  /** `place` begins the paths of its members: `dates[].`. */
  constructor(row: string, place: string, members: Row) {
    this.row = row;
    this.members = members;
    this.#entries = Object.entries(members).map(([name, member]) => [name, place + name, member as Member<unknown>]);
    this.#names = new Set(Object.keys(members));
  }

  /**
   * Reads the members of a row, and notes those that are unreadable, or remarkable. Throws a `WrongShape` without one that
   * is needed.
   */
  read(value: unknown, unread: UnreadMembers, context?: AnswerContext): RowValues<Row> {
    const row = members(value, this.row);
    const values: Record<string, unknown> = {};
    for (const [name, path, member] of this.#entries) {
      const { aliases, isNeeded, isCount, isKept, otherwise, form, remark } = member.terms;
      let sent = row[name];
      let outcome = member.read(sent, context);
      // Nearly all members of an answer: what follows has nothing to say of them.
      if (member.isPlain && outcome !== unreadable) {
        values[name] = outcome;
        continue;
      }
      for (const alias of aliases) {
        if (outcome !== null && outcome !== unreadable) break;
        const other = member.read(row[alias], context);
        if (other === null || (other === unreadable && outcome === unreadable)) continue;
        [outcome, sent] = [other, row[alias]];
      }
      if (outcome === unreadable) {
        if (isNeeded) throw new WrongShape(`${name} of ${this.row} is ${exampleOf(sent)}, no usable ${form}`);
        unread.note(path, sent, isCount);
        outcome = otherwise;
      } else if (outcome === null && isNeeded) throw missing(row, name);
      else if (isKept && outcome !== null) unread.readable(path);
      else if (remark !== null && outcome !== null && member.remarkOn(outcome, context) !== null) {
        unread.note(remarked(path, remark.why), sent);
        if (remark.instead !== undefined) outcome = remark.instead;
      }
      // One id of a list that cannot be read is left out, and named.
      if (form === 'ids' && outcome !== null && outcome !== otherwise && Array.isArray(sent)) {
        const leftOut = (sent as readonly unknown[]).find((each) => identifier.read(each) === unreadable);
        if (leftOut !== undefined) unread.note(`${path}[]`, leftOut);
      }
      values[name] = outcome;
    }
    return values as RowValues<Row>;
  }

  /** Returns the declaration of a member by its path; undefined: it is another row's. */
  at(path: string): Member<unknown> | undefined {
    return this.#entries.find(([, each]) => each === path)?.[2];
  }

  /** Returns the members that have no place of their own: undeclared ones, and those whose value is NULL although one was sent. */
  rest(row: Members, values: Readonly<Record<string, unknown>>): Members | null {
    let rest: Record<string, unknown> | null = null;
    for (const name in row) {
      if (this.#names.has(name) && (values[name] !== null || row[name] == null)) continue;
      if (!Object.hasOwn(row, name)) continue;
      rest ??= {};
      Object.defineProperty(rest, name, {
        value: storable(row[name]),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return rest;
  }
}

/** Returns the members of a JSON object; anything else is a wrong shape. */
export function members(value: unknown, what: string): Members {
  if (isMembers(value)) return value;
  throw new WrongShape(`${what} is ${kindOf(value)}, expected an object`);
}

/** Returns the elements of a JSON array; anything else, also a missing one, is a wrong shape. */
function elements(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new WrongShape(`${what} is ${kindOf(value)}, expected an array`);
}

/**
 * Returns the elements of a member of an answer that the endpoint promises. Where it is missing, the error shows which
 * members there are: the service may call it otherwise.
 */
export function elementsIn(answer: Members, name: string): readonly unknown[] {
  if (answer[name] === undefined) throw missing(answer, name);
  return elements(answer[name], name);
}

/** The same for a member that is an object. */
export function membersIn(answer: Members, name: string): Members {
  if (answer[name] === undefined) throw missing(answer, name);
  return members(answer[name], name);
}

/** Returns the error of an object without a member that it needs, with the names of those it has as an example. */
export function missing(value: unknown, expected: string): WrongShape {
  return new WrongShape(`members: ${memberNames(value)}; expected: ${expected}`);
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/*
 * The rows of the service, each member declared once. Decoders read by these declarations, `probe` judges answers by
 * them, and docs/reference/members.md shows them (test/reference.ts).
 */

export const productShape = new Shape('the product', '', {
  id: identifier.needed,
  language: text,
  title: text,
  tagline: text.optional,
  sale_status: words<'enabled' | 'disabled' | 'unknown'>({ available: 'enabled', unavailable: 'disabled' })
    .instead('unknown', 'the product is not sold')
    .says('whether it is on sale'),
  sale_status_reason: text.optional,
  sale_status_expected_reopen: text.optional,
  price: price.says('lowest price'),
  prediscount_price: price.optional,
  currency,
  city_id: identifier,
  city_name: text,
  country_id: identifier,
  country_name: text,
  tag_ids: identifiers,
  images: list.missed.meanwhile('the known images stay until their 14 days are over'),
  venue: object,
  geolocation: object,
  timezone: zone.meanwhile('the zone of most products of its city counts'),
  ratings: object,
});

export const placeShape = new Shape('the place', 'geolocation.', { lat: measure, lng: measure });
export const venueShape = new Shape('the venue', 'venue.', { id: identifier });
export const ratingShape = new Shape('the rating', 'ratings.', { average: measure, total: integer });

/** Stands for a credit that cannot be read: an image whose credit nobody can show is not shown. */
export const unreadableCredit = '';

export const imageShape = new Shape('an image', 'images[].', {
  small: address,
  medium: address,
  large: address,
  extra_large: address,
  credit: credit.or('credits').optional.instead(unreadableCredit, 'the image is hidden'),
  status: shown,
  published: shown,
  visible: shown,
  hidden,
  deleted: hidden,
  unpublished: hidden,
  withdrawn: hidden,
  archived: hidden,
});

export const experienceShape = new Shape('the experience', '', {
  id: identifier.needed,
  title: text,
  tagline: text.optional,
  description: text.optional,
  product_ids: identifiers,
  from_price: price.optional,
  currency: currency.optional,
  images: productShape.members.images.optional,
  address: postal.optional,
  geolocation: object.optional,
  ratings: object.optional,
});

export const addressShape = new Shape('the address', 'address.', {
  street: text.or('address'),
  city_name: text,
  country_name: text,
});

export const tagShape = new Shape('the tag', '', {
  id: identifier.needed,
  name: text,
  type_name: text.optional,
  type_group_name: text.optional,
});

export const checkoutShape = new Shape('the checkout information', '', {
  has_timeslots: flag.instead(true, 'a time has to be chosen'),
  has_dynamic_pricing: flag.instead(true, 'its prices are read more often'),
  additional_information: object.meanwhile('the read fails, and the texts that must be shown stay'),
});

const mustStay = text.optional.meanwhile('the read fails, and the texts that must be shown stay');
export const informationShape = new Shape('the additional information', 'additional_information.', {
  must_know: mustStay,
  good_to_know: mustStay,
});

export const variantShape = new Shape('a variant', 'variants[].', {
  id: identifier.needed,
  label: text,
  variant_type: text,
});

export const availabilityShape = new Shape('the availability', '', {
  sales_enabled: flag.instead(false, 'the dates count as not on sale').says('whether dates are sold').kept,
  max_tickets_per_order: limit.says('tickets of one order'),
  dates: list.needed,
  variants: list.needed,
});

export const dayShape = new Shape('a date', 'dates[].', {
  date: date.needed,
  availability: count.says('places left'),
  timeslots: list.needed,
});

export const slotShape = new Shape('a timeslot', 'dates[].timeslots[].', {
  time: time.instead(noTime, 'the timeslot is not sold').kept,
  timezone: zone.meanwhile('the zone of its timeslots counts, else that of the product'),
  availability: count.says('places left'),
  variants: list.needed,
});

export const offerShape = new Shape('a variant of a timeslot', 'dates[].timeslots[].variants[].', {
  id: identifier.needed,
  max_tickets: limit.or('max_orders').says('tickets of one order'),
  currency,
  price_mediation: object,
  pricing_restriction: integer.optional,
});

const pricePlace = 'dates[].timeslots[].variants[].price_mediation.';
export const priceShape = new Shape('a price', pricePlace, {
  total_retail_price_incl_vat: retailPrice.says('what a customer pays'),
  sale_ticket_value_incl_vat: money.optional,
  booking_fee_incl_vat: money.optional,
  distributor_commission_excl_vat: money.optional,
});

export const subscriptionShape = new Shape('the subscription', '', {
  subscription_type: text,
  entity_ids: identifiers,
  change_types: list,
  callback_url: text,
  status: stateWord
    .instead('unreadable', 'it is not relied on until a delivery has arrived under it')
    .says('whether it works'),
});

/** The rows of each record's answers. */
const rowsOfAnswers: Readonly<Partial<Record<string, readonly Shape[]>>> = {
  availability: [availabilityShape, dayShape, slotShape, offerShape, priceShape, variantShape],
  checkout_information: [checkoutShape],
  variants: [variantShape],
  experiences: [experienceShape, addressShape, placeShape, ratingShape, imageShape],
  tags: [tagShape],
};
const rowsOfProducts = [productShape, venueShape, placeShape, ratingShape, imageShape];

/** Names addresses that end before their next read. They depend on the time, so no declaration finds them. */
export const endsTooSoon = 'ends too soon';

/** Returns what happens while a noted member of an answer cannot be read, or is as its remark says. */
export function meanwhileOf(resource: string, noted: string): string {
  const { member, why } = remarkIn(noted);
  const declared = declarationOf(resource, member)?.terms;
  if (why === endsTooSoon) return 'nothing is hidden or read again for it';
  if (why !== null) return declared?.remark?.meanwhile ?? declared?.meanwhile ?? '';
  return declared?.meanwhile ?? (member.endsWith('[]') ? 'it is left out' : 'it is NULL');
}

/** Returns whether an answer without a readable value of a member is always a failed read, if an earlier one had some. */
export function failsRead(resource: string, member: string): boolean {
  return declarationOf(resource, member)?.terms.isKept === true;
}

function declarationOf(resource: string, member: string) {
  const rows: readonly Shape[] = rowsOfAnswers[resource] ?? rowsOfProducts;
  return rows.flatMap((row) => row.at(member) ?? [])[0];
}

/** The rows that `probe` tests and the documents list, by the name of their table row. */
export const rowShapes = {
  products: productShape,
  experiences: experienceShape,
  tags: tagShape,
  checkout_information: checkoutShape,
  variants: variantShape,
  availability: availabilityShape,
  'dates of availability': dayShape,
  'timeslots of a date': slotShape,
  'variants of a timeslot': offerShape,
  'prices of a variant': priceShape,
  'images of a product': imageShape,
  venue: venueShape,
  geolocation: placeShape,
  ratings: ratingShape,
  additional_information: informationShape,
} as const satisfies Readonly<Record<string, Shape<never> | Shape>>;

/** The members of an answer that are there and cannot be read, each with its first value as an example. */
export class UnreadMembers {
  readonly #examples = new Map<string, string>();
  readonly #readable = new Set<string>();
  #uncounted = 0;

  /** Adds a member by its path, like `dates[].availability`. */
  note(member: string, value: unknown, isCount = false): void {
    if (isCount) this.#uncounted += 1;
    if (!this.#examples.has(member)) this.#examples.set(member, exampleOf(value));
  }

  /** Records that a value of a member was read. */
  readable(member: string): void {
    this.#readable.add(member);
  }

  /** Number of counts among the noted values. */
  get uncounted(): number {
    return this.#uncounted;
  }

  /** Undefined if everything was read. */
  get examples(): Examples | undefined {
    if (this.#examples.size === 0) return undefined;
    return new Map(
      [...this.#examples].map(([member, example]) => [member, { example, isAll: !this.#readable.has(member) }]),
    );
  }
}

/** An unreadable member. `isAll`: no value of it in the answer was read, as far as its declaration asks for that. */
export interface UnreadValue {
  readonly example: string;
  readonly isAll: boolean;
}

/** Returns the name under which a readable member is noted. It fails no read. */
export function remarked(member: string, why: string): string {
  return `${member} (${why})`;
}

/** Returns the member and the remark of a name; a remark of null: the member cannot be read. */
export function remarkIn(name: string): { readonly member: string; readonly why: string | null } {
  const [, member = name, why = null] = /^(.*) \((.*)\)$/.exec(name) ?? [];
  return { member, why };
}

/** Unreadable members, by path. */
export type Examples = ReadonlyMap<string, UnreadValue>;

/** Returns a number beyond any double as text: as a number it would be stored as null, which stands for none. */
export function storable(value: unknown): unknown {
  const number = nearestNumber(value);
  return typeof number === 'number' && !Number.isFinite(number) ? String(number) : value;
}

const longestExample = 60;

/** Returns a value as people see it in a condition. */
export function exampleOf(value: unknown): string {
  const text = JSON.stringify(storable(value)) ?? 'nothing';
  return text.length <= longestExample ? text : `${text.slice(0, longestExample - 1)}…`;
}
