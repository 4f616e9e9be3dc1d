/** A change of the feed with a price, in minor units. Null: there was, or is, no price. */
export interface PriceChange {
  readonly product_id: number;
  /** Null: the price is that of the product itself. */
  readonly date: string | null;
  readonly old: number | null;
  readonly new: number | null;
  /** 1: the exchange rate alone has moved it. */
  readonly by_rate: 0 | 1;
}

/** Move from the first price in a span of time to its last. */
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
  /** Further ones that the exchange rate alone has moved. */
  readonly by_rate: number;
  /** The largest by proportion, one per product, the largest first. */
  readonly biggest: readonly PriceMove[];
}

export interface PriceMoves {
  /** Moves of the price that the service states for a product. */
  readonly products: Moves;
  /** Moves of the lowest prices of dates. `products` counts the products concerned. */
  readonly dates: Moves & { readonly products: number };
}

const biggestAtMost = 10;

/**
 * Counts prices that differ between the beginning and the end. `changes` are ordered by product, date and time, so that
 * a year of dynamic prices passes through without being held in memory.
 */
export function priceMovesOf(changes: Iterable<PriceChange>): PriceMoves {
  const [products, dates] = [tally(), tally()];
  let open: PriceChange | null = null;
  const close = () => {
    if (open === null) return;
    const { old, new: now, by_rate, ...of } = open;
    if (old === null || now === null || old === now) return;
    const sums = of.date === null ? products : dates;
    if (by_rate === 1) sums.addByRate();
    else sums.add({ ...of, old, new: now });
  };
  for (const change of changes) {
    const same: boolean = open !== null && open.product_id === change.product_id && open.date === change.date;
    if (!same) close();
    open =
      same && open !== null
        ? { ...change, old: open.old, by_rate: open.by_rate === 1 ? change.by_rate : 0 }
        : { ...change };
  }
  close();
  return { products: products.sum(), dates: { ...dates.sum(), products: dates.products() } };
}

function tally() {
  let [up, down, by_rate] = [0, 0, 0];
  const widest = new Map<number, PriceMove>();
  return {
    add: (move: PriceMove) => {
      if (move.new > move.old) up += 1;
      else down += 1;
      const known = widest.get(move.product_id);
      if (known === undefined || extent(move) > extent(known)) widest.set(move.product_id, move);
    },
    addByRate: () => {
      by_rate += 1;
    },
    products: () => widest.size,
    sum: (): Moves => ({
      moved: up + down,
      up,
      down,
      by_rate,
      biggest: [...widest.values()]
        .toSorted((a, b) => extent(b) - extent(a) || a.product_id - b.product_id)
        .slice(0, biggestAtMost),
    }),
  };
}

/** Returns the size of a move: half a price is as far away as twice the price; a move to or from 0 is the farthest. */
function extent({ old, new: now }: PriceMove): number {
  return Math.abs(Math.log(now / old));
}
