import type { Instant } from '../clock.ts';
import type { AvailabilityAnswer } from '../domain/catalogue/availability.ts';
import type { CheckoutInformation } from '../domain/catalogue/checkout-information.ts';
import type { Experience } from '../domain/catalogue/experience.ts';
import type { ProductEntry } from '../domain/catalogue/product.ts';
import type { Variant } from '../domain/catalogue/variant.ts';
import type { MayPublish } from '../domain/push/public-address.ts';
import { type LaneEntry, laneEntries } from '../domain/schedule/lanes.ts';
import type { ResourcePath } from '../domain/schedule/resources.ts';
import { parseExact } from '../domain/values/exact-json.ts';
import { type AvailabilityQuestion, decodeAvailability } from './decode-availability.ts';
import { decodeCheckoutInformation } from './decode-checkout-information.ts';
import { decodeExperiencePage } from './decode-experience.ts';
import { decodeProductDetail, decodeProductPage, type Page } from './decode-product.ts';
import { decodeVariants } from './decode-variants.ts';
import type { Http } from './http.ts';
import type { Limiter } from './limiter.ts';
import { type Failed, failed, type Outcome } from './outcome.ts';
import { exampleOf } from './refusal.ts';
import { WrongShape } from './shape.ts';

/** The result of a read: decoded, the same bytes as last time, or an outcome without an answer. */
export type Reading<Value> =
  | {
      readonly kind: 'read';
      readonly value: Value;
      readonly hash: string;
      readonly sent_at: Instant;
      readonly bytes: number;
    }
  | { readonly kind: 'unchanged'; readonly hash: string; readonly sent_at: Instant; readonly bytes: number }
  | Exclude<Outcome, { kind: 'answer' }>;

/** The service. Callers name the lane, or that a notification requested the call. */
export interface Upstream {
  in(entry: LaneEntry): ServiceReads;
  /** Bytes of JSON received since the start, inflated: of availability, and of everything. */
  received(): { readonly availability: number; readonly all: number };
}

/**
 * Every read endpoint of the service, through the one limiter. Rejects with the signal's reason when a caller aborts.
 */
export interface ServiceReads {
  /** Pages count from 1, however the service counts them. `ordered`: in the order of popularity, as the profile asks for it. */
  productPage(
    page: number,
    language: string,
    currency: string,
    signal: AbortSignal,
    ordered?: 'ordered',
  ): Promise<Reading<Page<ProductEntry>>>;
  experiencePage(
    page: number,
    language: string,
    currency: string,
    signal: AbortSignal,
  ): Promise<Reading<Page<Experience>>>;
  product(read: ReadRequest & { currency: string }): Promise<Reading<ProductEntry>>;
  checkoutInformation(read: ReadRequest): Promise<Reading<CheckoutInformation>>;
  variants(read: ReadRequest): Promise<Reading<Variant[]>>;
  availability(
    read: ReadRequest & { from: string; to: string; currency: string },
  ): Promise<Reading<AvailabilityAnswer>>;
}

export interface ReadRequest {
  readonly product_id: number;
  readonly language: string;
  /** The hash of the stored body: if the same body comes again, nothing is parsed. */
  readonly known_hash: string | null;
  readonly signal: AbortSignal;
  /** Called when the request is sent. */
  readonly sent?: (() => void) | undefined;
}

/** The part of the service profile that says how to ask (service-facts.md; every value is configuration). */
export interface Profile {
  readonly paths: Readonly<Record<ResourcePath, string | null>>;
  readonly parameters: Readonly<Record<'page' | 'page_size' | 'language' | 'currency' | 'from' | 'to', string>>;
  /** The number of a list's first page. */
  readonly first_page: number;
  readonly page_size: number;
  /** A query parameter with its value; null: none. */
  readonly list_order: string | null;
  readonly timeouts: { readonly total: number; readonly list: number };
  readonly max_bytes: { readonly list: number; readonly product: number };
}

export interface UpstreamOptions {
  readonly http: Pick<Http, 'get'>;
  readonly limiter: Pick<Limiter, 'run'>;
  readonly profile: Profile;
  /** Filters of the product list, passed through (`service.select`). */
  readonly select: Readonly<Record<string, string | readonly string[]>>;
  /** Whether the distributor's commission is mirrored. */
  readonly commission: boolean;
  /** Decides which image URLs are given to readers. */
  readonly mayPublish: MayPublish;
  /** Returns the start of an answer for a person to see, without the key; absent: there is no key to hide. */
  readonly quote?: (text: string) => string;
}

/** The decoder's generation: part of every body hash, so that a new one reads unchanged bodies again. */
const decoderGeneration = '2';

export function createUpstream({
  http,
  limiter,
  profile,
  select,
  commission,
  mayPublish,
  quote = (text) => exampleOf(text, null),
}: UpstreamOptions): Upstream {
  const { paths, parameters } = profile;
  const received = { availability: 0, all: 0 };

  const read = reader({ http, limiter, profile, received, quote });
  const inText = (language: string) => ({ [parameters.language]: language });
  const inBoth = (language: string, currency: string) => ({ ...inText(language), [parameters.currency]: currency });
  const paged = (page: number) => ({
    [parameters.page]: String(page - 1 + profile.first_page),
    [parameters.page_size]: String(profile.page_size),
  });
  const [orderName = '', orderValue = ''] = profile.list_order?.split('=') ?? [];
  const inOrder = orderName === '' || orderName in select ? {} : { [orderName]: orderValue };

  const readsIn = (entry: LaneEntry): ServiceReads => ({
    productPage: (page, language, currency, signal, ordered) =>
      read(
        entry,
        paths.products,
        { ...select, ...inBoth(language, currency), ...paged(page), ...(ordered === undefined ? {} : inOrder) },
        // Whether a language is ignored the first page shows; a later one may be short and have none of its texts.
        (text) => decodeProductPage(parseExact(text), currency, mayPublish, page === 1 ? language : null),
        { list: true, signal },
      ),
    experiencePage: (page, language, currency, signal) =>
      read(
        entry,
        paths.experiences,
        { ...inBoth(language, currency), ...paged(page) },
        (text) => decodeExperiencePage(parseExact(text), currency),
        { list: true, signal },
      ),
    product: ({ product_id, language, currency, known_hash, signal }) =>
      read(
        entry,
        paths.product,
        inBoth(language, currency),
        (text) => decodeProductDetail(parseExact(text), product_id, currency, mayPublish),
        { product_id, known_hash, signal },
      ),
    checkoutInformation: ({ product_id, language, known_hash, signal }) =>
      read(entry, paths.checkout_information, inText(language), (text) => decodeCheckoutInformation(parseExact(text)), {
        product_id,
        known_hash,
        signal,
      }),
    variants: ({ product_id, language, known_hash, signal }) =>
      read(entry, paths.variants, inText(language), (text) => decodeVariants(parseExact(text)), {
        product_id,
        known_hash,
        signal,
      }),
    availability: async ({ product_id, language, from, to, currency, known_hash, signal, sent }) => {
      const question: AvailabilityQuestion = { from, to, currency, commission };
      const reading = await read(
        entry,
        paths.availability,
        { ...inBoth(language, currency), [parameters.from]: from, [parameters.to]: to },
        (text) => decodeAvailability(parseFast(text), question),
        // An answer without dates reads the same whatever the range: the range is part of what was said.
        { product_id, known_hash, salt: `${commission ? 'c' : ''}${from}/${to}`, signal, sent },
      );
      if ('bytes' in reading) received.availability += reading.bytes;
      return reading;
    },
  });
  const reads = new Map(laneEntries.map((entry) => [entry, readsIn(entry)]));
  return { in: (entry) => reads.get(entry) ?? readsIn(entry), received: () => ({ ...received }) };
}

/** One read through the limiter: decoded, or found unchanged by its hash. `received` counts its bytes. */
function reader({
  http,
  limiter,
  profile,
  received,
  quote,
}: Pick<UpstreamOptions, 'http' | 'limiter' | 'profile'> & {
  readonly received: { all: number };
  readonly quote: (text: string) => string;
}) {
  return async function read<Value>(
    entry: LaneEntry,
    path: string | null,
    query: Record<string, string | readonly string[]>,
    decode: (text: string) => Value,
    {
      product_id = null,
      known_hash = null,
      list = false,
      salt = '',
      signal,
      sent,
    }: {
      product_id?: number | null;
      known_hash?: string | null;
      list?: boolean;
      salt?: string;
      signal: AbortSignal;
      sent?: (() => void) | undefined;
    },
  ): Promise<Reading<Value>> {
    if (path === null) throw new Error('the service profile has no path for this resource');
    const limits = list
      ? { deadline_ms: profile.timeouts.list, max_bytes: profile.max_bytes.list }
      : { deadline_ms: profile.timeouts.total, max_bytes: profile.max_bytes.product };
    const prefix = `${decoderGeneration}${salt}:`;
    const known = known_hash?.startsWith(prefix) ? known_hash.slice(prefix.length) : null;
    const address = product_id === null ? path : path.replaceAll('{product_id}', String(product_id));
    const ask = async (turn: AbortSignal): Promise<Reading<Value>> => {
      sent?.();
      const outcome = await http.get(address, query, { ...limits, signal: turn, known_hash: known });
      if (outcome.kind !== 'answer') return outcome;
      const { sent_at, bytes } = outcome;
      received.all += bytes;
      const hash = `${prefix}${outcome.hash}`;
      if (outcome.hash === known) return { kind: 'unchanged', hash, sent_at, bytes };
      try {
        return { kind: 'read', value: decode(outcome.text), hash, sent_at, bytes };
      } catch (error) {
        return undecodable(error, outcome.text, quote);
      }
    };
    return limiter.run(ask, signal, entry, product_id ?? path, path);
  };
}

/**
 * Sixteen digits or more in a number: beyond what a JavaScript number holds exactly. Written out, sixteen characters are
 * skipped at a time where one is no digit, which takes a tenth of the time of a counted repetition.
 */
const longNumber = new RegExp('[0-9.]'.repeat(16));

/**
 * Parses with `parseExact` if a number needs it, else with JSON.parse, which is several times as fast and then exact
 * too.
 */
function parseFast(text: string): unknown {
  return longNumber.test(text) ? parseExact(text) : JSON.parse(text);
}

/** Returns the failure that an answer is whose text cannot be decoded; any other error is thrown again. */
export function undecodable(error: unknown, text: string, quote: (text: string) => string): Failed {
  if (error instanceof WrongShape) return { ...failed('wrong-shape', error.message), example: quote(text) };
  if (error instanceof SyntaxError)
    return failed('not-json', `the service answers with text that is no JSON: ${quote(text)}`);
  // A body nested 200,000 levels deep parses, and overflows the stack when it is printed again.
  if (error instanceof RangeError) return failed('too-deep', 'the body is nested too deeply');
  throw error;
}
