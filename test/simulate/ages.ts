import type { Served } from '../../src/sandbox/serving.ts';

/** How old copies became, measured at the service: by when whole answers left it, not by what the mirror says. */
export interface Ages {
  /** An answer that brings everything of `key` up to date. */
  seen(tier: string, key: string, at: number): void;
  /** An answer about the dates `first` to `last` of a product whose venue's today is `today`, in days since 1970. */
  seenDates(product_id: string, dates: { first: number; last: number; today: number }, at: number): void;
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

interface Tier {
  readonly promise_ms: number;
  readonly keys: Set<string>;
  reads: number;
  worst: number;
  late: number;
  lived: number;
}

/** Each date is held to the promise of the tier in which it was when it was read last. */
const tierOfDate = (ahead: number) =>
  ahead < 14 ? 'availability, near' : ahead < 31 ? 'availability, middle' : 'availability, far';

export function agesOf(promised: Readonly<Record<string, number>>): Ages {
  const tiers = new Map<string, Tier>(
    Object.entries(promised).map(([tier, promise_ms]) => [
      tier,
      { promise_ms, keys: new Set(), reads: 0, worst: 0, late: 0, lived: 0 },
    ]),
  );
  const last = new Map<string, { tier: Tier; at: number }>();
  const dates = new Map<string, { tier: Tier; at: number }[]>();
  const age = (tier: Tier, gap: number) => {
    tier.worst = Math.max(tier.worst, gap);
    tier.late += Math.max(0, gap - tier.promise_ms);
    tier.lived += gap;
  };
  const tierNamed = (name: string) => {
    const tier = tiers.get(name);
    if (tier === undefined) throw new Error(`nobody promises ${name}`);
    return tier;
  };
  const todays = new Map<string, number>();
  return {
    seen: (name, key, at) => {
      const tier = tierNamed(name);
      const before = last.get(`${name} ${key}`);
      tier.reads += 1;
      tier.keys.add(key);
      if (before !== undefined) age(tier, at - before.at);
      last.set(`${name} ${key}`, { tier, at });
    },
    seenDates: (product_id, { first, last: to, today }, at) => {
      const brought = new Set<Tier>();
      const of = dates.get(product_id) ?? [];
      dates.set(product_id, of);
      todays.set(product_id, today);
      for (let date = Math.max(first, today); date <= to; date += 1) {
        const before = of[date - epoch];
        if (before !== undefined) age(before.tier, at - before.at);
        const tier = tierNamed(tierOfDate(date - today));
        brought.add(tier);
        of[date - epoch] = { tier, at };
      }
      // One read of the near window brings two tiers.
      for (const tier of brought) {
        tier.reads += 1;
        tier.keys.add(product_id);
      }
    },
    report: (end) => {
      for (const { tier, at } of last.values()) age(tier, end - at);
      for (const [product_id, of] of dates)
        for (const [index, seen] of of.entries())
          if (seen !== undefined && index + epoch > (todays.get(product_id) ?? 0)) age(seen.tier, end - seen.at);
      return [...tiers].map(([tier, { promise_ms, keys, reads, worst, late, lived }]) => ({
        tier,
        promise_ms,
        records: keys.size,
        reads,
        worst_ms: worst,
        stale_share: lived === 0 ? 0 : late / lived,
      }));
    },
  };
}

const hour = 3_600_000;
const day = 24 * hour;
/** 2026-01-01 in days since 1970: arrays of dates begin there. */
const epoch = 20_454;

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
  const dayOf = (date: string | null) => Math.round(Date.parse(date ?? '') / day);
  const range = { first: dayOf(query.get('start_date')), last: dayOf(query.get('end_date')), today: dayOf(today(id)) };
  ages.seenDates(id, range, at);
}
