import type { VariantTypes } from '../catalogue/variant.rules.ts';
import { type DayForm, lower, type Timeslot } from './availability.rules.ts';

/*
 * The price that a shop may print: the one that an adult pays. A price that only children pay is not a "from" price. If
 * no adult can buy, it is the highest price of the most common type, and names that type.
 */

/**
 * Price in minor units, and the type of buyer who pays it: `adult`, or the service's word for another type. Null if not
 * known.
 */
export interface PrintedPrice {
  readonly lowest_adult_price: number | null;
  readonly price_variant_type: string | null;
}

export const nothingPrinted: PrintedPrice = { lowest_adult_price: null, price_variant_type: null };

const adult = 'adult';

/**
 * Returns the printed price of a date: among the offers that can be bought, the lowest adult price above 0, or 0 if
 * adults pay nothing. Without an adult variant it is the dearest variant, each at its cheapest time, of the type that
 * most variants have; of two types that are equally common, the dearer. If the price of an adult is not known, no other
 * price is printed in its place.
 */
export function printedOn([availability, , timeslots]: DayForm, types: VariantTypes): PrintedPrice {
  if (availability === 0) return nothingPrinted;
  const print = printing(types);
  for (const slot of timeslots) print.add(slot);
  return print.price();
}

/** Same as `printedOn`, for a date whose slots are added one by one. */
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
      const prices = new Map<string | null, TypePrice>();
      for (const [variant_id, price] of others) addPrice(prices, types.get(variant_id) ?? null, price, Math.max);
      return commonest(prices);
    },
  };
}

/** Number of prices of a type, and the one that was picked. */
interface TypePrice {
  readonly count: number;
  readonly price: number;
}

function addPrice(
  prices: Map<string | null, TypePrice>,
  type: string | null,
  price: number,
  pick: (one: number, other: number) => number,
): void {
  const known = prices.get(type);
  prices.set(
    type,
    known === undefined ? { count: 1, price } : { count: known.count + 1, price: pick(known.price, price) },
  );
}

/** Returns the price of the most common type; of two that are equally common, the dearer. */
function commonest(prices: ReadonlyMap<string | null, TypePrice>): PrintedPrice {
  const [first] = [...prices].sort(
    ([type, one], [other, two]) =>
      two.count - one.count || two.price - one.price || ((type ?? '') < (other ?? '') ? -1 : 1),
  );
  return first === undefined ? nothingPrinted : { lowest_adult_price: first[1].price, price_variant_type: first[0] };
}

/** The lowest price and the printed one. */
export interface ShownPrices extends PrintedPrice {
  readonly lowest_price: number | null;
}

/** Prices of a date for what can be bought from one instant to another. */
export interface PricedStretch extends ShownPrices {
  readonly from_at: number;
  /** Excluded. */
  readonly until_at: number;
}

/** Printed price of a product up to `until_at`, from the end of the previous step on. */
export interface PrintedStep extends ShownPrices {
  /** Excluded. */
  readonly until_at: number;
}

/**
 * Returns the printed prices of a product from now on, as its dates and their times pass: the lowest over the dates
 * that an adult can then buy. If there are none, the lowest over those of the most common type.
 *
 * Goes back from the last instant. An offer that can already be bought is added once and stays. Only the later times of
 * the date underway come and go.
 */
export function printedSteps(stretches: readonly PricedStretch[]): PrintedStep[] {
  const latestFirst = stretches.toSorted((one, other) => other.until_at - one.until_at);
  const ends = new Set(stretches.flatMap(({ from_at, until_at }) => (from_at > 0 ? [from_at, until_at] : [until_at])));
  const steps: PrintedStep[] = [];
  const lasting = leasts();
  let passing: PricedStretch[] = [];
  let next = 0;
  for (const until_at of [...ends].sort((one, other) => other - one)) {
    for (let one = latestFirst[next]; one !== undefined && one.until_at >= until_at; one = latestFirst[next]) {
      if (one.from_at > 0) passing.push(one);
      else lasting.add(one);
      next += 1;
    }
    passing = passing.filter(({ from_at }) => from_at < until_at);
    const step = { until_at, ...lasting.with(passing) };
    const after = steps.at(-1);
    if (after === undefined || !samePrices(after, step)) steps.push(step);
  }
  return steps.reverse();
}

/** Returns a running minimum over dates that are added one by one. */
function leasts() {
  const least = { price: Number.POSITIVE_INFINITY, adult: Number.POSITIVE_INFINITY };
  const others = new Map<string | null, TypePrice>();
  const add = (to: typeof least, of: typeof others, stretch: PricedStretch) => {
    const { lowest_price, lowest_adult_price: price, price_variant_type: type } = stretch;
    if (lowest_price !== null) to.price = Math.min(to.price, lowest_price);
    if (price !== null && type === adult) to.adult = Math.min(to.adult, price);
    else if (price !== null) addPrice(of, type, price, Math.min);
  };
  return {
    add: (stretch: PricedStretch): void => add(least, others, stretch),
    /** Returns the minimum with further dates, which are not added. */
    with: (passing: readonly PricedStretch[]): ShownPrices => {
      const [to, of] = passing.length === 0 ? [least, others] : [{ ...least }, new Map(others)];
      for (const stretch of passing) add(to, of, stretch);
      const lowest_price = Number.isFinite(to.price) ? to.price : null;
      if (!Number.isFinite(to.adult)) return { lowest_price, ...commonest(of) };
      return { lowest_price, lowest_adult_price: to.adult, price_variant_type: adult };
    },
  };
}

/** Returns whether two printed prices are equal. */
export function samePrices(one: ShownPrices, other: ShownPrices): boolean {
  return (
    one.lowest_price === other.lowest_price &&
    one.lowest_adult_price === other.lowest_adult_price &&
    one.price_variant_type === other.price_variant_type
  );
}
