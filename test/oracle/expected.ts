import type { Shown, ShownDay } from './shown.ts';

/*
 * What the views must show for a product of the sandbox: derived from the sandbox's own state and from docs/reading.md,
 * without a line of the code under test.
 */

export type Row = Record<string, unknown>;

/** The views that are compared, product by product. */
export const comparedViews = [
  'products',
  'product_prices',
  'product_tags',
  'product_experiences',
  'checkout_information',
  'variants',
  'images',
  'availability_days',
  'bookable_days',
  'availability_slots',
  'withdrawn_products',
] as const;

export type ComparedView = (typeof comparedViews)[number];
export type Expected = Readonly<Record<ComparedView, readonly Row[]>>;

const noRows = Object.fromEntries(comparedViews.map((view) => [view, []])) as unknown as Expected;

/** Columns that say when something was read: only their plausibility can be compared. */
export const readAtColumns = new Set([
  'checked_at',
  'changed_at',
  'verified_at',
  'expires_at',
  'stale',
  'expired_at',
  'freshness',
  'detail_freshness',
]);

export function expectedRows(
  shown: Shown,
  { language, currency, now }: { language: string; currency: string; now: number },
): Expected {
  const { product_id } = shown;
  if (!shown.visible) return noRows;
  // Where nobody knows the zone the service sells yesterday's date too; after noon UTC it is past everywhere on earth.
  const first = new Date(now - 12 * 3_600_000).toISOString().slice(0, 10);
  const sold = shown.timezone === null ? shown.days.filter(({ date }) => date >= first) : shown.days;
  const state = { ...shown, days: sold.map((day) => withoutPast(day, shown.timezone, now)) };
  const { detail, entry, checkout_information: checkout } = state;
  const enabled = state.sale_status === 'available';
  const { images: _images, ...document } = { ...entry, ...detail } as Row;
  const images = ((detail.images ?? entry.images ?? []) as Row[]).filter(
    (image) => !(state.hostile?.images ?? []).some((name) => JSON.stringify(image).includes(name)),
  );
  const from_price = state.hostile?.from_price || !('price' in detail) ? null : state.from_price;
  const prediscount_price = state.bare ? null : state.prediscount_price;
  const days = state.days.map((day) => dayRow(state, currency, day));
  const bookable = days.filter((row) => row.state === 'available');
  const priced = bookable.filter(({ lowest_price }) => lowest_price !== null);
  const lowest = {
    lowest_price: least(priced.map(({ lowest_price }) => lowest_price as number)),
    ...overDays(priced),
  };
  const place = (detail.geolocation ?? {}) as Row;
  const information = (checkout.additional_information ?? {}) as Row;
  const { success: _, ...checkoutDocument } = checkout;
  return {
    products: [
      {
        product_id,
        language,
        language_shown: text(document.language) ?? language,
        title: text(detail.title),
        tagline: text(detail.tagline),
        sale_status: enabled ? 'enabled' : 'disabled',
        sellable: enabled ? 1 : 0,
        disabled_reason: enabled ? null : text(detail.sale_status_reason),
        disabled_source: enabled ? null : 'read',
        expected_reopening: enabled ? null : text(detail.sale_status_expected_reopen),
        alternative_product_id: null,
        from_price,
        ...lowest,
        currency,
        city_id: number(detail.city_id),
        city_name: text(detail.city_name),
        city_slug: slug(detail.city_name, number(detail.city_id)),
        country_id: number(detail.country_id),
        country_name: text(detail.country_name),
        venue_id: number((detail.venue as Row | undefined)?.id),
        latitude: number(place.lat),
        longitude: number(place.lng),
        timezone: state.timezone,
        // Nobody has rated it: zero over nothing is no rating.
        rating: (detail.ratings as Row | null | undefined)?.total ? ((detail.ratings as Row).average ?? null) : null,
        rating_count: (detail.ratings as Row | null | undefined)?.total ?? null,
        prediscount_price,
        ...saidOf(document),
        venue_today: state.timezone === null ? null : state.today,
        document,
      },
    ],
    product_prices: [{ product_id, currency, from_price, ...lowest, prediscount_price }],
    product_tags: unique(((detail.tag_ids ?? []) as unknown[]).map(Number)).map((tag_id) => ({ product_id, tag_id })),
    product_experiences: unique(state.experience_ids).map((experience_id) => ({ product_id, experience_id })),
    checkout_information: [
      {
        product_id,
        language,
        language_shown: language,
        has_timeslots: number(checkout.has_timeslots),
        has_dynamic_pricing: number(checkout.has_dynamic_pricing),
        must_know: text(information.must_know),
        good_to_know: text(information.good_to_know),
        pre_purchase: text(information.pre_purchase),
        usage: text(information.usage),
        included: text(information.included),
        excluded: text(information.excluded),
        post_purchase: text(information.post_purchase),
        document: checkoutDocument,
      },
    ],
    variants: variantRows(state, language),
    images: images.map((image, position) => imageRow(product_id, image, position)),
    availability_days: days,
    bookable_days: bookable.map(
      ({ date, lowest_price, lowest_adult_price, price_variant_type, max_tickets }) =>
        ({ product_id, date, currency, lowest_price, lowest_adult_price, price_variant_type, max_tickets }),
    ), // biome-ignore format: one row
    availability_slots: state.days.flatMap(({ date, slots }) =>
      slots.flatMap(({ time, availability, offers }) =>
        offers.map(({ variant_id, max_tickets, retail_price, ticket_value, booking_fee, pricing_restriction }) => ({
          product_id,
          date,
          currency,
          time,
          variant_id,
          availability: counted(availability, state),
          max_tickets,
          // Less than nothing is no price, and what has none is not sold.
          ...(state.hostile?.variant_ids.includes(variant_id)
            ? { retail_price: null, ticket_value: null, booking_fee: null, max_tickets: 0 }
            : { retail_price, ticket_value, booking_fee }),
          commission: null,
          pricing_restriction,
          ...(state.bare ? unsaid : {}),
        })),
      ),
    ),
    withdrawn_products: [],
  };
}

/** What a timeslot of a bare product leaves out. */
const unsaid = {
  availability: null,
  max_tickets: null,
  retail_price: null,
  ticket_value: null,
  booking_fee: null,
  pricing_restriction: null,
};

/** What the document of a product says that is shown as it is. */
function saidOf(document: Row): Row {
  const { product_slug, product_url, summary, description, duration, languages } = document;
  const [venue, supplier, cancellation, start] = ['venue', 'supplier', 'cancellation', 'starting_point'].map(
    (name) => (document[name] ?? {}) as Row,
  );
  const yes = (name: string) => (document[name] == null ? null : Number(document[name]));
  return {
    slug: text(product_slug) || null,
    url: text(product_url),
    summary: text(summary),
    description: text(description),
    highlights: list(document.highlights),
    whats_included: text(document.whats_included),
    whats_excluded: text(document.whats_excluded),
    marketing_restrictions: list(document.marketing_restrictions),
    promo_label: text(document.promo_label),
    discount_percentage: document.discount_percentage ?? null,
    skip_line: yes('skip_line'),
    smartphone_ticket: yes('smartphone_ticket'),
    instant_ticket_delivery: yes('instant_ticket_delivery'),
    duration: text(duration),
    duration_minutes: inMinutes(duration),
    advance_arrival_minutes: inMinutes(document.advance_arrival_time),
    last_admission_minutes: inMinutes(document.last_admission_window),
    starting_point_address: text(start?.address),
    starting_point_label: text(start?.label),
    starting_point_city_id: number(start?.city_id),
    starting_point_latitude: number(start?.lat),
    starting_point_longitude: number(start?.lng),
    languages: list(languages),
    live_guide_languages: list(document.live_guide_languages),
    audio_guide_languages: list(document.audio_guide_languages),
    cancellation_policy: text(cancellation?.policy),
    cancellation_window: cancellation?.window ?? null,
    supplier: text(supplier?.name),
    venue_name: text(venue?.name),
    venue_address: text(venue?.address),
    wheelchair_access: yes('wheelchair_access'),
    is_package: yes('is_package'),
    package_products: list(document.package_products),
    in_packages: list(document.in_packages),
  };
}

function variantRows({ product_id, variants, availability_variants, groups }: Shown, language: string): Row[] {
  const enriching = new Map(availability_variants.map((variant) => [variant.id, variant]));
  return variants.map((variant) => {
    const document: Row = { ...enriching.get(variant.id), ...variant };
    const cancellation = (document.cancellation ?? {}) as Row;
    return {
      product_id,
      language,
      language_shown: language,
      variant_id: variant.id,
      label: text(variant.label),
      variant_type: text(variant.variant_type),
      description: text(document.description),
      cancellation_policy: text(cancellation.policy),
      cancellation_window: number(cancellation.window),
      languages: list(document.languages),
      source: 'variants',
      valid_with: list(document.valid_with_variant_ids),
      visitors_details: list(document.requires_visitors_details),
      group_ids: list(document.group_ids),
      group_names: named(document.group_ids, groups),
      document,
    };
  });
}

function named(group_ids: unknown, groups: Shown['groups']): string | null {
  const names = (Array.isArray(group_ids) ? group_ids : []).map((id) => groups.find((group) => group.id === id)?.name);
  return names.some((name) => name !== undefined) ? JSON.stringify(names) : null;
}

function imageRow(product_id: number, image: Row, position: number): Row {
  return { product_id, ...shownImage(image, position), file: null };
}

/** The columns of an image in a view. */
export function shownImage(image: Row, position: number): Row {
  const credit = String(image.credit ?? image.credits ?? '');
  return {
    position,
    image_key: /\/([0-9a-f]{32})\.jpg\?/.exec(JSON.stringify(image))?.[1],
    small_url: image.small ?? null,
    medium_url: image.medium ?? null,
    large_url: image.large ?? null,
    extra_large_url: image.extra_large ?? null,
    alt_text: image.alt_text ?? null,
    credit: credit === '' ? null : credit,
    document: image,
  };
}

/** A number that may be anything from one to another. */
export class Between {
  readonly from: number;
  readonly to: number;
  constructor(from: number, to: number) {
    this.from = from;
    this.to = to;
  }
}

/** A date without the times that have begun at the venue. */
interface LeftDay extends ShownDay {
  /** Whether it had times, and all have begun. */
  readonly over: boolean;
  /** How many times are left of a date that has lost one; null: it is whole. */
  readonly left: number | null;
}

function withoutPast(day: ShownDay, timezone: string | null, now: number): LeftDay {
  if (Date.parse(day.date) - mostAhead > now) return { ...day, over: false, left: null };
  const slots = day.slots.filter(({ time }) => !hasBegun(day.date, time, timezone, now));
  if (slots.length === day.slots.length) return { ...day, over: false, left: null };
  const availability = slots.reduce((sum, slot) => sum + slot.availability, 0);
  return { ...day, slots, availability, over: slots.length === 0, left: slots.length };
}

/** Furthest that clocks on earth are behind UTC and ahead of it. */
const mostBehind = 12 * 3_600_000;
const mostAhead = 14 * 3_600_000;

/** Where a time comes twice, the second counts; where nobody knows the zone, it has begun when it has everywhere on earth. */
function hasBegun(date: string, time: string, timezone: string | null, now: number): boolean {
  if (!/^\d\d:\d\d$/.test(time)) return false;
  const utc = Date.parse(`${date}T${time}:00Z`);
  if (utc + mostBehind <= now) return true;
  if (timezone === null || utc - mostAhead > now) return false;
  const at = Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(timezone, { disambiguation: 'later' });
  return at.epochMilliseconds <= now;
}

function counted(count: number, { counts_differ_by }: Shown, times = 1): number | Between {
  return counts_differ_by === 0 ? count : new Between(count, count + times * counts_differ_by);
}

function dayRow(state: { readonly days: readonly LeftDay[] } & Shown, currency: string, day: LeftDay): Row {
  const { product_id } = state;
  const nothing = day.sold_out || day.over || state.bare;
  const offered = day.slots.flatMap(({ offers }) => offers.map(({ retail_price }) => retail_price));
  const prices = offered.filter((price) => price >= 0);
  // A date of which every price is refused, as it is less than nothing.
  const refused = !nothing && prices.length === 0;
  const above = prices.filter((price) => price > 0);
  const tickets = day.slots.flatMap(({ offers }) => offers.map(({ max_tickets }) => max_tickets));
  return {
    product_id,
    date: day.date,
    currency,
    state: day.over ? 'not_on_sale' : day.sold_out || refused ? 'sold_out' : 'available',
    lowest_price: nothing || refused ? null : above.length > 0 ? Math.min(...above) : 0,
    ...(nothing || refused ? { lowest_adult_price: null, price_variant_type: null } : printed(state, day)),
    max_tickets: nothing ? null : refused ? 0 : Math.max(...tickets),
    availability: nothing ? null : counted(day.availability, state, day.left ?? 1),
    max_tickets_per_order: day.max_tickets_per_order,
  };
}

/** What an adult pays; where none can buy, the dearest of the type that most variants have. */
function printed(state: Shown, { slots }: LeftDay): Row {
  const types = new Map(
    [...state.availability_variants, ...state.variants].map((each) => [each.id, each.variant_type]),
  );
  const cheapest = new Map<number, number>();
  for (const { offers } of slots)
    for (const { variant_id, retail_price } of offers) {
      const prices = [cheapest.get(variant_id) ?? retail_price, retail_price];
      const paid = prices.filter((price) => price > 0);
      if (retail_price >= 0) cheapest.set(variant_id, paid.length > 0 ? Math.min(...paid) : 0);
    }
  const of = (type: unknown) => [...cheapest].filter(([id]) => types.get(id) === type).map(([, price]) => price);
  const adults = of('adult');
  const paid = adults.filter((price) => price > 0);
  if (adults.length > 0) return { lowest_adult_price: least(paid) ?? 0, price_variant_type: 'adult' };
  return mostCommon(new Set([...cheapest.keys()].map((id) => types.get(id))), of, (prices) => Math.max(...prices));
}

function overDays(days: readonly Row[]): Row {
  const of = (type: unknown) =>
    days.filter(({ price_variant_type }) => price_variant_type === type).map((day) => day.lowest_adult_price as number);
  if (of('adult').length > 0) return { lowest_adult_price: least(of('adult')), price_variant_type: 'adult' };
  return mostCommon(new Set(days.map(({ price_variant_type }) => price_variant_type)), of, (prices) =>
    Math.min(...prices),
  );
}

function mostCommon(
  types: ReadonlySet<unknown>,
  of: (type: unknown) => number[],
  pick: (prices: number[]) => number,
): Row {
  const ranked = [...types]
    .map((type) => ({ type, count: of(type).length, price: of(type).length > 0 ? pick(of(type)) : null }))
    .sort(
      (one, two) =>
        two.count - one.count || (two.price ?? 0) - (one.price ?? 0) || (String(one.type) < String(two.type) ? -1 : 1),
    );
  return { lowest_adult_price: ranked[0]?.price ?? null, price_variant_type: ranked[0]?.type ?? null };
}

function least(prices: readonly number[]): number | null {
  return prices.length === 0 ? null : Math.min(...prices);
}

/** Letters without a plain one under their mark. */
const spelled = new Map(
  ['øo', 'æae', 'ðd', 'þth', 'ßss', 'łl', 'đd', 'ıi', "'", '’'].map((pair) => [pair[0], pair.slice(1)]),
);

/** A name in plain letters, and the id behind it. */
export function slug(name: unknown, id: number | null): string | null {
  if (id === null) return null;
  const letters = [...String(name ?? '').toLowerCase()].map((letter) => spelled.get(letter) ?? letter);
  const words = letters
    .join('')
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .split(/[^a-z0-9]+/);
  return [...words, String(id)].filter((word) => word !== '').join('-');
}

/** Times as the service writes them: hours and minutes, with seconds or without. */
function inMinutes(value: unknown): number | null {
  const [hours, minutes] = typeof value === 'string' ? value.split(':').map(Number) : [];
  return hours === undefined || minutes === undefined ? null : 60 * hours + minutes;
}

function list(value: unknown): string | null {
  return Array.isArray(value) ? JSON.stringify(value) : null;
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Ids are digits, flags are 0 or 1. */
function number(value: unknown): number | null {
  return value === undefined || value === null ? null : Number(value);
}

/** Each of these ids once, in ascending order. */
function unique(ids: readonly number[]): number[] {
  return [...new Set(ids)].sort((one, other) => one - other);
}
