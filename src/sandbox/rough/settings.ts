/** The values that a setting accepts: as a description, and as a test. */
export interface Values<Value> {
  readonly says: string;
  fits(value: unknown): value is Value;
}

export type Accepted<Setting> = Setting extends Values<infer Value> ? Value : never;

export const share: Values<number> = { says: 'a share from 0 to 1', fits: (value) => isBetween(value, 0, 1) };

export function oneOf<const Word extends string>(...words: readonly Word[]): Values<Word> {
  return { says: words.join(' or '), fits: (value): value is Word => words.includes(value as Word) };
}

export function isBetween(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && value >= least && value <= most;
}

/**
 * Returns the reason why a value from outside is not a set of these settings; null: it is one. `called`: the word for
 * one setting.
 */
export function refuseSettings(
  settings: Readonly<Record<string, Values<unknown>>>,
  called: string,
  given: unknown,
): string | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return 'expected names and values';
  for (const [name, value] of Object.entries(given)) {
    const values = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (values === undefined) return `there is no ${called} ${name}; there are ${Object.keys(settings).join(', ')}`;
    if (!values.fits(value)) return `${name} is ${JSON.stringify(value)}; expected ${values.says}`;
  }
  return null;
}

const fromZero: Values<number> = { says: 'a number from 0', fits: (value) => isBetween(value, 0, Infinity) };
const ms: Values<number> = { ...fromZero, says: 'milliseconds' };
const count: Values<number> = {
  says: 'a whole number',
  fits: (value): value is number => Number.isSafeInteger(value) && fromZero.fits(value),
};
const text: Values<string> = { says: 'a text', fits: (value) => typeof value === 'string' };

/** The members of a fault beside its kind: the requests that it hits, its time, and its details. Each may be left out. */
export const terms = {
  /** A regular expression over path and query; absent: every request. */
  path: { says: 'a regular expression over path and query', fits: isPattern } as Values<string>,
  /** Absent: any method. */
  method: oneOf('GET', 'PUT', 'POST'),
  /** The share of requests that it hits; absent: all. Records are drawn by the seed, and records of one product together. */
  share,
  /**
   * `records` (default): hits the same records for as long as the fault lasts. `answers`: each answer is drawn
   * independently.
   */
  of: oneOf('records', 'answers'),
  /** Begin and end, in milliseconds since it was set; absent: at once, and never. */
  from_ms: ms,
  until_ms: ms,
  /** Makes the fault come and go: present for this many milliseconds, absent for as many, and so on. */
  flap_ms: { says: 'milliseconds from 1', fits: (value) => isBetween(value, 1, Infinity) } as Values<number>,
  /** For `prices`: the factor of every amount. */
  factor: fromZero,
  /** For `prices`: the value that replaces every amount. */
  amount: fromZero,
  /** For `cut-dates`, `cut-times` and `cut-texts`: how many dates, times of a date, or characters of a text are left. */
  left: count,
  /** For `one-value`: the text that every record has there. */
  text,
  /** For `currency`: the currency code in place of the correct one. */
  currency: { says: 'a code of three letters', fits: (value) => /^[A-Z]{3}$/.test(String(value)) } as Values<string>,
  status: {
    says: 'a status from 200 to 599',
    fits: (value) => count.fits(value) && isBetween(value, 200, 599),
  } as Values<number>,
  headers: { says: 'names and texts', fits: isTexts } as Values<Readonly<Record<string, string>>>,
  /** The body for the kind `status`. For `respelt` without `as`: the JSON that replaces the value. */
  body: text,
  /**
   * `taken`: a PUT or POST takes effect although its answer is spoilt. Default: `taken`; for the kind `status`: `none`.
   */
  effect: oneOf('taken', 'none'),
  /** The number of matching requests to skip first. */
  after: count,
  /** The number of requests to hit, after which it never hits again. */
  times: count,
  /**
   * For `without`: the member to remove from all objects of the answer. For `renamed`: the member to rename in the rows
   * of a list. For `respelt`: the path of the member in a record, like `dates[].availability`. For `one-value`: the
   * member with the same text everywhere.
   */
  member: text,
  /** For `renamed`: the new name of the member. For `respelt`: the spelling. */
  as: text,
  /**
   * Number of rows of the page. `renamed`: the first rows that are changed (absent: all). `fewer-rows`: the rows that
   * are left. `more-counted`: the rows that the total counts in addition.
   */
  rows: count,
  /** Milliseconds: for `delay` and `hang` in all, for `drip` per byte. */
  ms,
};

export type FaultTerms = { readonly [Name in keyof typeof terms]?: Accepted<(typeof terms)[Name]> };

function isPattern(value: unknown): value is string {
  try {
    return typeof value === 'string' && new RegExp(value) !== null;
  } catch {
    return false;
  }
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.values(value).every((each) => typeof each === 'string');
}
