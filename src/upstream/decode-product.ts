import { type Image, imageKey } from '../domain/catalogue/image.ts';
import { type ProductEntry, saleStatus } from '../domain/catalogue/product.ts';
import type { MayPublish } from '../domain/push/public-address.ts';
import { knownZone } from '../domain/time/venue.ts';
import { identifier } from '../domain/values/identifier.ts';
import { isMembers, type Members, memberNames } from '../domain/values/members.ts';
import type { ReadRows } from './adapter/service-asker.ts';
import { elements, integer, measure, members, missing, money, text, WrongShape } from './shape.ts';

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
  const said = rows.map((row) => text(row.language)?.toLowerCase() ?? null);
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
export function decodePage<Entry>(list: ReadRows, decode: (row: unknown) => Entry): Page<Entry> {
  const { rows, next, members } = list;
  const [size, total] = [integer(list.page_size), integer(list.total)];
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
  const product = members(json, 'the product');
  const product_id = identifier(product.id);
  if (product.id === undefined) throw missing(product, 'id');
  if (product_id === null) throw new WrongShape(`product id ${JSON.stringify(product.id)} is no usable identifier`);
  const { images, ...rest } = product;
  const place = isMembers(product.geolocation) ? product.geolocation : {};
  const venue = isMembers(product.venue) ? product.venue : {};
  const ratings = isMembers(product.ratings) ? product.ratings : {};
  const foreign = typeof product.currency === 'string' && product.currency.toUpperCase() !== currency;
  const amounts = [product.price, product.prediscount_price].map((amount) =>
    foreign ? null : money(amount, currency),
  );
  const [from_price = null, prediscount_price = null] = amounts.map((amount) =>
    amount !== null && amount < 0 ? null : amount,
  );
  const shown = images == null ? null : decodeImages(elements(images, 'images'), mayPublish);
  const refused = {
    images: shown?.refused ?? 0,
    prices: amounts.filter((amount) => amount !== null && amount < 0).length,
  };
  return {
    product_id,
    title: text(product.title),
    tagline: text(product.tagline),
    sale_status: saleStatus(product.sale_status),
    disabled_reason: text(product.sale_status_reason),
    expected_reopening: text(product.sale_status_expected_reopen),
    from_price,
    prediscount_price,
    city_id: identifier(product.city_id),
    city_name: text(product.city_name),
    country_id: identifier(product.country_id),
    country_name: text(product.country_name),
    venue_id: identifier(venue.id),
    latitude: measure(place.lat),
    longitude: measure(place.lng),
    timezone: knownZone(product.timezone),
    ...rated(ratings),
    tag_ids: Array.isArray(product.tag_ids)
      ? [...new Set(product.tag_ids.map(identifier).filter((id) => id !== null))]
      : [],
    // If null or missing, it says nothing about images: the known ones stay until their 14 days are over.
    images: shown?.images ?? null,
    document: JSON.stringify(rest),
    ...(refused.images + refused.prices > 0 ? { refused } : {}),
  };
}

/** Returns the average and how many rated; zero ratings mean no rating, even if there is an average. */
export function rated({ average, total }: Members): { rating: number | null; rating_count: number | null } {
  const [stars, people] = [measure(average), integer(total)];
  return { rating: people === 0 ? null : stars, rating_count: people };
}

/** Decodes the images of a product or an experience. `refused`: how many have an address that is not handed on. */
export function decodeImages(list: readonly unknown[], mayPublish: MayPublish): { images: Image[]; refused: number } {
  const rows = list.map((image) => members(image, 'an image'));
  const good = rows.map((image) => isPublishable(image, mayPublish));
  const images = rows.map((image, position) => (good[position] ? decodeImage(image, position) : null));
  const refused = good.filter((each) => !each).length;
  const first = new Map<string, Image>();
  for (const image of images) if (image !== null && !first.has(image.image_key)) first.set(image.image_key, image);
  return { images: [...first.values()], refused };
}

const sizes = ['large', 'medium', 'extra_large', 'small'] as const;

/** An image is shown with all its sizes, or not at all. */
function isPublishable(image: Members, mayPublish: MayPublish): boolean {
  return sizes.every((size) => {
    const url = text(image[size]);
    return url === null || url === '' || mayPublish(url);
  });
}

/** Decodes an image in the form of 2026 (`credit`, `extra_large`) or of 2017 (`credits`, no `extra_large`). */
function decodeImage(image: Members, position: number): Image | null {
  const url = sizes.map((size) => text(image[size])).find((each) => each !== null);
  const image_key = url == null ? null : imageKey(url);
  if (image_key === null) return null;
  const credit = [image.credit, image.credits].map(text).find((each) => each !== null && each.trim() !== '') ?? null;
  return { image_key, position, credit, document: JSON.stringify(image) };
}
