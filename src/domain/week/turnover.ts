/** A change of the feed that says whether a product is there, or on sale. */
export interface ProductEvent {
  readonly product_id: number;
  readonly title: string | null;
  readonly at: number;
  readonly kind: 'product_added' | 'product_returned' | 'product_withdrawn' | 'sale_disabled' | 'sale_enabled';
  /** Why it was withdrawn or closed; null: that was not said. */
  readonly reason: string | null;
  /** The date that the service gave when it closed it. */
  readonly expected_reopening: string | null;
}

/** What became of products within a span of time, each by the last that happened to it. */
export interface Turnover {
  readonly added: readonly ProductEvent[];
  /** Withdrawn before, and back. */
  readonly returned: readonly ProductEvent[];
  readonly withdrawn: readonly ProductEvent[];
  /** Off sale at its end, and still listed. */
  readonly closed: readonly ProductEvent[];
  /** On sale again at its end. */
  readonly reopened: readonly ProductEvent[];
}

/** `events` in the order in which they happened. What a first fill found is not new: it was there before. */
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
