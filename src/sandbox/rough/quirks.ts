import { type FaultRule, refuseFaults } from './faults.ts';
import { isBetween, milliseconds, oneOf, refuseSettings, share, type Values } from './values.ts';

/**
 * The fault profile of the service. Every quirk was seen in practice, or is left open by the specification. Each is off
 * in the ideal profile `kind`, so that a test turns on only those that it needs. A file (`sandbox --quirks FILE`) has
 * the same names, in YAML or JSON. Shares are from 0 to 1.
 */
export interface Quirks {
  /**
   * Milliseconds for which reads come from the service's own caches. Availability shows the state before a change for
   * this long, the reads of a product for half as long. A page of the list is repeated from the cache. Notifications
   * are not late.
   */
  readonly cached_ms: number;
  /**
   * The treatment of `start_date` and `end_date`: honoured, ignored (answered from today), moved by 400 days, or
   * rounded to whole weeks.
   */
  readonly dates: 'honoured' | 'ignored' | 'shifted' | 'weeks';
  /** The order and number of the dates in an answer of availability. */
  readonly date_order: 'ascending' | 'shuffled' | 'repeated';
  /**
   * The treatment of long answers: `capped_at` names the end, or the dates after the seventh are missing without
   * notice.
   */
  readonly date_cap: 'named' | 'silent';
  /** Faults and lies in answers, each with its share of the records or answers, and its time. */
  readonly faults: readonly FaultRule[];
  /** The most calls a second; further calls are throttled. Null: no limit. */
  readonly limit: number | null;
  /** `specification`: only the calls listed in the specification exist; all others answer 404. */
  readonly endpoints: 'all' | 'specification';
  /** The rating of a product without ratings: an average of null, or of 0, with a total of 0. */
  readonly unrated: 'null' | 'zero';
  /**
   * The share of products whose list row has `images: null` instead of an array, and the share whose single read has
   * it.
   */
  readonly images_null: number;
  /** The treatment of `page_size`: honoured, or every page has ten rows. */
  readonly page_size: 'honoured' | 'ignored';
  /** `shifting`: the rows of the list are in another order at each walk. */
  readonly list_order: 'stable' | 'shifting';
  /** `differing`: an answer has counters that differ at every read. */
  readonly counters: 'none' | 'differing';
  /** Milliseconds by which the service's `Date` header is ahead of the clock. */
  readonly clock_skew_ms: number;
  /** The least milliseconds that an answer takes. */
  readonly slow_ms: number;
  /**
   * The share of products whose texts contain terminal escapes, bells, overrides of direction and markup. One title is
   * very long.
   */
  readonly escapes: number;
  /** The share of products with negative prices and image addresses of other schemes and private hosts. */
  readonly hostile_values: number;
  /** `never`: the list has no end. Every page is filled up with its last rows. */
  readonly list_end: 'ends' | 'never';
}

/** The ideal profile: no quirks. */
export const kind: Quirks = {
  cached_ms: 0,
  dates: 'honoured',
  date_order: 'ascending',
  date_cap: 'named',
  faults: [],
  limit: null,
  endpoints: 'all',
  unrated: 'null',
  images_null: 0,
  page_size: 'honoured',
  list_order: 'stable',
  counters: 'none',
  clock_skew_ms: 0,
  slow_ms: 0,
  escapes: 0,
  hostile_values: 0,
  list_end: 'ends',
};

/** Members with another spelling that means the same. */
const spellings = [
  ['sale_status', 'upper'], ['price', 'text'], ['timezone', 'lower'], ['images[].credit', 'named'],
  ['has_timeslots', 'yes'], ['has_dynamic_pricing', 'number'], ['sales_enabled', 'text'], ['max_tickets_per_order', 'text'],
  ['dates[].availability', 'text'], ['dates[].timeslots[].time', 'halves'], ['dates[].timeslots[].timezone', 'lower'],
  ['dates[].timeslots[].availability', 'text'], ['dates[].timeslots[].variants[].max_tickets', 'text'],
  ['dates[].timeslots[].variants[].price_mediation.total_retail_price_incl_vat', 'sum'],
] as const; // biome-ignore format: a table
const respelt = spellings.map(
  ([member, as], index): FaultRule => ({
    kind: 'respelt',
    ...{ member, as, share: 0.5, flap_ms: 3 * 3_600_000, from_ms: index * 600_000 },
  }),
);

/** All quirks that can be combined, each realistic. */
export const all: Quirks = {
  cached_ms: 6_000,
  dates: 'weeks',
  date_order: 'shuffled',
  // If silently cut answers also covered whole weeks, no reader could tell their dates.
  date_cap: 'named',
  // A refusal without a cause, and without Retry-After.
  faults: [
    { kind: 'status', status: 503, of: 'answers', share: 0.01 },
    { kind: 'status', status: 429, of: 'answers', share: 0.005 },
    { kind: 'reset', of: 'answers', share: 0.005 },
    // The same values, spelt otherwise: half of the products come and go every three hours, so both spellings meet.
    ...respelt,
  ],
  limit: 30,
  endpoints: 'specification',
  unrated: 'zero',
  images_null: 0.1,
  page_size: 'ignored',
  list_order: 'shifting',
  counters: 'differing',
  clock_skew_ms: 45_000,
  slow_ms: 20,
  escapes: 0.1,
  hostile_values: 0.05,
  list_end: 'never',
};

/** The accepted values of each quirk. */
const values: Readonly<Record<keyof Quirks, Values>> = {
  cached_ms: milliseconds,
  dates: oneOf('honoured', 'ignored', 'shifted', 'weeks'),
  date_order: oneOf('ascending', 'shuffled', 'repeated'),
  date_cap: oneOf('named', 'silent'),
  faults: { says: 'a list of faults', fits: Array.isArray },
  limit: {
    says: 'whole calls a second, or null',
    fits: (value) => value === null || (Number.isInteger(value) && isBetween(value, 1, 100_000)),
  },
  endpoints: oneOf('all', 'specification'),
  unrated: oneOf('null', 'zero'),
  images_null: share,
  page_size: oneOf('honoured', 'ignored'),
  list_order: oneOf('stable', 'shifting'),
  counters: oneOf('none', 'differing'),
  clock_skew_ms: {
    says: 'milliseconds, ahead or (negative) behind',
    fits: (value) => isBetween(value, -1e13, 1e13),
  },
  slow_ms: milliseconds,
  escapes: share,
  hostile_values: share,
  list_end: oneOf('ends', 'never'),
};

/** Each quirk with a description of its values. */
export const quirkValues: readonly (readonly [name: string, says: string])[] = Object.entries(values).map(
  ([name, { says }]) => [name, says],
);

/**
 * Returns the reason why a value from outside is not a set of quirks; null: it is one. Missing names keep their ideal
 * value.
 */
export function refuseQuirks(given: unknown): string | null {
  return refuseSettings(values, 'quirk', given) ?? refuseFaults((given as Partial<Quirks>).faults ?? []);
}
