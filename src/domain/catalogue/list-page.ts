/** What is known after a page of a list was read. */
export interface PageFacts {
  /** Rows of the page, usable or not. */
  readonly rows: number;
  /** Fewer rows than the answer itself says a page has; what was asked for may be ignored. */
  readonly short: boolean;
  /** How many rows the whole list has, as the page says; null: it does not say. */
  readonly total: number | null;
  /** Rows of this attempt so far, this page's included, those met twice counted twice. */
  readonly served: number;
  /** Pages in a row, up to this one, that brought no row that was not met before. */
  readonly barren: number;
}

/** So many pages in a row without a new row: a service that answers its last page for ever. */
const mostBarren = 3;
/** Nobody offers so many products: a list that goes on making rows up is not walked for ever. */
const mostRows = 1_000_000;

/**
 * Whether a list goes on after a page. Where it says how long it is, that decides, and not how full a page is: a service
 * may put fewer rows on a page than it was asked for. `endless`: there is no sense in reading on.
 */
export function afterPage({ rows, short, total, served, barren }: PageFacts): 'more' | 'end' | 'endless' {
  if (rows === 0) return 'end';
  // More rows than the total says, and a full page: the total is wrong, and only a short page is the end.
  const known = total !== null && (served <= total || short);
  if (known ? served >= total : short) return 'end';
  return barren >= mostBarren || served > mostRows ? 'endless' : 'more';
}
