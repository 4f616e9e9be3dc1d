/** A change of the feed about whether a product is listed, or on sale. */
export interface ProductEvent {
  readonly product_id: number;
  readonly title: string | null;
  readonly at: number;
  readonly kind: 'product_added' | 'product_returned' | 'product_withdrawn' | 'sale_disabled' | 'sale_enabled';
  /** Reason for which it was withdrawn or closed; null if none was stated. */
  readonly reason: string | null;
  /** Date that the service stated when it closed it. */
  readonly expected_reopening: string | null;
}

/** Changes of products within a span of time. For each product only the last event counts. */
export interface Turnover {
  readonly added: readonly ProductEvent[];
  /** Withdrawn before, and listed again. */
  readonly returned: readonly ProductEvent[];
  readonly withdrawn: readonly ProductEvent[];
  /** Off sale at the end of the span, and still listed. */
  readonly closed: readonly ProductEvent[];
  /** On sale again at the end of the span. */
  readonly reopened: readonly ProductEvent[];
}

/**
 * Returns the changes of products. `events` are in the order in which they happened. Products found by the first fill
 * are not new: they existed before.
 */
export function turnoverOf(events: readonly ProductEvent[], filled_at: number | null): Turnover {
  const told = filled_at === null ? [] : events.filter(({ at }) => at > filled_at);
  const lastOf = (about: 'product_' | 'sale_') =>
    new Map(told.filter(({ kind }) => kind.startsWith(about)).map((event) => [event.product_id, event]));
  const listing = lastOf('product_');
  const gone = (product_id: number) => listing.get(product_id)?.kind === 'product_withdrawn';
  const standing = [...listing.values(), ...lastOf('sale_').values()].toSorted((a, b) => a.at - b.at);
  const of = (wanted: ProductEvent['kind']) => standing.filter(({ kind }) => kind === wanted);
  const stillListed = ({ product_id }: ProductEvent) => !gone(product_id);
  return {
    added: of('product_added'),
    returned: of('product_returned'),
    withdrawn: of('product_withdrawn'),
    closed: of('sale_disabled').filter(stillListed),
    reopened: of('sale_enabled').filter(stillListed),
  };
}
