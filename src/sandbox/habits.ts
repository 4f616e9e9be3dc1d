/**
 * How rough the service is. Every habit was met in the world or is left open by the specification; each is off in
 * `kind`, so that a test turns on what it asks about. In a file (`sandbox --habits FILE`) the names are these, in YAML
 * or JSON; shares are from 0 to 1.
 */
export interface Habits {
  /** Reads of a product and of its dates come from the service's own cache: for so long after a change, as before it. */
  readonly cached_ms: number;
  /** What happens to `start_date` and `end_date`: ignored (answered from today), moved by 400 days, or rounded to whole weeks. */
  readonly dates: 'honoured' | 'ignored' | 'shifted' | 'weeks';
  /** The order and number of the dates in an answer of availability. */
  readonly date_order: 'ascending' | 'shuffled' | 'repeated';
  /** The share of calls answered 503 or 429 for no reason, without Retry-After, or cut by a reset. */
  readonly stray_503: number;
  readonly stray_429: number;
  readonly stray_reset: number;
  /** Calls a second that are let through; the rest are throttled. Null: as many as come. */
  readonly limit: number | null;
  /** `specification`: only the calls that the specification lists exist, the rest answers 404. */
  readonly endpoints: 'all' | 'specification';
  /** A product that nobody has rated: an average of null, or of 0, over a total of 0. */
  readonly unrated: 'null' | 'zero';
  /** The share of list rows and single reads whose `images` is null instead of an array. */
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
  /** The share of products whose texts carry terminal escapes, bells, overrides of direction and markup. */
  readonly escapes: number;
  /** The share of products with negative prices and image addresses of other schemes and private hosts. */
  readonly hostile_values: number;
  /** Whether the list ends, or its last page is answered again for every page after it. */
  readonly list_end: 'ends' | 'never';
}

/** The service as it would be nicest. */
export const kind: Habits = {
  cached_ms: 0,
  dates: 'honoured',
  date_order: 'ascending',
  stray_503: 0,
  stray_429: 0,
  stray_reset: 0,
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
