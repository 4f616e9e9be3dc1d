import type { FaultTerms } from './settings.ts';

type Members = Readonly<Record<string, unknown>>;

/** `other`: the answer about another product, for `another-product`. */
type Lying = FaultTerms & { readonly other?: string | undefined };

/**
 * Lies: answers that are complete, well-formed and wrong. Each distorts one record: a row of a list, the product of its
 * own read, or the answer about its dates, variants or checkout information. Records of other kinds stay as they are.
 */
const lies = {
  'no-dates': (record) => ('dates' in record ? { ...record, sales_enabled: true, ...noDates } : record),
  'off-sale': (record) => ({
    ...record,
    ...('sale_status' in record && closed),
    ...('sales_enabled' in record && { sales_enabled: false }),
    ...('dates' in record && noDates),
  }),
  prices: (record, { factor = 1, amount }) =>
    changed(record, (name, value) =>
      typeof value === 'number' && amounts.test(name) ? (amount ?? Math.round(value * factor * 100) / 100) : value,
    ),
  currency: (record, { currency }) => changed(record, (name, value) => (name === 'currency' ? currency : value)),
  'no-texts': (record) =>
    changed(record, (name, value) => (typeof value === 'string' && texts.has(name) ? null : value)),
  respelt: (record, { member = '', as, body = 'null' }) => {
    const spell = as === undefined ? () => JSON.parse(body) as unknown : (spellings[as] ?? ((value) => value));
    return replaced(record, member.split('.'), spell);
  },
  'another-product': (record, { other }) =>
    'dates' in record && other !== undefined ? (JSON.parse(other) as Members) : record,
  'cut-dates': (record, { left = 3 }) => withDates(record, (dates) => dates.slice(0, left)),
  'no-weekends': (record) =>
    withDates(record, (dates) => dates.filter(({ date }) => ![0, 6].includes(new Date(`${date}T12:00Z`).getUTCDay()))),
  'cut-times': (record, { left = 1 }) =>
    withDates(record, (dates) =>
      dates.map(({ timeslots, ...date }) => ({ ...date, timeslots: (timeslots as Members[]).slice(0, left) })),
    ),
  'cut-texts': (record, { left = 4 }) =>
    changed(record, (name, value) =>
      typeof value === 'string' && (texts.has(name) || name === 'title') ? value.slice(0, left) : value,
    ),
  'one-value': (record, { member, text }) =>
    changed(record, (name, value) => (name === member && typeof value === 'string' ? text : value)),
  'one-image': (record) =>
    changed(record, (name, value) => (name === 'images' && Array.isArray(value) && value.length > 0 ? [image] : value)),
  'one-variant': (record) =>
    'variants' in record && !('dates' in record)
      ? { ...record, variants: (record.variants as Members[]).slice(0, 1) }
      : record,
  'no-variants': (record) => ('variants' in record && !('dates' in record) ? { ...record, variants: [] } : record),
} as const satisfies Readonly<Record<string, (record: Members, terms: Lying) => Members>>;

export type LieKind = keyof typeof lies;
export const lieKinds = Object.keys(lies) as LieKind[];

/** Other ways to write the same value. A value that a spelling does not fit stays. */
const spellings: Readonly<Record<string, (value: unknown) => unknown>> = {
  text: (value) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : value),
  number: (value) => (typeof value === 'boolean' ? Number(value) : value),
  yes: (value) => (typeof value === 'boolean' ? (value ? 'Yes' : 'No') : value),
  upper: (value) => (typeof value === 'string' ? value.toUpperCase() : value),
  lower: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  seconds: (value) => (isTime(value) ? `${value}:00` : value),
  short: (value) => (isTime(value) ? value.replace(/^0/, '') : value),
  halves: (value) => (isTime(value) ? halfDay(value) : value),
  sum: (value) => (typeof value === 'number' && value > 0 ? value - value * Number.EPSILON : value),
  named: (value) => (typeof value === 'string' ? { name: value } : value),
  list: (value) => (typeof value === 'string' ? [value] : value),
  signed: (value) =>
    typeof value === 'string' ? `${value}${value.includes('?') ? '&' : '?'}Expires=1700000000&Signature=none` : value,
};
export const spellingNames = Object.keys(spellings);

function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d\d:\d\d$/.test(value);
}

/** Returns a time on a clock of twelve hours. */
function halfDay(time: string): string {
  const hour = Number(time.slice(0, 2));
  return `${hour % 12 === 0 ? 12 : hour % 12}${time.slice(2)} ${hour < 12 ? 'AM' : 'PM'}`;
}

/** Returns a copy in which the values at a path are spelt otherwise. `name[]` stands for each element of a list. */
function replaced(
  record: Members,
  [step = '', ...path]: readonly string[],
  spell: (value: unknown) => unknown,
): Members {
  const name = step.replace(/\[\]$/, '');
  const value = record[name];
  if (value === undefined) return record;
  const inside = (each: unknown) =>
    path.length === 0 ? spell(each) : isRecord(each) ? replaced(each, path, spell) : each;
  return { ...record, [name]: step.endsWith('[]') && Array.isArray(value) ? value.map(inside) : inside(value) };
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withDates(record: Members, kept: (dates: readonly Members[]) => readonly Members[]): Members {
  return 'dates' in record ? { ...record, dates: kept(record.dates as Members[]) } : record;
}

const address = 'https://images.sandbox.invalid/images/content/placeholder.jpg';
const image = { small: address, medium: address, large: address, extra_large: address, alt_text: null, credit: null };
const noDates = { dates: [], variants: [] };
const closed = {
  sale_status: 'unavailable',
  sale_status_reason: 'temporary_closure',
  sale_status_expected_reopen: null,
};
const amounts = /(^|_)price(_|$)|_(in|ex)cl_vat$/;
/** The title is not among them, because a row without a title is refused anyway. */
const texts = new Set([
  'tagline',
  'summary',
  'description',
  'whats_included',
  'whats_excluded',
  'must_know',
  'good_to_know',
  'pre_purchase',
  'usage',
  'included',
  'excluded',
  'post_purchase',
]);

/**
 * Returns an answer in which every record that is hit is distorted by a lie. `isHit` is called with the id of a row, or
 * with null for the record that the whole answer is about.
 */
export function lied(
  body: string,
  { kind, ...terms }: Lying & { readonly kind: LieKind },
  isHit: (id: number | null) => boolean,
): string {
  const answer = JSON.parse(body) as Members;
  const lie = (record: Members, id: number | null) => (isHit(id) ? lies[kind](record, terms) : record);
  for (const list of ['products', 'experiences', 'tags']) {
    const rows = answer[list];
    if (!Array.isArray(rows)) continue;
    return JSON.stringify({ ...answer, [list]: (rows as Members[]).map((row) => lie(row, Number(row.id))) });
  }
  const single = ['product', 'experience'].find((name) => name in answer);
  return JSON.stringify(
    single === undefined ? lie(answer, null) : { ...answer, [single]: lie(answer[single] as Members, null) },
  );
}

/** Returns a copy in which `change` has replaced the value of every member, at any depth. */
function changed(record: Members, change: (name: string, value: unknown) => unknown): Members {
  return JSON.parse(JSON.stringify(record), change) as Members;
}
