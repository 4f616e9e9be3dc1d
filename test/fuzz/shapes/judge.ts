import { rightReading } from './members.ts';
import type { Row, Shown } from './shown.ts';
import type { Case, Trial } from './trial.ts';

/**
 * Returns what is wrong with the outcome of a case; empty: nothing. `meant`: the same case with the value's right reading,
 * in the sandbox's own spelling; null if there is none.
 */
export function judge(asked: Case, trial: Trial, meant: Trial | null): string[] {
  const { is } = rightReading(asked, asked.value);
  const { before, after, verdict, said } = trial;
  const allowed = meant === null ? [before] : [before, meant.after];
  const wrong = permissive(allowed, after);
  if (is === 'unreadable') {
    if (verdict === 'holds') wrong.push('a check says holds');
    if (said.length === 0) wrong.push('silent');
    // A word for a sale status that nobody knows closes its product, up to the limit of records that may change alike.
    if (asked.scope === 'all' && !asked.path.endsWith('sale_status')) wrong.push(...closed(before, after));
  }
  if (is === 'read' && meant !== null) wrong.push(...otherThan(meant, trial));
  return wrong;
}

type Rule = (row: Row, before: readonly Row[]) => string | null;

/** Numbers that must not grow, nor become unknown while the row says that it is fresh. */
function notMore(column: string): Rule {
  return (row, before) => {
    const known = before.map((each) => each[column] ?? null);
    if (known.includes(null)) return null;
    const now = row[column] ?? null;
    if (now === null)
      return row.stale === 1 ? null : `${column} ${known[0]} became unknown, and the row says that it is fresh`;
    return known.some((each) => Number(now) <= Number(each)) ? null : `${column} ${known[0]} became ${now}`;
  };
}

/** Amounts that must not fall. */
function notCheaper(column: string): Rule {
  return (row, before) => {
    const now = row[column] ?? null;
    const known = before.map((each) => each[column] ?? null).filter((each) => each !== null);
    return now === null || known.length === 0 || known.some((each) => Number(now) >= Number(each))
      ? null
      : `${column} ${known[0]} became ${now}`;
  };
}

/** Values that only the service may change. */
function same(column: string): Rule {
  return (row, before) =>
    before.some((each) => each[column] === row[column])
      ? null
      : `${column} ${JSON.stringify(before[0]?.[column])} became ${JSON.stringify(row[column])?.slice(0, 80)}`;
}

/** Texts that have to be shown. */
function notLost(column: string): Rule {
  return (row, before) =>
    row[column] !== null || row.stale === 1 || before.some((each) => each[column] === null)
      ? null
      : `${column} is lost`;
}

/** A zone is the one that was, or another one of which nothing is sold longer: the rule about `until` holds that. */
const rules: Readonly<Record<string, readonly Rule[]>> = {
  products: [
    notMore('sellable'),
    ...['from_price', 'lowest_price', 'lowest_adult_price'].map(notCheaper),
    (row, before) =>
      row.prediscount_price === null ||
      before.some((each) => Number(each.prediscount_price) >= Number(row.prediscount_price))
        ? null
        : `prediscount_price became ${row.prediscount_price}`,
  ],
  bookable_days: [...['lowest_price', 'lowest_adult_price'].map(notCheaper), notMore('max_tickets')],
  availability_days: [
    ...['lowest_price', 'lowest_adult_price'].map(notCheaper),
    ...['availability', 'max_tickets', 'max_tickets_per_order'].map(notMore),
    (row, before) =>
      row.state !== 'available' || before.some(({ state }) => state === 'available') ? null : `became available`,
  ],
  availability_slots: [notMore('availability'), notMore('max_tickets'), notCheaper('retail_price')],
  slot_day: [notMore('until')],
  images: [same('credit')],
  experience_images: [same('credit')],
  checkout_information: [notLost('must_know')],
};

/**
 * A row that was not there is one more to sell or to show, but for a time that says that nothing of it is left. Dates may
 * come into the horizon, but not within minutes.
 */
const noNewRows: readonly string[] = [
  'bookable_days',
  'availability_slots',
  'images',
  'experience_images',
  'variants',
  'products',
];

/** Returns what readers are allowed more than by any of the earlier states, one of each kind. */
function permissive(allowed: readonly Shown[], after: Shown): string[] {
  const found = new Map<string, string>();
  const note = (view: string, key: string, what: string | null) => {
    const kind = `${view}: ${what?.replace(/\d[\d.]*|"[^"]*"/g, '…')}`;
    if (what !== null && !found.has(kind)) found.set(kind, `${view} ${key}: ${what}`);
  };
  for (const [view, rows] of Object.entries(after.rows)) {
    for (const [key, row] of rows) {
      const known = allowed.map((shown) => shown.rows[view]?.get(key)).filter((each) => each !== undefined);
      if (known.length === 0)
        note(view, key, noNewRows.includes(view) && row.availability !== 0 && row.max_tickets !== 0 ? 'is new' : null);
      else for (const rule of rules[view] ?? []) note(view, key, rule(row, known));
    }
  }
  return [...found.values()];
}

/** Dates until then may end while failed reads are repeated, for hours. */
const lastPassing = '2026-11-22';

/** Returns what a spelling of one member has closed. */
function closed(before: Shown, after: Shown): string[] {
  return ['products', 'bookable_days'].flatMap((view) => {
    const sold = (shown: Shown) =>
      [...(shown.rows[view]?.values() ?? [])].filter(
        ({ sellable = 1, date }) => sellable === 1 && !(String(date) <= lastPassing),
      ).length;
    const [was, is] = [sold(before), sold(after)];
    return is < was ? [`${view}: ${was} became ${is}`] : [];
  });
}

/** Returns where a spelling is shown otherwise than what it means. */
export function otherThan(meant: Trial, { after, verdict }: Trial): string[] {
  const wrong = verdict === meant.verdict ? [] : [`a check says ${verdict}, and ${meant.verdict} of what it means`];
  for (const [view, wanted] of Object.entries(meant.after.rows)) {
    const rows = after.rows[view] ?? new Map<string, Row>();
    const key = [...new Set([...wanted.keys(), ...rows.keys()])].find(
      (each) => JSON.stringify(rows.get(each)) !== JSON.stringify(wanted.get(each)),
    );
    if (key !== undefined) wrong.push(`${view} ${key}: ${differing(rows.get(key), wanted.get(key))}`);
  }
  return wrong;
}

function differing(row: Row | undefined, wanted: Row | undefined): string {
  if (row === undefined || wanted === undefined) return row === undefined ? 'is missing' : 'is not meant';
  const columns = Object.keys(row).filter((column) => row[column] !== wanted[column]);
  return columns.map((column) => `${column} is ${row[column]}, and means ${wanted[column]}`).join(', ');
}
