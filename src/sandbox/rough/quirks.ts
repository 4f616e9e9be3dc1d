import { type FaultRule, refuseFaults } from './faults.ts';
import { isBetween, milliseconds, oneOf, refuseSettings, share, type Values } from './values.ts';

/**
 * How rough the service is. Every quirk was met in the world or is left open by the specification; each is off in
 * `kind`, so that a test turns on what it asks about. In a file (`sandbox --quirks FILE`) the names are these, in YAML
 * or JSON; shares are from 0 to 1.
 */
export interface Quirks {
  /**
   * Reads come from the service's own caches: availability shows for so long after a change what was before it, the
   * reads of a product for half as long, and a page of the list is answered again as it was. Notifications are not late.
   */
  readonly cached_ms: number;
  /** What happens to `start_date` and `end_date`: ignored (answered from today), moved by 400 days, or rounded to whole weeks. */
  readonly dates: 'honoured' | 'ignored' | 'shifted' | 'weeks';
  /** The order and number of the dates in an answer of availability. */
  readonly date_order: 'ascending' | 'shuffled' | 'repeated';
  /** Whether `capped_at` names the end of a long answer, or the dates after the seventh are missing and nothing says so. */
  readonly date_cap: 'named' | 'silent';
  /** Answers that go wrong or lie: each fault with its share of the records or answers, and its time. */
  readonly faults: readonly FaultRule[];
  /** Calls a second that are let through; the rest are throttled. Null: as many as come. */
  readonly limit: number | null;
  /** `specification`: only the calls that the specification lists exist, the rest answers 404. */
  readonly endpoints: 'all' | 'specification';
  /** A product that nobody has rated: an average of null, or of 0, over a total of 0. */
  readonly unrated: 'null' | 'zero';
  /** The share of products whose list row, and the share whose single read, has `images: null` instead of an array. */
  readonly images_null: number;
  /** Whether `page_size` is honoured, or every page has ten rows. */
  readonly page_size: 'honoured' | 'ignored';
  /** Whether the rows of the list stand in another order at each walk. */
  readonly list_order: 'stable' | 'shifting';
  /** Whether an answer carries counters that differ at every read. */
  readonly counters: 'none' | 'differing';
  /** How far the service's `Date` is ahead of the clock. */
  readonly clock_skew_ms: number;
  /** How long an answer takes at least. */
  readonly slow_ms: number;
  /** The share of products whose texts carry terminal escapes, bells, overrides of direction and markup; one title is very long. */
  readonly escapes: number;
  /** The share of products with negative prices and image addresses of other schemes and private hosts. */
  readonly hostile_values: number;
  /** Whether the list ends, or its last page is answered again for every page after it. */
  readonly list_end: 'ends' | 'never';
}

/** The service as it would be nicest. */
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

/** Every quirk at once that goes with the others, each as a partner could meet it. */
export const all: Quirks = {
  cached_ms: 6_000,
  dates: 'weeks',
  date_order: 'shuffled',
  // Of whole weeks that are cut without a word, nobody could tell what they are about.
  date_cap: 'named',
  // For no reason, and without Retry-After.
  faults: [
    { kind: 'status', status: 503, of: 'answers', share: 0.01 },
    { kind: 'status', status: 429, of: 'answers', share: 0.005 },
    { kind: 'reset', of: 'answers', share: 0.005 },
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

/** What each quirk may be. */
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

/** Each quirk with what it may be, in words. */
export const quirkValues: readonly (readonly [name: string, says: string])[] = Object.entries(values).map(
  ([name, { says }]) => [name, says],
);

/** Returns why something from outside is no set of quirks; null: it is one, and every name that is missing is kind. */
export function refuseQuirks(given: unknown): string | null {
  return refuseSettings(values, 'quirk', given) ?? refuseFaults((given as Partial<Quirks>).faults ?? []);
}
