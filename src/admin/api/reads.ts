import { z } from 'zod';
import { contract } from '../../mirror/contract/contract.ts';
import { type Column, publicColumns } from '../../mirror/contract/table.ts';
import { type HttpRead, httpReads } from '../../storefront/http/reads.ts';
import type { Operation } from './operation.ts';
import { exactFound, searchFound, searchQuestion } from './search.ts';
import { calendarDate, notObject, numeral, strict, text, whole } from './values.ts';

/*
 * The reader's functions as operations. The rows of their answers follow from the declarations of the contract, so a new
 * public column appears by itself.
 */

/** The most rows of a page. A row of products has about 4 kB. */
const mostRows = 200;

const edition = {
  language: z.string('a mirrored language').optional(),
  currency: z.string('a mirrored currency').optional(),
};
const span = { from: calendarDate.optional(), to: calendarDate.optional() };
const page = {
  after: numeral(0, 'the last id of the page before').optional(),
  limit: ofUrl(whole(1, mostRows, `a number of rows from 1 to ${mostRows}`)).optional(),
};
const id = (expected: string) => strict({ id: numeral(1, expected) }, expected);
const columns = z
  .string('names of columns, with commas')
  .meta({ description: 'only these columns, and date: state,lowest_adult_price' })
  .transform((list) => list.split(','))
  .optional();

const place = z
  .string('latitude,longitude,km')
  .regex(/^-?\d+(\.\d+)?,-?\d+(\.\d+)?,\d+(\.\d+)?$/, 'latitude,longitude,km')
  .meta({ description: 'within so many kilometres: 52.37,4.9,10' })
  .transform((written) => {
    const [latitude, longitude, km] = written.split(',').map(Number);
    return { latitude, longitude, km };
  })
  .optional();

const { near: _, ...searched } = searchQuestion.shape;
const question = { ...everyOfUrl(searched), near: place, limit: page.limit };
const { text: typed, city_id, country_id, tag_id, min_rating, min_price, max_price, sellable, offset } = question;
const filters = { city_id, country_id, tag_id, min_rating, min_price, max_price, sellable, ...span };

type Questions = Readonly<Record<HttpRead, Question>>;

interface Question {
  readonly summary: string;
  /** Noun with which an error names the id of the path: `a product id`. */
  readonly id?: string;
  readonly query: z.ZodRawShape;
  readonly answer: z.ZodType;
  /** Code and end of the message of a 404. Absent: there is always an answer. */
  readonly none?: readonly [code: string, message: string];
}

const product = 'a product id';
const noProduct = ['unknown-product', 'is not in the mirror'] as const;

const questions: Questions = {
  product: { summary: 'Returns a product', id: product, query: {}, answer: row('products'), none: noProduct },
  products: {
    summary: 'Returns products in the order of their ids, page by page',
    query: { ...filters, experience_id: numeral(1, 'an experience id').optional(), ...page },
    answer: rows('products'),
  },
  calendar: {
    summary: 'Returns every date of a span; a date that the mirror does not know is unknown, which is not sold out',
    id: product,
    query: { ...span, columns },
    answer: z.array(day()),
  },
  cheapest: {
    summary: 'Returns the date on which an adult pays least',
    id: product,
    query: span,
    answer: row('availability_days'),
    none: ['no-such-date', 'has no date with tickets and a price'],
  },
  slots: {
    summary: 'Returns the variants of each timeslot of a date',
    id: product,
    query: { date: calendarDate },
    answer: rows('availability_slots'),
  },
  images: {
    summary: 'Returns the images that may be shown now, each with its credit',
    id: product,
    query: {},
    answer: rows('images'),
  },
  prices: {
    summary: 'Returns the prices of a product, one for each currency',
    id: product,
    query: {},
    answer: rows('product_prices'),
  },
  variants: { summary: 'Returns the variants of a product', id: product, query: {}, answer: rows('variants') },
  checkoutInformation: {
    summary: 'Returns the data that a sale of a product asks for',
    id: product,
    query: {},
    answer: row('checkout_information'),
    none: ['no-checkout-information', 'has no checkout information yet'],
  },
  alternatives: {
    summary: 'Returns the products on sale that the service recommends instead of a closed one',
    id: product,
    query: {},
    answer: rows('products'),
  },
  related: {
    summary: 'Returns related products, the most similar first',
    id: product,
    query: { limit: page.limit },
    answer: rows('products'),
  },
  withdrawn: {
    summary: 'Returns a product that the service no longer offers',
    id: product,
    query: {},
    answer: row('withdrawn_products'),
    none: ['not-withdrawn', 'is offered, or was never seen'],
  },
  sellable: { summary: 'Returns whether a product is on sale at all', id: product, query: {}, answer: z.boolean() },
  experience: {
    summary: 'Returns a venue or an activity',
    id: 'an experience id',
    query: {},
    answer: row('experiences'),
    none: ['unknown-experience', 'is not in the mirror'],
  },
  experienceImages: {
    summary: 'Returns the images of a venue or an activity that may be shown now, each with its credit',
    id: 'an experience id',
    query: {},
    answer: rows('experience_images'),
  },
  experiences: {
    summary: 'Returns venues and activities in the order of their ids, page by page',
    query: { city_id, ...page },
    answer: rows('experiences'),
  },
  cities: {
    summary: 'Returns the cities, most products first',
    query: { country_id },
    answer: rows('cities'),
  },
  countries: { summary: 'Returns the countries, most products first', query: {}, answer: rows('countries') },
  tags: {
    summary: 'Returns the tags in the order of their ids: all, or those of a product',
    query: { product_id: numeral(1, product).optional() },
    answer: rows('tags'),
  },
  currencies: {
    summary: 'Returns the mirrored currencies, each with its decimals',
    query: {},
    answer: rows('currencies'),
  },
  policies: {
    summary: 'Returns what a storefront does with fresh, stale, expired and unknown rows',
    query: {},
    answer: rows('policies'),
  },
  search: { summary: 'Finds what a shopper means', query: question, answer: searchFound },
  exact: {
    summary: 'Finds products that have every word exactly as it is typed',
    query: {
      text: typed,
      near: place,
      city_id,
      date: calendarDate.optional(),
      max_price,
      sellable,
      order: z.enum(['relevance', 'price', 'distance'], 'one of relevance, price, distance').optional(),
      limit: question.limit,
      offset,
    },
    answer: exactFound,
  },
};

/** The name of a read among the operations. */
export type ReadOperation = `GET ${(typeof httpReads)[HttpRead]['path']}`;

export const reads = Object.fromEntries(
  (Object.keys(questions) as HttpRead[]).map((name) => [
    `GET ${httpReads[name].path}`,
    operation(name, questions[name]),
  ]),
) as unknown as Record<ReadOperation, Operation & { readonly storefront: true }>;

function operation(name: HttpRead, { summary, id: expected, query, answer, none }: Question) {
  const read: { readonly path: string; readonly edition?: readonly (keyof typeof edition)[] } = httpReads[name];
  const ofEdition = Object.fromEntries((read.edition ?? []).map((member) => [member, edition[member]]));
  return {
    summary,
    storefront: true,
    read: name,
    ...(expected === undefined ? {} : { path: id(expected) }),
    query: strict({ ...query, ...ofEdition }, notObject),
    answer,
    ...(none === undefined
      ? {}
      : {
          missing: (asked: string) => ({ error: none[0], message: `${asked} ${none[1]}` }),
          refusals: { 404: `it ${none[1]}` },
        }),
  } as const;
}

function row(name: keyof typeof contract): z.ZodObject {
  return z.object(
    Object.fromEntries(publicColumns(contract[name]).map(([column, declared]) => [column, cell(declared)])),
  );
}

function rows(name: keyof typeof contract): z.ZodArray {
  return z.array(row(name));
}

/** A row of the calendar may be of a date that the mirror does not know, and may have some columns only. */
function day(): z.ZodObject {
  const { date, state, ...others } = row('availability_days').shape;
  const known = Object.entries(others).map(([name, schema]) => [name, (schema as z.ZodType).nullable()]);
  const unknown = (state as z.ZodType).or(z.literal('unknown'));
  return z
    .object({ ...Object.fromEntries(known), state: unknown })
    .partial()
    .extend({ date: date as z.ZodType });
}

function cell({ type, unit, words, null: absent, means }: Column): z.ZodType {
  const value = words !== undefined ? z.enum(words) : type === 'text' ? text : z.number();
  const notes = [unit, absent === undefined ? undefined : `null: ${absent}`].filter((note) => note !== undefined);
  return (absent === undefined ? value : value.nullable()).meta({ description: [means, ...notes].join(' · ') });
}

/** Reads the text of a URL as the kind of value that the schema expects. */
function ofUrl(schema: z.ZodType): z.ZodType {
  return z.preprocess((written) => {
    if (schema instanceof z.ZodBoolean) return written === 'true' ? true : written === 'false' ? false : written;
    const isNumber = typeof written === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(written);
    return schema instanceof z.ZodNumber && isNumber ? Number(written) : written;
  }, schema);
}

function everyOfUrl<Shape extends z.ZodRawShape>(shape: Shape): { readonly [Name in keyof Shape]: z.ZodType } {
  const read = Object.entries(shape).map(([name, schema]) => {
    const known = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : (schema as z.ZodType);
    return [name, ofUrl(known).optional()];
  });
  return Object.fromEntries(read) as { readonly [Name in keyof Shape]: z.ZodType };
}
