import { z } from 'zod';
import { bit, calendarDate, count, instant, maybe, notObject, strict, text, whole } from './values.ts';

const most = Number.MAX_SAFE_INTEGER;
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.optional();
const orders = ['relevance', 'popularity', 'price', 'price_down', 'rating', 'distance'] as const;
const number = (expected: string, least: number, greatest: number) =>
  z.number(expected).min(least, expected).max(greatest, expected);

const near = strict(
  {
    latitude: number('degrees from -90 to 90', -90, 90),
    longitude: number('degrees from -180 to 180', -180, 180),
    km: number('kilometres', 0, 20_038),
  },
  '{"latitude": …, "longitude": …, "km": …}',
);

export const searchQuestion = strict(
  {
    text: optional(
      z.string('what was typed').meta({ description: 'typos, generic words and beginnings of words are minded' }),
    ),
    near: optional(near),
    city_id: optional(whole(0, most, 'a city id')),
    country_id: optional(whole(0, most, 'a country id')),
    tag_id: optional(whole(0, most, 'a tag id')),
    min_rating: optional(number('stars from 0 to 5', 0, 5)),
    min_price: optional(whole(0, most, 'an integer in minor units')),
    max_price: optional(whole(0, most, 'an integer in minor units')),
    from: optional(calendarDate),
    to: optional(calendarDate),
    sellable: optional(z.boolean('true or false')),
    language: optional(z.string('a mirrored language')),
    currency: optional(z.string('a mirrored currency')),
    order: optional(z.enum(orders, `one of ${orders.join(', ')}`)),
    facets: optional(z.boolean('true or false')),
    limit: optional(whole(1, 1000, 'a number of hits from 1 to 1000')),
    offset: optional(whole(0, 100_000, 'a number of hits from 0 to 100000')),
  },
  notObject,
);

const value = z.object({ id: z.number(), name: maybe, count });
const place = z.number().nullable();

const hit = z.object({
  product_id: count,
  language: text,
  language_shown: text,
  title: maybe,
  highlight: z.array(z.object({ text, matched: z.boolean() })),
  tagline: maybe,
  city_id: count.nullable(),
  city_name: maybe,
  country_id: count.nullable(),
  country_name: maybe,
  latitude: place,
  longitude: place,
  sellable: bit,
  rating: z.number().nullable(),
  rating_count: count.nullable(),
  place: count,
  typos: count,
  found_in: maybe,
  price: z.number().nullable().meta({ description: 'minor units: what a shop prints' }),
  price_variant_type: maybe.meta({ description: 'whose price it is: adult, or another type where no adult can buy' }),
  currency: text,
  date: maybe,
  distance_km: z.number().nullable(),
  checked_at: instant,
  stale: bit,
});

export const searchFound = z.object({
  hits: z.array(hit),
  total: count,
  matched: z.array(text),
  dropped: z.array(text),
  meant: maybe,
  facets: z
    .object({
      city: z.array(value),
      country: z.array(value),
      tag: z.array(value),
      price: z.array(value),
      rating: z.array(value),
    })
    .nullable(),
});

const inexact = {
  language_shown: true,
  highlight: true,
  country_id: true,
  country_name: true,
  rating_count: true,
  place: true,
  typos: true,
  found_in: true,
} as const;

export const exactFound = z.array(hit.omit(inexact).extend({ popularity: z.number().meta({ description: '0 to 1' }) }));
