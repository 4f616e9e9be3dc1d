/** A change of the feed that says what something costs now, in minor units; null: it had, or has, no price. */
export interface PriceChange {
  readonly product_id: number;
  /** Null: the price of the product itself. */
  readonly date: string | null;
  readonly old: number | null;
  readonly new: number | null;
}

/** From the first price of a span of time to its last. */
export interface PriceMove {
  readonly product_id: number;
  readonly date: string | null;
  readonly old: number;
  readonly new: number;
}

export interface Moves {
  readonly moved: number;
  readonly up: number;
  readonly down: number;
  /** The largest by proportion, one a product, the largest first. */
  readonly biggest: readonly PriceMove[];
}

export interface PriceMoves {
  /** Of the price that the service gives for a product. */
  readonly products: Moves;
  /** Of the lowest price of a date; `products`: of how many. */
  readonly dates: Moves & { readonly products: number };
}

const biggestAtMost = 10;

/**
 * Counts what costs something else at the end than at the beginning. `changes` ordered by product, date and time, so that
 * a year of dynamic prices passes through without being held.
 */
export function priceMovesOf(changes: Iterable<PriceChange>): PriceMoves {
  const [products, dates] = [tally(), tally()];
  let open: PriceChange | null = null;
  const close = () => {
    if (open === null) return;
    const { old, new: now, ...of } = open;
    if (old !== null && now !== null && old !== now)
      (of.date === null ? products : dates).add({ ...of, old, new: now });
  };
  for (const change of changes) {
    const same: boolean = open !== null && open.product_id === change.product_id && open.date === change.date;
    if (!same) close();
    open = { ...change, old: same && open !== null ? open.old : change.old };
  }
  close();
  return { products: products.sum(), dates: { ...dates.sum(), products: dates.products() } };
}

function tally() {
  let [up, down] = [0, 0];
  const widest = new Map<number, PriceMove>();
  return {
    add: (move: PriceMove) => {
      if (move.new > move.old) up += 1;
      else down += 1;
      const known = widest.get(move.product_id);
      if (known === undefined || extent(move) > extent(known)) widest.set(move.product_id, move);
    },
    products: () => widest.size,
    sum: (): Moves => ({
      moved: up + down,
      up,
      down,
      biggest: [...widest.values()]
        .toSorted((a, b) => extent(b) - extent(a) || a.product_id - b.product_id)
        .slice(0, biggestAtMost),
    }),
  };
}

/** Half the price is as far away as twice of it; to or from nothing is farthest. */
function extent({ old, new: now }: PriceMove): number {
  return Math.abs(Math.log(now / old));
}
