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
      const prices = new Map<string | null, TypePrice>();
      for (const [variant_id, price] of others) addPrice(prices, types.get(variant_id) ?? null, price, Math.max);
      return commonest(prices);
    },
  };
}

/** How many prices there are of a type, and the one that was picked. */
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

/** Returns the price of the type that most have; of two types as common, the dearer. */
function commonest(prices: ReadonlyMap<string | null, TypePrice>): PrintedPrice {
  const [first] = [...prices].sort(
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
 *
 * Goes from the last instant back: what can be bought from whenever on is added once and stays, and only the later times of the
 * date underway come and go.
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

/** The least of dates that are added one by one. */
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
    /** Returns it with further dates, which are not added. */
    with: (passing: readonly PricedStretch[]): Omit<PrintedStep, 'until_at'> => {
      const [to, of] = passing.length === 0 ? [least, others] : [{ ...least }, new Map(others)];
      for (const stretch of passing) add(to, of, stretch);
      const lowest_price = Number.isFinite(to.price) ? to.price : null;
      if (!Number.isFinite(to.adult)) return { lowest_price, ...commonest(of) };
      return { lowest_price, lowest_adult_price: to.adult, price_variant_type: adult };
    },
  };
}

/** Tells whether two print the same. */
export function samePrices(one: Omit<PrintedStep, 'until_at'>, other: Omit<PrintedStep, 'until_at'>): boolean {
  return (
    one.lowest_price === other.lowest_price &&
    one.lowest_adult_price === other.lowest_adult_price &&
    one.price_variant_type === other.price_variant_type
  );
}
