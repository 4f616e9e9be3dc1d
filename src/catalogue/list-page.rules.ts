/** Facts about a list after one of its pages was read. */
export interface PageFacts {
  /** Rows of the page, usable or not. */
  readonly rows: number;
  /** True: it has fewer rows than the page size stated in the answer itself. The requested size may be ignored. */
  readonly short: boolean;
  /** Text that asks for the next page; null: this is the last page; undefined: the answer names none. */
  readonly next: string | null | undefined;
  /** Number of rows in the whole list, as the page states it; null: it states none. */
  readonly total: number | null;
  /** Rows of this attempt so far, including this page; repeated rows count each time. */
  readonly served: number;
  /** Pages in a row, up to this one, without a new row. */
  readonly barren: number;
}

/** After this many pages in a row without a new row, the service is taken to repeat its last page forever. */
const mostBarren = 3;
/** More than any real list has: a service that makes up rows is not read forever. */
const mostRows = 1_000_000;

/**
 * Tells whether a list goes on after a page. If it says its length, that decides, not how full a page is: a service may
 * return fewer rows than requested. If it says how the next page is asked for, that decides before all else. `endless`: reading on is pointless.
 */
export function afterPage({ rows, short, next, total, served, barren }: PageFacts): 'more' | 'end' | 'endless' {
  if (next === null || (next === undefined && rows === 0)) return 'end';
  // More rows than the total says, and a full page: the total is wrong, and only a short page is the end.
  const known = total !== null && (served <= total || short);
  if (next === undefined && (known ? served >= total : short)) return 'end';
  return barren >= mostBarren || served > mostRows ? 'endless' : 'more';
}
