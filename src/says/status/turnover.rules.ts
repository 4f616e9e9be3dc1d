/** Kinds of the feed about whether a product is listed, or on sale. */
export const eventKinds = [
  'product_added',
  'product_returned',
  'product_withdrawn',
  'sale_disabled',
  'sale_enabled',
  'dates_withheld',
  'dates_released',
] as const;

/** A change of one of these kinds. */
export interface Event {
  readonly product_id: number;
  readonly at: number;
  readonly kind: (typeof eventKinds)[number];
}

export interface ProductEvent extends Event {
  readonly title: string | null;
  /** Reason for which it was withdrawn or closed; null if none was stated. */
  readonly reason: string | null;
  /** Date that the service stated when it closed it. */
  readonly expected_reopening: string | null;
}

/** Changes of products within a span of time. For each product only the last event counts. */
export interface Turnover<Of extends Event = ProductEvent> {
  readonly added: readonly Of[];
  /** Withdrawn before, and listed again. */
  readonly returned: readonly Of[];
  readonly withdrawn: readonly Of[];
  /** Off sale at the end of the span, and still listed. */
  readonly closed: readonly Of[];
  /** On sale again at the end of the span. */
  readonly reopened: readonly Of[];
}

/**
 * Returns the changes of products. `events` are in the order in which they happened. Products found by the first fill
 * are not new: they existed before.
 */
export function turnoverOf<Of extends Event>(events: readonly Of[], filled_at: number | null): Turnover<Of> {
  const told = filled_at === null ? [] : events.filter(({ at }) => at > filled_at);
  const lastOf = (isListing: boolean) =>
    new Map(
      told.filter(({ kind }) => kind.startsWith('product_') === isListing).map((event) => [event.product_id, event]),
    );
  const listing = lastOf(true);
  const gone = (product_id: number) => listing.get(product_id)?.kind === 'product_withdrawn';
  const standing = [...listing.values(), ...lastOf(false).values()].toSorted((a, b) => a.at - b.at);
  const of = (...wanted: Event['kind'][]) => standing.filter(({ kind }) => wanted.includes(kind));
  const stillListed = ({ product_id }: Event) => !gone(product_id);
  return {
    added: of('product_added'),
    returned: of('product_returned'),
    withdrawn: of('product_withdrawn'),
    closed: of('sale_disabled', 'dates_withheld').filter(stillListed),
    reopened: of('sale_enabled', 'dates_released').filter(stillListed),
  };
}
