import type { Served } from '../../src/sandbox/sandbox.ts';
import type { World } from '../../src/sandbox/world/world.ts';

export interface AgeLine {
  readonly tier: string;
  readonly target_ms: number;
  readonly records: number;
  readonly reads: number;
  readonly worst_ms: number;
  /** The share of the time in which a copy was older than promised, over all records. */
  readonly stale_share: number;
}

const hour = 3_600_000;
const day = 24 * hour;

/** The freshness targets of the default configuration (specification §1). */
const targets = {
  'availability, near': 6 * hour,
  'availability, middle': 12 * hour,
  'availability, far': 24 * hour,
  'checkout information': 7 * day,
  variants: 7 * day,
  'product list': 7 * day,
  images: 14 * day,
};
type TierName = keyof typeof targets;

interface Tier {
  readonly name: TierName;
  readonly keys: Set<string>;
  reads: number;
  worst: number;
  late: number;
  lived: number;
}

interface Read {
  readonly tier: Tier;
  readonly at: number;
}

/** Each date is held to the target of the tier in which it was when it was read last. */
const tierOfDate = (ahead: number) =>
  ahead < 14 ? 'availability, near' : ahead < 31 ? 'availability, middle' : 'availability, far';

/** Resources of a product by the end of their path. */
const ofProduct: Readonly<Record<string, TierName>> = {
  checkout_information: 'checkout information',
  'product-variants': 'variants',
};

/** Measures at the service how old copies became: by when whole answers left it, not by what the mirror says. */
export class Ages {
  readonly #tiers = new Map<TierName, Tier>(
    (Object.keys(targets) as TierName[]).map((name) => [
      name,
      { name, keys: new Set(), reads: 0, worst: 0, late: 0, lived: 0 },
    ]),
  );
  /** The newest read of all but dates, by tier and product. */
  readonly #last = new Map<string, Read>();
  /** The newest read of each date of a product, by its days since 1970. */
  readonly #dates = new Map<string, Map<number, Read>>();
  readonly #todays = new Map<string, number>();

  /** Notes what an answer brings. Availability of products that are not on sale is not promised. */
  served({ at, path, query, body }: Served, world: World): void {
    if (path === '/v2/products') {
      for (const { id } of (JSON.parse(body) as { products: { id: string }[] }).products) {
        this.#seen('product list', id, at);
        this.#seen('images', id, at);
      }
      return;
    }
    const [, id, part] = /^\/v2\/products\/(\d+)(?:\/([a-z_-]+))?$/.exec(path) ?? [];
    if (id === undefined) return;
    const tier = part === undefined ? 'images' : ofProduct[part];
    if (tier !== undefined) this.#seen(tier, id, at);
    const product = world.find(Number(id));
    if (part !== 'availability' || product?.status !== 'available') return;
    const dayOf = (date: string | null) => Math.round(Date.parse(date ?? '') / day);
    const [first, last] = [dayOf(query.get('start_date')), dayOf(query.get('end_date'))];
    this.#seenDates(id, { first, last, today: dayOf(world.dates(product).today) }, at);
  }

  report(end: number): AgeLine[] {
    for (const { tier, at } of this.#last.values()) age(tier, end - at);
    for (const [id, dates] of this.#dates)
      for (const [date, { tier, at }] of dates) if (date > (this.#todays.get(id) ?? 0)) age(tier, end - at);
    return [...this.#tiers.values()].map(({ name, keys, reads, worst, late, lived }) => ({
      tier: name,
      target_ms: targets[name],
      records: keys.size,
      reads,
      worst_ms: worst,
      stale_share: lived === 0 ? 0 : late / lived,
    }));
  }

  #seen(name: TierName, id: string, at: number): void {
    const tier = this.#read(name, id);
    const before = this.#last.get(`${name} ${id}`);
    if (before !== undefined) age(tier, at - before.at);
    this.#last.set(`${name} ${id}`, { tier, at });
  }

  #seenDates(id: string, { first, last, today }: { first: number; last: number; today: number }, at: number): void {
    const dates = this.#dates.getOrInsertComputed(id, () => new Map());
    this.#todays.set(id, today);
    const brought = new Map<TierName, Tier>();
    for (let date = Math.max(first, today); date <= last; date += 1) {
      const before = dates.get(date);
      if (before !== undefined) age(before.tier, at - before.at);
      const name = tierOfDate(date - today);
      // One read of the near window brings two tiers.
      dates.set(date, { tier: brought.getOrInsertComputed(name, () => this.#read(name, id)), at });
    }
  }

  #read(name: TierName, id: string): Tier {
    const tier = this.#tiers.get(name);
    if (tier === undefined) throw new Error(`nobody promises ${name}`);
    tier.reads += 1;
    tier.keys.add(id);
    return tier;
  }
}

function age(tier: Tier, gap: number): void {
  tier.worst = Math.max(tier.worst, gap);
  tier.late += Math.max(0, gap - targets[tier.name]);
  tier.lived += gap;
}
