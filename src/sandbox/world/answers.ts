import { hex, roll } from '../random.ts';
import type { CalendarDay, CalendarOffer } from './calendar.ts';
import type { SandboxImage, SandboxProduct } from './catalogue.ts';
import { editedMembers } from './edits.ts';
import { convert, printAmount } from './money.ts';
import { translate } from './translate.ts';

/*
 * The service's answers as JSON text. Amounts are printed by hand, because the
 * service sends 9, 9.5 and 17.0, and JSON.stringify cannot. The id of a product decides which optional members it
 * lacks. No generated id is a multiple of three.
 */

const contentLanguages = ['en', 'nl', 'fr', 'de', 'it', 'es', 'pt'];

/** Returns a list entry, which has no description. */
export function productEntry(product: SandboxProduct, language: string, currency: string): string {
  return printProduct(product, language, currency, null);
}

/** Returns the single-product read, which has the description. */
export function productDetail(product: SandboxProduct, language: string, currency: string): string {
  return printProduct(product, language, currency, translate(product.description, languageOf(product, language)));
}

function languageOf({ untranslated }: SandboxProduct, asked: string): string {
  return untranslated ? 'en' : asked;
}

/** Returns the members of an answer. A bare product has only the required ones. */
function said<Members extends object>(
  { bare }: SandboxProduct,
  members: Members,
  needed: readonly (keyof Members)[],
): Partial<Members> {
  if (!bare) return members;
  return Object.fromEntries(needed.map((name) => [name, members[name]])) as Partial<Members>;
}

function printProduct(product: SandboxProduct, asked: string, currency: string, description: string | null): string {
  const language = languageOf(product, asked);
  if (product.recorded !== null) return JSON.stringify(product.recorded);
  const { id, place, status, rating, price, from_price = price, images_null = false, views_today } = product;
  const entry = {
    id: String(id),
    language,
    ...(id % 13 === 0 ? {} : { languages: contentLanguages }),
    title: translate(product.title, language),
    tagline: translate(product.tagline, language),
    summary: id % 8 === 0 ? null : `${translate(product.title, language)}.\r\n\r\nOpen most days.`,
    description,
    whats_included: id % 8 === 4 ? null : translate('* Entry\r\n* A map', language),
    whats_excluded: id % 2 === 0 ? translate('* Food and drinks', language) : null,
    highlights: id % 10 === 4 ? [translate('Rooms of glass', language), translate('The roof', language)] : null,
    city_id: String(product.city_id),
    city_name: translate(place.city, language),
    country_id: String(product.country_id),
    country_name: translate(place.country, language),
    tag_ids: product.tag_ids.map(String),
    ...whereabouts(product),
    ...(place.zone === null ? {} : { timezone: place.zone }),
    images: images_null ? null : product.images.map((image, position) => printImage(image, position, product)),
    ratings: rating ?? { average: null, total: 0 },
    discount_percentage: id % 4 === 0 ? 20 : null,
    currency,
    supplier_currency: 'EUR',
    sale_status: status,
    sale_status_reason: product.reason,
    sale_status_expected_reopen: product.reopen,
    ...(id % 10 === 0 ? {} : { is_package: id % 12 === 8 }),
    in_packages: id % 11 === 3 ? [id + 57, id + 114] : null,
    package_products: id % 12 === 8 ? [id - 57, id - 114] : null,
    product_groups: null,
    product_url: id % 19 === 0 ? null : `https://shop.sandbox.invalid/${language}/p${id}/?partner=sandbox`,
    product_slug: id % 14 === 0 ? '' : `p${id}`,
    promo_label: id % 11 === 0 ? 'bestseller' : null,
    cancellation: id % 16 === 0 ? null : id % 7 === 3 ? { policy: 'before_date', window: 24 } : { policy: 'never' },
    supplier: id % 13 === 0 ? null : { name: `${product.title.split(' ')[0]} Foundation`, city: place.city },
    marketing_restrictions: id % 11 === 5 ? ['no_brand_bidding'] : null,
    duration: id % 9 === 2 ? null : '01:30',
    advance_arrival_time: id % 5 === 2 ? '0:15:00' : null,
    ...(id % 7 === 1 ? { last_admission_window: '01:00' } : {}),
    live_guide_languages: id % 4 === 2 ? ['en', 'nl'] : null,
    audio_guide_languages: id % 5 === 3 ? ['en', 'fr'] : id % 2 === 0 ? [] : null,
    starting_time: null,
    wheelchair_access: id % 5 === 0 ? null : id % 2 === 0,
    ...(id % 10 === 5 ? {} : { smartphone_ticket: id % 8 !== 3, instant_ticket_delivery: id % 7 !== 3 }),
    skip_line: id % 4 === 0 ? null : id % 4 === 1,
    // Undocumented members, which a mirror has to keep too.
    ...(id % 7 === 0 ? { sandbox_note: { nobody: 'documents this', id } } : {}),
    ...(views_today === undefined ? {} : { views_today }),
    ...editedMembers(product, 'product', language),
  };
  if (product.bare) return JSON.stringify(said(product, entry, ['id', 'timezone', 'images', 'sale_status']));
  const before = prediscountPrice(product, currency);
  const amounts = {
    price: printAmount(convert(from_price, currency, product.rate), currency),
    prediscount_price: before === null ? 'null' : printAmount(before, currency),
    price_in_supplier_currency: printAmount(from_price, 'EUR'),
  };
  const printed = Object.entries(amounts).map(([name, amount]) => `,"${name}":${amount}`);
  return `${JSON.stringify(entry).slice(0, -1)}${printed.join('')}}`;
}

/** Returns the price before a reduction, in the smallest unit of a currency; null: not reduced. */
export function prediscountPrice({ id, price, rate, recorded }: SandboxProduct, currency: string): number | null {
  return recorded !== null || id % 4 !== 0 ? null : convert(Math.round(price * 1.25), currency, rate);
}

function whereabouts({ id, place, title, city_id, experience_ids }: SandboxProduct) {
  return {
    venue: {
      id: String(experience_ids[0]),
      name: title.split(':')[0],
      ...(id % 17 === 0 ? {} : { address: `${1 + (id % 90)} Quay Street` }),
      postal_code: '1011 ZZ',
    },
    geolocation: { lat: place.lat, lng: place.lng },
    distance: null,
    starting_point: {
      address: `${1 + (id % 90)} Quay Street`,
      city_id,
      label: id % 5 === 1 ? 'The red gate' : null,
      lat: place.lat,
      lng: place.lng,
    },
  };
}

const imageSizes = ['small', 'medium', 'large', 'extra_large'] as const;

/** Prints an image. Images of a bare product have one size each. */
function printImage(image: SandboxImage, position: number, product: SandboxProduct) {
  return said(product, wholeImage(image, product.image_origin), [imageSizes[position % 4] ?? 'large']);
}

function wholeImage({ name, credit, alt_text, origin }: SandboxImage, usual: string) {
  const url = (width: number) =>
    `${origin ?? usual}/images/content/${name}.jpg?auto=format&fit=crop&h=${width}&q=70&w=${width}`;
  return { small: url(128), medium: url(250), large: url(500), extra_large: url(1200), alt_text, credit };
}

export function checkoutInformation(product: SandboxProduct, language: string): string {
  const { id, slots, dynamic, title } = product;
  const answer = {
    success: true,
    has_timeslots: slots > 0,
    has_dynamic_pricing: dynamic,
    additional_information: {
      must_know: id % 5 === 0 ? null : translate('Bring a photo ID.', language),
      good_to_know: id % 4 === 0 ? null : translate(`Lockers are free at ${title.split(':')[0]}.`, language),
      pre_purchase: id % 6 === 0 ? null : translate('Choose the day with care: it cannot be changed.', language),
      usage: id % 7 === 0 ? null : translate('Show the ticket on your phone at the gate.', language),
      included: id % 3 === 0 ? null : translate('* Entry\n* Cloakroom', language),
      excluded: id % 2 === 0 ? null : translate('* Food', language),
      post_purchase: id % 8 === 0 ? null : translate('The ticket comes by mail.', language),
      ...editedMembers(product, 'checkout_information', language),
    },
    starting_point: null,
  };
  return JSON.stringify(said(product, answer, ['success', id % 2 === 0 ? 'has_timeslots' : 'has_dynamic_pricing']));
}

/** The group of variants without a group. */
const noGrouping = { id: 7, name: 'Default' };

/** Returns the members of the variants read. Availability has more members. */
function variantMembers(product: SandboxProduct, language: string) {
  const { variants, id: product_id } = product;
  return variants.map(({ id, label, type, group = noGrouping, more = {} }) => {
    const variant = {
      id,
      label: translate(label, language),
      description: type === 'child' ? translate('Only with an adult', language) : null,
      variant_type: type,
      valid_with_variant_ids: variants.map((each) => each.id),
      requires_visitors_details: product_id % 5 === 1 ? ['full_name'] : [],
      group_ids: [group.id],
      cancellation: { policy: 'before_date', window: 24 },
      ...more,
    };
    return said(product, variant, ['id']);
  });
}

/** Returns the most tickets of an order; null: no limit is reported. */
export function maxTicketsPerOrder({ id, order_limit }: SandboxProduct): number | null {
  if (order_limit !== undefined) return order_limit;
  return id % 10 === 0 ? null : 20;
}

export function productVariants(product: SandboxProduct, language: string): string {
  return JSON.stringify({
    success: true,
    sales_enabled: product.status === 'available',
    dynamic_pricing: product.dynamic,
    max_tickets_per_order: 20,
    variants: variantMembers(product, language),
    groups: groupsOf(product, language),
  });
}

function groupsOf({ variants }: SandboxProduct, language: string) {
  const groups = new Map(variants.map(({ group = noGrouping }) => [group.id, translate(group.name, language)]));
  return Array.from(groups, ([id, name]) => ({ id, name }));
}

/** Returns an availability answer over these days. A product that is not on sale has none. */
export function availability(
  product: SandboxProduct,
  days: readonly CalendarDay[],
  { language, currency, capped_at }: { language: string; currency: string; capped_at: string | null },
): string {
  const zone = product.place.zone === null ? '' : `"timezone":${JSON.stringify(product.place.zone)},`;
  const print = product.bare ? ({ variant_id }: CalendarOffer) => `{"id":${variant_id}}` : offerPrinter(currency);
  const places = (count: number) => (product.bare ? '' : `"availability":${count},`);
  const dates = days.map((day) => {
    const slots = day.slots.map(({ time, availability: left, offers }) => {
      const gate = product.id % 50 === 0 ? ',"gate":"B"' : '';
      return `{"time":"${time}",${zone}${places(left)}"variants":[${offers.map(print).join(',')}]${gate}}`;
    });
    return `{"date":"${day.date}",${places(day.availability)}"timeslots":[${slots.join(',')}]}`;
  });
  const variants =
    days.length === 0
      ? []
      : variantMembers(product, language).map((variant) => ({
          ...variant,
          languages: product.id % 4 === 1 ? ['en', 'de'] : [],
          language_selection: [],
          dynamic_variant_pricing: product.dynamic,
        }));
  const head = {
    success: true,
    sales_enabled: product.status === 'available',
    dynamic_pricing: product.dynamic,
    capped_at,
    max_tickets_per_order: maxTicketsPerOrder(product),
  };
  const tail = { variants, groups: groupsOf(product, language) };
  return `${JSON.stringify(head).slice(0, -1)},"dates":[${dates.join(',')}],${JSON.stringify(tail).slice(1)}`;
}

/** Returns a function that prints an offer, once for all slots that share it. */
function offerPrinter(currency: string): (offer: CalendarOffer) => string {
  const printed = new Map<CalendarOffer, string>();
  return (offer) => {
    const known = printed.get(offer);
    if (known !== undefined) return known;
    const amount = (value: number) => printAmount(value, currency);
    const prices =
      `"total_retail_price_incl_vat":${amount(offer.retail_price)},"sale_ticket_value_incl_vat":${amount(offer.ticket_value)},` +
      `"booking_fee_incl_vat":${amount(offer.booking_fee)},"distributor_commission_excl_vat":${amount(offer.commission)}`;
    const text = `{"id":${offer.variant_id},"max_tickets":${offer.max_tickets},"currency":"${currency}","pricing_restriction":${offer.pricing_restriction},"price_mediation":{${prices}}}`;
    printed.set(offer, text);
    return text;
  };
}

/** Returns a tag. Some have no type, and some no name in any language but the service's own. */
export function tag(
  id: number,
  { language, edits }: { language: string; edits: Readonly<Record<string, unknown>> },
): Record<string, unknown> {
  const name = id % 11 === 3 && language !== 'en' ? null : translate(`Tag ${id}`, language);
  const type_id = 1 + (id % 4);
  const type = { type_name: translate(`Theme ${type_id}`, language), type_id, type_group_name: `Group ${type_id % 2}` };
  return { id: String(id), name, ...(id % 7 === 0 ? {} : type), ...edits };
}

/** Returns the images of an experience: none to two. */
function venueImages(id: number): SandboxImage[] {
  return Array.from({ length: id % 3 }, (_, each) => ({
    name: hex(32, 7, id, 'venue image', each),
    credit: each === 0 ? 'Photo: Harbour Studio' : null,
    alt_text: id % 2 === 0 ? null : `Hall ${each + 1}`,
  }));
}

/** Returns an experience with its products. */
export function experience(
  id: number,
  product_ids: readonly number[],
  { language, currency, edits }: { language: string; currency: string; edits: Readonly<Record<string, unknown>> },
): string {
  return JSON.stringify({
    id,
    title: translate(`Experience ${id}`, language),
    tagline: id % 4 === 0 ? null : translate(`All about ${id}`, language),
    description: id % 4 === 1 ? null : translate(`Experience ${id} has three floors.`, language),
    type: id % 3 === 0 ? 'activity' : 'venue',
    currency,
    ...(id % 5 === 0 ? {} : { from_price: 9 + (id % 40) }),
    ...(id % 6 === 0 ? { address: null } : { address: { street: `${id % 90} Quay Street`, city_name: 'Harbourton' } }),
    ...(id % 7 === 0 ? { geolocation: { lat: 52 + (id % 100) / 100, lng: 4.9 } } : {}),
    ratings: { average: 4 + Math.round(roll(id, 1) * 9) / 10, total: id % 1000 },
    images: venueImages(id).map((image) => wholeImage(image, 'https://images.sandbox.invalid')),
    product_ids,
    tag_ids: [],
    experience_url: `https://shop.sandbox.invalid/${language}/e${id}/`,
    ...edits,
  });
}
