import { type DayForm, lower, type Timeslot } from './availability.ts';
import type { VariantTypes } from './variant.ts';

/*
 * The price that a shop may print: what an adult pays. A price that only children pay is no "from"; where no adult can
 * buy, it is the dearest of the commonest type, and says which type that is.
 */

/** Minor units, and whose price it is: `adult`, or the service's word for another type; null: none is known. */
export interface PrintedPrice {
  readonly lowest_adult_price: number | null;
  readonly price_variant_type: string | null;
}

export const nothingPrinted: PrintedPrice = { lowest_adult_price: null, price_variant_type: null };

const adult = 'adult';

/**
 * Returns what is printed of a date: of what can be bought, the lowest adult price above 0, or 0 if adults pay nothing.
 * Without an adult variant the dearest variant, each at its cheapest time, of the type that most variants have; of two types
 * as common the dearer. Where the price of an adult is not known, no other is printed in its place.
 */
export function printedOn([availability, , timeslots]: DayForm, types: VariantTypes): PrintedPrice {
  if (availability === 0) return nothingPrinted;
  const print = printing(types);
  for (const slot of timeslots) print.add(slot);
  return print.price();
}

/** The same of a date whose slots are added one by one. */
export function printing(types: VariantTypes) {
  let adults = false;
  let lowest: number | null = null;
  const others = new Map<number, number>();
  return {
    add: ([, places, offers]: Timeslot): void => {
      if (places === 0) return;
      for (const [variant_id, tickets, price = null] of offers) {
        if (tickets === 0) continue;
        const isAdult = types.get(variant_id) === adult;
        adults ||= isAdult;
        if (price === null || price < 0) continue;
        if (isAdult) lowest = lower(lowest, price);
        else if (!adults) others.set(variant_id, lower(others.get(variant_id) ?? null, price));
      }
    },
    price: (): PrintedPrice => {
      if (adults) return lowest === null ? nothingPrinted : { lowest_adult_price: lowest, price_variant_type: adult };
      return commonest(
        [...others].map(([variant_id, price]) => [types.get(variant_id) ?? null, price]),
        Math.max,
      );
    },
  };
}

/** Picks one of all prices of the type that most have; of two types as common, the one with the dearer pick. */
function commonest(
  prices: readonly (readonly [type: string | null, price: number])[],
  pick: (one: number, other: number) => number,
): PrintedPrice {
  const found = new Map<string | null, { count: number; price: number }>();
  for (const [type, price] of prices) {
    const known = found.get(type);
    found.set(type, { count: (known?.count ?? 0) + 1, price: known === undefined ? price : pick(known.price, price) });
  }
  const [first] = [...found].sort(
    ([type, one], [other, two]) =>
      two.count - one.count || two.price - one.price || ((type ?? '') < (other ?? '') ? -1 : 1),
  );
  return first === undefined ? nothingPrinted : { lowest_adult_price: first[1].price, price_variant_type: first[0] };
}

/** What of a date can be bought from one instant to another. */
export interface PricedStretch extends PrintedPrice {
  readonly from_at: number;
  /** Excluded. */
  readonly until_at: number;
  readonly lowest_price: number | null;
}

/** What is printed of a product up to an instant, from the one before on. */
export interface PrintedStep extends PrintedPrice {
  /** Excluded. */
  readonly until_at: number;
  readonly lowest_price: number | null;
}

/**
 * Returns what is printed of a product from now on, as its dates and their times pass: the least over the dates that an adult
 * can then have; where there is none, the least over those of the commonest type.
 */
export function printedSteps(stretches: readonly PricedStretch[]): PrintedStep[] {
  const ends = new Set(stretches.flatMap(({ from_at, until_at }) => (from_at > 0 ? [from_at, until_at] : [until_at])));
  const steps: PrintedStep[] = [];
  let at = 0;
  for (const until_at of [...ends].sort((one, other) => one - other)) {
    const step = { until_at, ...leastOf(stretches.filter((each) => each.from_at <= at && at < each.until_at)) };
    at = until_at;
    const before = steps.at(-1);
    if (before !== undefined && samePrices(before, step)) steps.pop();
    steps.push(step);
  }
  return steps;
}

function leastOf(stretches: readonly PricedStretch[]): Omit<PrintedStep, 'until_at'> {
  let lowest_price: number | null = null;
  let least: number | null = null;
  const others: [type: string | null, price: number][] = [];
  for (const { lowest_price: price, lowest_adult_price, price_variant_type } of stretches) {
    if (price !== null) lowest_price = Math.min(lowest_price ?? price, price);
    if (lowest_adult_price === null) continue;
    if (price_variant_type === adult) least = Math.min(least ?? lowest_adult_price, lowest_adult_price);
    else others.push([price_variant_type, lowest_adult_price]);
  }
  const printed =
    least === null ? commonest(others, Math.min) : { lowest_adult_price: least, price_variant_type: adult };
  return { lowest_price, ...printed };
}

/** Tells whether two print the same. */
export function samePrices(one: Omit<PrintedStep, 'until_at'>, other: Omit<PrintedStep, 'until_at'>): boolean {
  return (
    one.lowest_price === other.lowest_price &&
    one.lowest_adult_price === other.lowest_adult_price &&
    one.price_variant_type === other.price_variant_type
  );
}
