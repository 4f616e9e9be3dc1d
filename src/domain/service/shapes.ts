import {
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
  words,
  zone,
} from './member.ts';
import { Shape } from './shape.ts';
import { remarkIn } from './unread.ts';

/*
 * The rows of the service, each member declared once. Decoders read by these declarations, `probe` judges answers by
 * them, and docs/service.md shows them (test/adapter/examples.test.ts).
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
  if (why !== null) return declared?.remark?.meanwhile ?? '';
  return declared?.meanwhile ?? (member.endsWith('[]') ? 'it is left out' : 'it is NULL');
}

/** Returns whether an answer without a readable value of a member is always a failed read, if an earlier one had some. */
export function isAlwaysKept(resource: string, member: string): boolean {
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
