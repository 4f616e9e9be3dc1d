import type { CheckoutInformation, SharedMembers } from '../catalogue/checkout-information.rules.ts';
import type { Experience } from '../catalogue/experience.rules.ts';
import { type Image, imageKey } from '../catalogue/image.rules.ts';
import type { ProductEntry } from '../catalogue/product.rules.ts';
import { expiryOf } from '../catalogue/signed-address.rules.ts';
import type { Tag } from '../catalogue/tag.rules.ts';
import type { Variant, VariantGroup, VariantsAnswer } from '../catalogue/variant.rules.ts';
import { isMembers, type Members, memberNames } from '../kernel/values/exact-json.ts';
import { identifier } from '../kernel/values/identifier.ts';
import { pageAddress } from '../kernel/values/page-address.ts';
import type { MayPublish } from '../kernel/values/public-address.ts';
import type { ListAnswer } from './adapter.rules.ts';
import { type AnswerContext, amountsIn, count, refusedAddress, unreadable } from './member.rules.ts';
import type { ReadRows } from './service-asker.ts';
import {
  addressShape,
  checkoutShape,
  experienceShape,
  imageShape,
  informationShape,
  members,
  missing,
  placeShape,
  productShape,
  ratingShape,
  tagShape,
  UnreadMembers,
  unreadableCredit,
  variantShape,
  venueShape,
  WrongShape,
} from './shapes.rules.ts';

/** One page of a list. */
export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Rows that could not be used, each with the reason, like `row without id, it has product_id`; the others of the page stand. */
  readonly rejected: readonly string[];
  /** Number of rows in the whole list; null if the answer does not say. */
  readonly total: number | null;
  /** True if the page has fewer rows than its own page size states. */
  readonly short: boolean;
  /** Request for the next page according to the answer; null: there is no next page; undefined: the answer does not say. */
  readonly next: string | null | undefined;
  /** Names of the answer's members, as an example for people. */
  readonly members: string;
}

/**
 * Decodes a page of the product list (specification §4). Rejects rows without a usable id and keeps the others. With
 * `language`, a page on which every row is in another one is a wrong shape: the service ignores what it is asked for.
 */
export function decodeProductPage(
  list: ReadRows,
  currency: string,
  mayPublish: MayPublish,
  language: string | null = null,
): Page<ProductEntry> {
  if (language !== null) refuseOtherLanguage(list.rows, language);
  return decodePage(list, (row) => decodeProduct(row, currency, mayPublish));
}

/** A product that has no texts in the language, and says so, may be answered in another. One row alone decides nothing. */
function refuseOtherLanguage(list: readonly unknown[], language: string): void {
  const rows = list.filter(isMembers);
  const said = rows.map((row) => (typeof row.language === 'string' ? row.language.toLowerCase() : null));
  if (said.length < 2 || said.some((each) => each === null || each === language)) return;
  const ignored = rows.some(({ languages }) => !Array.isArray(languages) || languages.includes(language));
  if (ignored)
    throw new WrongShape(
      `asked for language ${language}, all ${rows.length} rows are in ${[...new Set(said)].slice(0, 3).join(', ')}; members: ${memberNames(rows[0])}`,
    );
}

/** Decodes a product's own read. */
export function decodeProductDetail(
  row: unknown,
  product_id: number,
  currency: string,
  mayPublish: MayPublish,
): ProductEntry {
  const entry = decodeProduct(row, currency, mayPublish);
  if (entry.product_id !== product_id)
    throw new WrongShape(`asked for product ${product_id}, answered with ${entry.product_id}`);
  return entry;
}

/** Decodes the rows of a page, and what is said of the whole list. */
function decodePage<Entry>(list: ReadRows, decode: (row: unknown) => Entry): Page<Entry> {
  const { rows, next, members } = list;
  const [size, total] = [list.page_size, list.total].map((sent) => {
    const number = count.read(sent);
    return number === unreadable ? null : number;
  }) as [number | null, number | null];
  const entries: Entry[] = [];
  const rejected: string[] = [];
  for (const row of rows) {
    try {
      if (isMembers(row) && row.id === undefined) throw new WrongShape(`row without id, it has ${memberNames(row)}`);
      entries.push(decode(row));
    } catch (error) {
      if (!(error instanceof WrongShape)) throw error;
      rejected.push(error.message);
    }
  }
  const short = size !== null && rows.length < size;
  return { entries, rejected, total, short, next, members };
}

function decodeProduct(json: unknown, currency: string, mayPublish: MayPublish): ProductEntry {
  const unread = new UnreadMembers();
  const product = members(json, 'the product');
  const read = productShape.read(product, unread, contextOf(product, currency, mayPublish));
  const { images, ...rest } = product;
  // If null or missing, it says nothing about images: the known ones stay until their 14 days are over.
  const shown = read.images === null ? null : decodeImages(read.images, mayPublish, unread);
  return {
    product_id: read.id,
    title: read.title,
    tagline: read.tagline,
    sale_status: read.sale_status ?? 'unknown',
    disabled_reason: read.sale_status_reason,
    expected_reopening: read.sale_status_expected_reopen,
    from_price: read.price,
    prediscount_price: read.prediscount_price,
    city_id: read.city_id,
    city_name: read.city_name,
    country_id: read.country_id,
    country_name: read.country_name,
    venue_id: venueShape.read(read.venue ?? {}, unread).id,
    ...placed(read.geolocation, unread),
    timezone: read.timezone,
    ...rated(read.ratings, unread),
    tag_ids: read.tag_ids ?? [],
    images: shown?.images ?? null,
    document: JSON.stringify(rest),
    images_hidden: shown?.hidden ?? 0,
    images_expire_at: shown?.expire_at,
    unread: unread.examples,
  };
}

/** Returns the context of a row: no amounts are read in one whose currency is another one, or unreadable. */
function contextOf({ currency: sent }: Members, currency: string, mayPublish: MayPublish): AnswerContext {
  const own = productShape.members.currency.read(sent);
  return { amount: own === null || own === currency ? amountsIn(currency) : () => null, mayPublish };
}

/** Returns where something is. */
function placed(place: Members | null, unread: UnreadMembers): { latitude: number | null; longitude: number | null } {
  const { lat, lng } = placeShape.read(place ?? {}, unread);
  return { latitude: lat, longitude: lng };
}

/** Returns the average and how many rated; zero ratings mean no rating, even if there is an average. */
function rated(ratings: Members | null, unread: UnreadMembers): { rating: number | null; rating_count: number | null } {
  const { average, total } = ratingShape.read(ratings ?? {}, unread);
  return { rating: total === 0 ? null : average, rating_count: total };
}

/** Decodes the images of a product or an experience. One with an address that is not handed on is left out. */
function decodeImages(
  list: readonly unknown[],
  mayPublish: MayPublish,
  unread: UnreadMembers,
): { images: Image[]; hidden: number; expire_at: number | undefined } {
  const first = new Map<string, Image>();
  let hidden = 0;
  let expire_at: number | undefined;
  for (const [position, sent] of list.entries()) {
    const image = members(sent, 'an image');
    const { credit, small, medium, large, extra_large, ...rights } = imageShape.read(image, unread, {
      amount: () => null,
      mayPublish,
    });
    // An image is shown with all its sizes, or not at all.
    const sizes = [large, medium, extra_large, small].filter((each) => each !== null);
    if (sizes.includes(refusedAddress)) continue;
    if (credit === unreadableCredit || Object.values(rights).includes(false)) {
      hidden += 1;
      continue;
    }
    const image_key = sizes[0] === undefined ? null : imageKey(sizes[0]);
    if (image_key === null || first.has(image_key)) continue;
    first.set(image_key, { image_key, position, credit, document: JSON.stringify(image) });
    for (const size of sizes) {
      const ends_at = expiryOf(size);
      if (ends_at !== null) expire_at = Math.min(expire_at ?? ends_at, ends_at);
    }
  }
  return { images: [...first.values()], hidden, expire_at };
}

/** Decodes a page of the experience list. */
export function decodeExperiencePage(list: ReadRows, currency: string, mayPublish: MayPublish): Page<Experience> {
  return decodePage(list, (row) => decodeExperience(members(row, 'the experience'), currency, mayPublish));
}

function decodeExperience(json: Members, currency: string, mayPublish: MayPublish): Experience {
  const unread = new UnreadMembers();
  const read = experienceShape.read(json, unread, contextOf(json, currency, mayPublish));
  if (read.images === null && json.images != null) throw new WrongShape('images of the experience is no list');
  const { images, ...rest } = json;
  const { street, city_name, country_name } = addressShape.read(read.address ?? {}, unread);
  return {
    experience_id: read.id,
    title: read.title,
    tagline: read.tagline || null,
    description: read.description || null,
    url: pageAddress(json.experience_url),
    address: street || null,
    city_name: city_name || null,
    country_name: country_name || null,
    ...placed(read.geolocation, unread),
    ...rated(read.ratings, unread),
    from_price: read.from_price,
    product_ids: read.product_ids ?? [],
    // If null or missing, the known ones stay until their 14 days are over.
    images: read.images === null ? null : decodeImages(read.images, mayPublish, unread).images,
    document: JSON.stringify(rest),
    unread: unread.examples,
  };
}

/** Decodes a page of the list of tags. */
export function decodeTagPage(list: ReadRows): Page<Tag> {
  return decodePage(list, (row) => {
    const unread = new UnreadMembers();
    const { id: tag_id, name, type_name, type_group_name } = tagShape.read(row, unread);
    return {
      tag_id,
      name: name || null,
      type_name: type_name || null,
      type_group_name: type_group_name || null,
      document: JSON.stringify(row),
      unread: unread.examples,
    };
  });
}

/**
 * Decodes the variants of a product, also those in its availability (specification §2). One without a usable id is a
 * wrong shape.
 */
export function decodeVariants(rows: readonly unknown[], unread: UnreadMembers): Variant[] {
  const variants = rows.map((row) => ({
    variant_id: variantShape.read(row, unread).id,
    document: JSON.stringify(row),
  }));
  return [...new Map(variants.map((variant) => [variant.variant_id, variant])).values()];
}

/** Decodes the variants read of a product. */
export function decodeVariantsRead({ rows, groups }: ListAnswer): VariantsAnswer {
  const unread = new UnreadMembers();
  const variants = decodeVariants(rows, unread);
  return { variants, groups: decodeGroups(groups), unread: unread.examples };
}

/** Returns the groups of variants that have a name. */
export function decodeGroups(sent: unknown): VariantGroup[] {
  return (Array.isArray(sent) ? sent : []).filter(isMembers).flatMap(({ id, name }) => {
    const group_id = identifier(id);
    return group_id === null || typeof name !== 'string' || name === '' ? [] : [{ group_id, name }];
  });
}

/** Returns which of the undeclared members of an answer are not the product's own. */
type SharedIn = (undeclared: Members) => SharedMembers;
const none: SharedIn = () => ({ common: [], unsure: [] });

/** Members that are about the product, also where all products have the same value. */
const payload = new Set([
  ...Object.keys(checkoutShape.members),
  ...[
    'starting_point',
    'usage',
    'pre_purchase',
    'post_purchase',
    'included',
    'excluded',
    'whats_included',
    'whats_excluded',
  ],
]);

/**
 * Decodes the checkout information of a product (specification §2); an answer without either flag has the wrong shape.
 * So has one whose texts cannot be read: they must be shown before a sale, and the earlier ones stay.
 */
export function decodeCheckoutInformation(row: Members, sharedIn: SharedIn = none): CheckoutInformation {
  if (row.has_timeslots == null && row.has_dynamic_pricing == null)
    throw missing(row, 'has_timeslots or has_dynamic_pricing');
  const [unread, texts] = [new UnreadMembers(), new UnreadMembers()];
  const { additional_information, ...flags } = checkoutShape.read(row, unread);
  if (additional_information === null && row.additional_information != null)
    throw new WrongShape('additional_information of the checkout information is no object');
  const information = informationShape.read(additional_information ?? {}, texts);
  const [unreadable] = texts.examples ?? [];
  if (unreadable !== undefined) throw new WrongShape(`${unreadable[0]} is ${unreadable[1].example}, no text`);
  const { common, unsure } = sharedIn(Object.fromEntries(Object.entries(row).filter(([name]) => !payload.has(name))));
  const shared = common.length + unsure.length === 0 ? {} : { shared: { common, unsure } };
  return { ...flags, ...information, document: JSON.stringify(row), ...shared, unread: unread.examples };
}
