import { dayMs } from '../../kernel/clock.ts';
import type { HostileValues } from '../rough/product.ts';
import { countsDifferBy } from '../rough/reads.ts';
import type { Roughness } from '../rough/roughness.ts';
import {
  availability,
  checkoutInformation,
  experience,
  maxTicketsPerOrder,
  prediscountPrice,
  productDetail,
  productEntry,
  productVariants,
  tag,
} from '../world/answers.ts';
import type { CalendarDay } from '../world/calendar.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import { convert } from '../world/money.ts';
import type { World } from '../world/world.ts';

/** One date of a product as the service would sell it. Without tickets it is sold out. */
export interface StateDay extends CalendarDay {
  readonly sold_out: boolean;
  readonly max_tickets_per_order: number | null;
}

/**
 * The service's current state of a product, in the service's own terms. A mirror is compared with it. Money in smallest
 * units.
 */
export interface ProductState {
  readonly product_id: number;
  readonly visible: boolean;
  readonly sale_status: string;
  /** Announced with the current closure. No read shows it. */
  readonly recommended_alternative_product_id: number | null;
  readonly today: string;
  readonly timezone: string | null;
  readonly from_price: number;
  /** The price before a reduction; null: not reduced. */
  readonly prediscount_price: number | null;
  /** The experience ids that a read shows. */
  readonly experience_ids: readonly number[];
  /** Its main venue in the list of experiences, without the venue's products; null: there is no such list. */
  readonly venue: Record<string, unknown> | null;
  /** The whole list of tags, as served, with the visible product of the smallest id; null: there is no such list. */
  readonly listed_tags: readonly Record<string, unknown>[] | null;
  /** As served, in the requested language. */
  readonly entry: Record<string, unknown>;
  readonly detail: Record<string, unknown>;
  /** True: the single-product read exists. False: `detail` is the list entry. */
  readonly has_detail: boolean;
  readonly checkout_information: Record<string, unknown>;
  readonly variants: readonly Record<string, unknown>[];
  /** The variants in the availability answers over the range. */
  readonly availability_variants: readonly Record<string, unknown>[];
  /** The groups of variants in these answers. */
  readonly groups: readonly { readonly id: number; readonly name: string }[];
  /** Every date of the range; empty while the product is not on sale. */
  readonly days: readonly StateDay[];
  /** True: the answers leave out all optional members, including counts and prices of dates. */
  readonly bare: boolean;
  /** Invalid values shown beside the correct ones, which a mirror must refuse; null: none. */
  readonly hostile: HostileValues | null;
  /** Members that differ from read to read, in any place, by their value or their spelling. */
  readonly differing: readonly string[];
  /** The most by which counts of tickets may exceed those here. */
  readonly counts_differ_by: number;
}

export interface StateQuestion {
  readonly language: string;
  readonly currency: string;
  /** Number of days from the venue's today. If the zone is unknown, two more: one day of margin at both ends. */
  readonly horizon: number;
}

/** Returns the current state, regardless of what a cache still shows. */
export function productState(
  world: World,
  product: SandboxProduct,
  question: StateQuestion,
  rough: Roughness,
): ProductState {
  const { language, currency } = question;
  const horizon = question.horizon + (product.place.zone === null ? 2 : 0);
  const { today } = world.dates(product);
  const [venue_id = 0] = product.experience_ids;
  const edits = world.experienceEdits.get(venue_id) ?? {};
  const parse = (text: string) => JSON.parse(text) as Record<string, unknown>;
  const { endpoints, counters, faults } = rough.quirks();
  const [listed, read, other] = (['list', 'detail', 'other'] as const).map((each) =>
    rough.shown(product, each, 'none'),
  ) as [SandboxProduct, SandboxProduct, SandboxProduct];
  const entry = parse(productEntry(listed, language, currency));
  const own = parse(productVariants(other, language));
  const dates = datesFrom(today, horizon);
  const days = product.status === 'available' ? world.days(other, today, dates.at(-1) ?? today, currency) : null;
  return {
    product_id: product.id,
    visible: !product.withdrawn,
    sale_status: product.status,
    recommended_alternative_product_id: product.alternative,
    today,
    timezone: product.place.zone,
    from_price: recordedPrice(product) ?? convert(product.price, currency, product.rate),
    prediscount_price: prediscountPrice(product, currency),
    experience_ids: endpoints === 'all' ? product.experience_ids : product.experience_ids.slice(0, 1),
    venue: endpoints === 'all' ? parse(experience(venue_id, [], { language, currency, edits })) : null,
    listed_tags: endpoints === 'all' ? listedTags(world, product, language) : null,
    entry,
    detail: endpoints === 'all' ? parse(productDetail(read, language, currency)) : entry,
    has_detail: endpoints === 'all',
    checkout_information: parse(checkoutInformation(other, language)),
    variants: own.variants as Record<string, unknown>[],
    groups: own.groups as ProductState['groups'],
    availability_variants: saidByAvailability(other, days, question),
    days: days === null ? [] : stateDays(other, days, dates),
    bare: product.bare,
    hostile: rough.hostile(product),
    differing: [
      ...(counters === 'none' ? [] : ['request_id', 'served_at', 'views_today']),
      ...faults.flatMap(({ kind, member }) => (kind === 'respelt' && member !== undefined ? [topOf(member)] : [])),
    ],
    counts_differ_by: counters === 'none' ? 0 : countsDifferBy,
  };
}

function topOf(member: string): string {
  return member.split(/[.[]/, 1)[0] ?? member;
}

function listedTags(world: World, product: SandboxProduct, language: string): Record<string, unknown>[] {
  if (world.visible().some(({ id }) => id < product.id) || product.withdrawn) return [];
  return world.tags().map((id) => tag(id, { language, edits: world.tagEdits.get(id) ?? {} }));
}

/** Returns the variants in availability answers. `days`: null while the product is not on sale. */
function saidByAvailability(
  product: SandboxProduct,
  days: readonly CalendarDay[] | null,
  { language, currency }: StateQuestion,
): ProductState['availability_variants'] {
  if (days === null) return [];
  const answer = availability(product, days.slice(0, 1), { language, currency, capped_at: null });
  return (JSON.parse(answer) as { variants: ProductState['availability_variants'] }).variants;
}

function recordedPrice({ recorded }: SandboxProduct): number | null {
  return recorded === null ? null : Math.round(Number(recorded.price) * 100);
}

function datesFrom(today: string, horizon: number): string[] {
  const first = Date.parse(today);
  return Array.from({ length: horizon }, (_, day) => new Date(first + day * dayMs).toISOString().slice(0, 10));
}

function stateDays(product: SandboxProduct, sold: readonly CalendarDay[], dates: readonly string[]): StateDay[] {
  const days = new Map(sold.map((day) => [day.date, day]));
  const max_tickets_per_order = maxTicketsPerOrder(product);
  return dates.map((date) => {
    const day = days.get(date);
    return {
      date,
      availability: day?.availability ?? 0,
      sold_out: day === undefined,
      max_tickets_per_order,
      slots: day?.slots ?? [],
    };
  });
}
