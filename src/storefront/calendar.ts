import { dateOf, dayNumber } from './arguments.ts';
import { badArgument } from './problems.ts';
import { columnsOf, type ViewRow } from './views.ts';

type Known = ViewRow<'availability_days'>;

/** A date that was asked for and that the mirror says nothing about: never read, beyond the horizon, or past. Not sold out. */
export type UnknownDay = Readonly<
  Pick<Known, 'product_id' | 'date' | 'currency'> & { state: 'unknown' } & {
    [Column in Exclude<keyof Known, 'product_id' | 'date' | 'currency' | 'state'>]: null;
  }
>;

export type Day = Known | UnknownDay;

/** The dates asked for, both included; without one the calendar begins, or ends, with what is known. */
export interface Span {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Columns wanted for each date: fewer columns take less time. `date` is always included. */
export interface OfDay<Column extends keyof Day> {
  readonly columns: readonly Column[];
}

const dayColumns = columnsOf('availability_days').map(([name]) => name);

/** Returns the columns asked for, all without any, and refuses others. */
export function chosenColumns(asked: unknown): readonly string[] {
  if (asked === undefined) return dayColumns;
  const unknown = Array.isArray(asked) ? asked.find((name) => !dayColumns.includes(name)) : asked;
  if (!Array.isArray(asked) || unknown !== undefined)
    throw badArgument(`columns: found ${JSON.stringify(unknown)}`, `give a list of ${dayColumns.join(', ')}`);
  return dayColumns.filter((name) => name === 'date' || asked.includes(name));
}

/** A calendar of two years is more than the service sells. */
const mostDays = 731;

/** Refuses dates that there are not, and a span that ends before it begins or is too long. */
export function checkSpan({ from, to }: Span): void {
  const first = from === undefined ? null : dayNumber('from', from);
  const last = to === undefined ? null : dayNumber('to', to);
  if (first === null || last === null) return;
  if (last < first) throw badArgument(`to (${to}) is before from (${from})`, 'give the earlier date as from');
  if (last - first >= mostDays) throw badArgument(`${from} to ${to} is too long`, `ask for at most ${mostDays} days`);
}

/** Returns the days asked for, in order and without a gap. */
export function withoutGaps(
  known: Known[],
  { from, to, columns }: Span & { readonly columns: readonly string[] },
  of: { product_id: number; currency: string },
): Day[] {
  const begin = from ?? known[0]?.date;
  const end = to ?? known.at(-1)?.date;
  if (begin === undefined || end === undefined || begin > end) return known;
  const first = dayNumber('from', begin);
  const count = dayNumber('to', end) - first + 1;
  if (known.length === count) return known;
  const [oldest, newest] = [known[0], known.at(-1)];
  const unknown = (day: number) => unknownDay({ ...of, date: dateOf(day) }, columns);
  // Most often dates are asked for beyond what is known, and that has no gap itself.
  if (oldest !== undefined && newest !== undefined && count <= mostDays) {
    const before = dayNumber('from', oldest.date) - first;
    const after = first + count - 1 - dayNumber('to', newest.date);
    if (before + known.length + after === count)
      return [...daysFrom(first, before, unknown), ...known, ...daysFrom(first + count - after, after, unknown)];
  }
  const byDate = new Map(known.map((day) => [day.date, day]));
  return daysFrom(first, Math.min(count, mostDays), (day) => byDate.get(dateOf(day)) ?? unknown(day));
}

function daysFrom<Each>(first: number, count: number, each: (day: number) => Each): Each[] {
  return Array.from({ length: count }, (_, index) => each(first + index));
}

function unknownDay(
  known: Readonly<Record<'product_id' | 'date' | 'currency', number | string>>,
  columns: readonly string[],
): UnknownDay {
  const day: Record<string, unknown> = { ...known, state: 'unknown' };
  return Object.fromEntries(columns.map((name) => [name, day[name] ?? null])) as UnknownDay;
}
