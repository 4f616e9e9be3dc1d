import type { Served } from '../../src/sandbox/sandbox.ts';

/** How old copies became, measured at the service: by when whole answers left it, not by what the mirror says. */
export interface Ages {
  /** An answer that brings everything of `key` up to date. */
  seen(tier: string, key: string, at: number): void;
  report(end: number): AgeLine[];
}

export interface AgeLine {
  readonly tier: string;
  readonly promise_ms: number;
  readonly records: number;
  readonly reads: number;
  readonly worst_ms: number;
  /** The share of the time in which a copy was older than promised, over all records. */
  readonly stale_share: number;
}

export function agesOf(promises: Readonly<Record<string, number>>): Ages {
  const tiers = new Map(
    Object.entries(promises).map(([tier, promise_ms]) => [
      tier,
      { promise_ms, last: new Map<string, number>(), reads: 0, worst: 0, late: 0, lived: 0 },
    ]),
  );
  const age = (tier: { promise_ms: number; worst: number; late: number; lived: number }, gap: number) => {
    tier.worst = Math.max(tier.worst, gap);
    tier.late += Math.max(0, gap - tier.promise_ms);
    tier.lived += gap;
  };
  return {
    seen: (name, key, at) => {
      const tier = tiers.get(name);
      if (tier === undefined) return;
      tier.reads += 1;
      const last = tier.last.get(key);
      if (last !== undefined) age(tier, at - last);
      tier.last.set(key, at);
    },
    report: (end) =>
      [...tiers].map(([name, tier]) => {
        const closed = { ...tier };
        for (const last of tier.last.values()) age(closed, end - last);
        return {
          tier: name,
          promise_ms: tier.promise_ms,
          records: tier.last.size,
          reads: tier.reads,
          worst_ms: closed.worst,
          stale_share: closed.lived === 0 ? 0 : closed.late / closed.lived,
        };
      }),
  };
}

const hour = 3_600_000;
const day = 24 * hour;

/** The promises of the default configuration (specification §1). */
export const promises = {
  'availability, near': 6 * hour,
  'availability, middle': 12 * hour,
  'availability, far': 24 * hour,
  'checkout information': 7 * day,
  variants: 7 * day,
  'product list': 7 * day,
  images: 14 * day,
};

const perProduct = /^\/v2\/products\/(\d+)(?:\/([a-z_-]+))?$/;

/** Tells `ages` what an answer brought. `onSale`: availability of others is not promised. */
export function noteServed(
  ages: Ages,
  { at, path, query, body }: Served,
  { onSale, today }: { onSale: (product_id: string) => boolean; today: (product_id: string) => string },
): void {
  if (path === '/v2/products') {
    for (const { id } of (JSON.parse(body) as { products: { id: string }[] }).products) {
      ages.seen('product list', id, at);
      ages.seen('images', id, at);
    }
    return;
  }
  const [, id = '', part] = perProduct.exec(path) ?? [];
  if (id === '') return;
  if (part === undefined) ages.seen('images', id, at);
  if (part === 'checkout_information') ages.seen('checkout information', id, at);
  if (part === 'product-variants') ages.seen('variants', id, at);
  if (part !== 'availability' || !onSale(id)) return;
  const ahead = (Date.parse(query.get('start_date') ?? '') - Date.parse(today(id))) / day;
  const window = Math.round(ahead / 31);
  if (window === 0) {
    ages.seen('availability, near', id, at);
    ages.seen('availability, middle', id, at);
  } else ages.seen('availability, far', `${id} ${window}`, at);
}
