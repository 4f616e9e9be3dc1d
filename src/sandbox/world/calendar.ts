import { dayMs } from '../../kernel/clock.ts';
import { roll } from '../random.ts';
import type { SandboxProduct } from './catalogue.ts';
import { convert } from './money.ts';

/** The price of one variant in one slot, in smallest units of the currency. */
export interface CalendarOffer {
  readonly variant_id: number;
  readonly max_tickets: number;
  readonly retail_price: number;
  readonly ticket_value: number;
  readonly booking_fee: number;
  readonly commission: number;
  readonly pricing_restriction: number | null;
}

export interface CalendarSlot {
  readonly time: string;
  readonly availability: number;
  readonly offers: readonly CalendarOffer[];
}

export interface CalendarDay {
  readonly date: string;
  readonly availability: number;
  readonly slots: readonly CalendarSlot[];
}

/**
 * The state that decides how full the days are. Still: a date stays the same, whenever it is read. Live: it fills up as
 * it approaches, so reads some hours apart differ.
 */
export interface CalendarState {
  readonly seed: number;
  /** Hours since 1970; null: still. */
  readonly live_hour: number | null;
  /** True: most dates are sold out, so that answers are small. */
  readonly lean: boolean;
  /** Null: only `live_hour` changes dates. */
  readonly changes: { version(product_id: number, date: string): number } | null;
}

/** Returns the tickets of a product on a date; null: none. A pure function of product, date, currency and state. */
export function calendarDay(
  product: SandboxProduct,
  date: string,
  currency: string,
  state: CalendarState,
): CalendarDay | null {
  const day = Date.parse(date) / dayMs;
  const { seed } = state;
  const changed = state.changes?.version(product.id, date) ?? 0;
  const version = changed === 0 ? [] : [changed];
  if (product.status === 'unavailable' || product.sold_out.has(date)) return null;
  if (product.closed_weekday === new Date(day * dayMs).getUTCDay()) return null;
  if (roll(seed, product.id, day, 1, ...version) < soldOutShare(day, state)) return null;
  const season = [6, 7, 11].includes(new Date(day * dayMs).getUTCMonth()) ? 115 : 100;
  const slots: CalendarSlot[] = [];
  let total = 0;
  const count = Math.max(1, product.slots);
  const sold = soldOn(product, new Date(day * dayMs).getUTCDay());
  let offers = product.dynamic ? [] : offersOf(product, sold, season, currency);
  for (let slot = 0; slot < count; slot += 1) {
    if (product.slots > 0 && roll(seed, product.id, day, slot, 2) < 0.08) continue;
    const availability = 1 + Math.floor(roll(seed, product.id, day, slot, 3, fillingUp(day, state), ...version) * 60);
    if (product.dynamic)
      offers = offersOf(
        product,
        sold,
        season - 20 + Math.floor(roll(seed, product.id, day, slot, 4) * 8) * 5,
        currency,
      );
    total += availability;
    slots.push({
      time: product.slots === 0 ? 'whole_day' : clockTime(9 * 60 + 30 + slot * 15),
      availability,
      offers: availability < 10 ? offers.map((offer) => ({ ...offer, max_tickets: availability })) : offers,
    });
  }
  return slots.length === 0 ? null : { date, availability: total, slots };
}

/** Returns the share of sold-out days: 6 %. Live, it rises to 28 % for the nearest days. */
function soldOutShare(day: number, { live_hour, lean }: CalendarState): number {
  if (lean) return 0.92;
  return live_hour === null ? 0.06 : 0.03 + 0.25 * Math.exp(-Math.max(0, day - live_hour / 24) / 3);
}

function fillingUp(day: number, { live_hour }: CalendarState): number {
  return live_hour === null ? 0 : Math.floor(live_hour / Math.max(3, (day - live_hour / 24) * 6));
}

function soldOn({ variants, children_weekday }: SandboxProduct, weekday: number): SandboxProduct['variants'] {
  const children = weekday === children_weekday ? variants.filter(({ type }) => type === 'child') : [];
  return children.length > 0 ? children : variants;
}

function offersOf(
  product: SandboxProduct,
  sold: SandboxProduct['variants'],
  percent: number,
  currency: string,
): CalendarOffer[] {
  return sold.map(({ id, factor }, index) => {
    const retail_price = convert(Math.round((product.price * factor * percent) / 100), currency, product.rate);
    const booking_fee = Math.floor(retail_price / 12);
    return {
      variant_id: id,
      max_tickets: 10,
      retail_price,
      ticket_value: retail_price - booking_fee,
      booking_fee,
      commission: Math.floor(retail_price / 15),
      pricing_restriction: index === 3 ? 1 : null,
    };
  });
}

function clockTime(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
}
