import { type FaultRule, refuseFaults } from './faults.ts';
import { type Accepted, isBetween, oneOf, refuseSettings, share, type Values } from './settings.ts';

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

/** A quirk: the accepted values, the ideal one, and a realistic one that goes with those of the other quirks. */
type Quirk<Value> = Values<Value> & { readonly ideal: Value; readonly realistic: Value };

function quirk<Value>(values: Values<Value>, ideal: NoInfer<Value>, realistic: NoInfer<Value>): Quirk<Value> {
  return { ...values, ideal, realistic };
}

const milliseconds: Values<number> = {
  says: 'milliseconds from 0 to 3600000',
  fits: (value) => isBetween(value, 0, 3_600_000),
};

/**
 * The fault profile of the service. Every quirk was seen in practice, or is left open by the specification. Each is off
 * in the ideal profile, so that a test turns on only those that it needs. A file (`sandbox --quirks FILE`) has the same
 * names, in YAML or JSON. Shares are from 0 to 1.
 */
const settings = {
  /**
   * Milliseconds for which reads come from the service's own caches. Availability shows the state before a change for
   * this long, the reads of a product for half as long. A page of the list is repeated from the cache. Notifications
   * are not late.
   */
  cached_ms: quirk(milliseconds, 0, 6_000),
  /**
   * The treatment of `start_date` and `end_date`: honoured, ignored (answered from today), moved by 400 days, or
   * rounded to whole weeks.
   */
  dates: quirk(oneOf('honoured', 'ignored', 'shifted', 'weeks'), 'honoured', 'weeks'),
  /** The order and number of the dates in an answer of availability. */
  date_order: quirk(oneOf('ascending', 'shuffled', 'repeated'), 'ascending', 'shuffled'),
  /**
   * The treatment of long answers: `capped_at` names the end, or the dates after the seventh are missing without
   * notice. If silently cut answers also covered whole weeks, no reader could tell their dates.
   */
  date_cap: quirk(oneOf('named', 'silent'), 'named', 'named'),
  /** Faults and lies in answers, each with its share of the records or answers, and its time. */
  faults: quirk<readonly FaultRule[]>(
    { says: 'a list of faults', fits: (value): value is FaultRule[] => Array.isArray(value) },
    [],
    [
      // A refusal without a cause, and without Retry-After.
      { kind: 'status', status: 503, of: 'answers', share: 0.01 },
      { kind: 'status', status: 429, of: 'answers', share: 0.005 },
      { kind: 'reset', of: 'answers', share: 0.005 },
      // The same values, spelt otherwise: half of the products come and go every three hours, so both spellings meet.
      ...respelt,
    ],
  ),
  /** The most calls a second; further calls are throttled. Null: no limit. */
  limit: quirk<number | null>(
    {
      says: 'whole calls a second, or null',
      fits: (value): value is number | null =>
        value === null || (Number.isInteger(value) && isBetween(value, 1, 100_000)),
    },
    null,
    30,
  ),
  /** `specification`: only the calls listed in the specification exist; all others answer 404. */
  endpoints: quirk(oneOf('all', 'specification'), 'all', 'specification'),
  /** The rating of a product without ratings: an average of null, or of 0, with a total of 0. */
  unrated: quirk(oneOf('null', 'zero'), 'null', 'zero'),
  /**
   * The share of products whose list row has `images: null` instead of an array, and the share whose single read has
   * it.
   */
  images_null: quirk(share, 0, 0.1),
  /** The treatment of `page_size`: honoured, or every page has ten rows. */
  page_size: quirk(oneOf('honoured', 'ignored'), 'honoured', 'ignored'),
  /** `shifting`: the rows of the list are in another order at each walk. */
  list_order: quirk(oneOf('stable', 'shifting'), 'stable', 'shifting'),
  /** `differing`: an answer has counters that differ at every read. */
  counters: quirk(oneOf('none', 'differing'), 'none', 'differing'),
  /** Milliseconds by which the service's `Date` header is ahead of the clock. */
  clock_skew_ms: quirk<number>(
    { says: 'milliseconds, ahead or (negative) behind', fits: (value) => isBetween(value, -1e13, 1e13) },
    0,
    45_000,
  ),
  /** The least milliseconds that an answer takes. */
  slow_ms: quirk(milliseconds, 0, 20),
  /**
   * The share of products whose texts contain terminal escapes, bells, overrides of direction and markup. One title is
   * very long.
   */
  escapes: quirk(share, 0, 0.1),
  /** The share of products with negative prices and image addresses of other schemes and private hosts. */
  hostile_values: quirk(share, 0, 0.05),
  /** `never`: the list has no end. Every page is filled up with its last rows. */
  list_end: quirk(oneOf('ends', 'never'), 'ends', 'never'),
};

export type Quirks = { readonly [Name in keyof typeof settings]: Accepted<(typeof settings)[Name]> };

function profile(which: 'ideal' | 'realistic'): Quirks {
  return Object.fromEntries(Object.entries(settings).map(([name, each]) => [name, each[which]])) as unknown as Quirks;
}

/** The ideal profile: no quirks. */
export const kind = profile('ideal');
/** All quirks that can be combined, each realistic. */
export const all = profile('realistic');

/** Each quirk with a description of its values. */
export const quirkValues: readonly (readonly [name: string, says: string])[] = Object.entries(settings).map(
  ([name, { says }]) => [name, says],
);

/**
 * Returns the reason why a value from outside is not a set of quirks; null: it is one. Missing names keep their ideal
 * value.
 */
export function refuseQuirks(given: unknown): string | null {
  return refuseSettings(settings, 'quirk', given) ?? refuseFaults((given as Partial<Quirks>).faults ?? []);
}
