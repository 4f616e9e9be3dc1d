import { dayMs } from '../../kernel/clock.ts';
import { roll } from '../random.ts';
import type { CalendarDay } from '../world/calendar.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import type { Quirks } from './quirks.ts';

/** The dates that an availability read answers. */
export interface AskedDates {
  readonly from: string | null;
  readonly to: string | null;
  /** True: they are answered even if they lie beyond the dates on sale. */
  readonly beyond: boolean;
}

/**
 * Returns the dates of a request as the service interprets them. Texts that are not dates stay unchanged, and are
 * refused later.
 */
export function datesAsked(query: URLSearchParams, { dates }: Quirks): AskedDates {
  const from = query.get('start_date');
  const to = query.get('end_date');
  const [first, last] = [from ?? '', to ?? ''].map((text) => Date.parse(text));
  const moved = (at: number | undefined, text: string | null, ms: (at: number) => number) =>
    at === undefined || Number.isNaN(at) ? text : dateOf(at + ms(at));
  switch (dates) {
    case 'ignored':
      return { from: null, to: null, beyond: false };
    case 'shifted':
      return { from: moved(first, from, () => 400 * dayMs), to: moved(last, to, () => 400 * dayMs), beyond: true };
    case 'weeks':
      return {
        from: moved(first, from, (at) => -weekday(at) * dayMs),
        to: moved(last, to, (at) => (6 - weekday(at)) * dayMs),
        beyond: false,
      };
    default:
      return { from, to, beyond: false };
  }
}

/** Returns the dates of an answer as the service sends them: possibly in another order, or repeated. */
export function inOrder(days: readonly CalendarDay[], seed: number, { date_order }: Quirks): readonly CalendarDay[] {
  switch (date_order) {
    case 'shuffled':
      return days.toSorted((a, b) => roll(seed, a.date, 'order') - roll(seed, b.date, 'order'));
    case 'repeated':
      return days.flatMap((day, index) => (index % 3 === 0 ? [day, day] : [day]));
    default:
      return days;
  }
}

/** The most by which counts differ between reads. */
export const countsDifferBy = 2;

/** Returns days with the ticket counts of one read, which are never less than the real counts. */
export function withCounts(days: readonly CalendarDay[], read: number): readonly CalendarDay[] {
  const more = read % (countsDifferBy + 1);
  return days.map((day) => ({
    ...day,
    availability: day.availability + more,
    slots: day.slots.map((slot) => ({ ...slot, availability: slot.availability + more })),
  }));
}

/** Returns the order of the list during one walk. */
export function inWalk(
  products: readonly SandboxProduct[],
  walk: number,
  seed: number,
  { list_order }: Quirks,
): readonly SandboxProduct[] {
  if (list_order === 'stable') return products;
  const place = new Map(products.map(({ id }) => [id, roll(seed, id, walk, 'walk')]));
  return products.toSorted((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
}

/** A page of a list, with its number, its size and the total. */
export interface Cut<Row> {
  readonly rows: readonly Row[];
  readonly page: number;
  readonly size: number;
  readonly total: number;
}

/** Returns a page. If `list_end` is `never` there is always a next page, and each is filled up with the last rows. */
export function cut<Row>(
  rows: readonly Row[],
  { page, size: wanted }: { page: number; size: number },
  { page_size, list_end }: Quirks,
): Cut<Row> {
  const size = page_size === 'ignored' ? 10 : wanted;
  const own = rows.slice((page - 1) * size, page * size);
  if (list_end === 'ends' || rows.length === 0) return { rows: own, page, size, total: rows.length };
  const again = Array.from({ length: size }, (_, index) => rows.at(-1 - (index % rows.length)) as Row);
  return { rows: [...own, ...again.slice(own.length)], page, size, total: (page + 1) * size };
}

/** The calls of the specification (section 4). It does not show the path of the variants, but they must have one. */
const specified = [
  /^GET \/v2\/products$/,
  /^GET \/v2\/products\/\d+\/(checkout_information|availability|product-variants)$/,
  /^PUT \/v2\/product-change-notification\/[^/]+$/,
];

export function isOffered(method: string, path: string, { endpoints }: Quirks): boolean {
  return endpoints === 'all' || specified.some((each) => each.test(`${method} ${path}`));
}

/** Returns the answer with further members beside its payload. A recorded answer has its own. */
export function withMembers(body: string, members: Readonly<Record<string, unknown>>): string {
  const printed = JSON.stringify(members).slice(1, -1);
  if (printed === '' || body.includes('"api_version"')) return body;
  return body.replace(/^\{"success":(?:true|false),/, (head) => `${head}${printed},`);
}

/** Returns the answer with counters that no other answer has. */
export function withCounters(body: string, read: number, at: number): string {
  const members = `"request_id":"r-${read.toString(36)}","served_at":"${new Date(at).toISOString()}"`;
  return body.replace(/^\{"success":true,/, (head) => `${head}${members},`);
}

/** Returns the day of the week; 0 is Monday. */
function weekday(at: number): number {
  return (new Date(at).getUTCDay() + 6) % 7;
}

function dateOf(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10);
}
