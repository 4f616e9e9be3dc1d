import { dayMs } from '../../kernel/clock.ts';
import { type Cut, cut, datesAsked, inOrder, inWalk, withCounters, withCounts, withMembers } from '../rough/reads.ts';
import type { Roughness } from '../rough/roughness.ts';
import {
  availability,
  checkoutInformation,
  experience,
  productDetail,
  productEntry,
  productVariants,
  tag,
} from '../world/answers.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import { isCurrency } from '../world/money.ts';
import { translate } from '../world/translate.ts';
import type { World } from '../world/world.ts';
import type { SandboxAnswer } from './answer.ts';
import type { Recording } from './recording.ts';

export interface RouteOptions {
  /** True: the single-product read exists. */
  readonly detail: boolean;
  /** The status with which a withdrawn product is answered. */
  readonly gone: 404 | 410;
  /** The availability answer for a product that is not on sale: `sales_enabled: false`, or a 400. */
  readonly disabled: 'flag' | 'refuse';
  readonly rough: Roughness;
  /** The recording of a real service, which takes precedence over generated answers; null: none. */
  readonly recording: Recording | null;
  /** Returns the members that stand beside the payload in every answer. */
  beside(): Readonly<Record<string, unknown>>;
  /** Called with the position of a list page before the page is cut from the list. */
  onPage(position: number): void;
}

/** The language and currency of an answer. */
interface Edition {
  readonly language: string;
  readonly currency: string;
}

const pattern = /^\/v2\/(products|experiences|cities|countries|tags)(?:\/(\d+)(?:\/([a-z_-]+))?)?$/;

/** Answers the read endpoints that the specification and docs/service.md list, with the service's quirks. */
export function route(world: World, url: URL, options: RouteOptions): SandboxAnswer {
  const { rough } = options;
  const isList = /^\/v2\/[a-z]+$/.test(url.pathname);
  rough.count(url.pathname === '/v2/products' ? Number(url.searchParams.get('page') ?? 1) : null);
  const plain = isList
    ? rough.page(url.pathname + url.search, () => plainRoute(world, url, options))
    : plainRoute(world, url, options);
  const answer = { ...plain, body: withMembers(plain.body, options.beside()) };
  return rough.quirks().counters === 'none'
    ? answer
    : { ...answer, body: withCounters(answer.body, rough.reads(), world.clock.now()) };
}

function plainRoute(world: World, url: URL, options: RouteOptions): SandboxAnswer {
  const [, resource, id, part] = pattern.exec(url.pathname) ?? [];
  const query = url.searchParams;
  const language = query.get('lang') ?? 'en';
  const currency = query.get('currency') ?? 'EUR';
  if (!/^[a-z]{2}$/.test(language)) return refuse('lang', 'Not a language.');
  if (!isCurrency(currency)) return refuse('currency', 'Not a currency.');
  if (resource === 'products' && id === undefined) return list(world, query, language, currency, options);
  const recorded =
    options.recording?.answer({ resource, id: id === undefined ? null : Number(id), part, query }) ?? null;
  if (recorded !== null) return recorded;
  if (resource === 'experiences' && part === undefined)
    return experiences(world, query, id, { language, currency }, options);
  if (resource === 'tags' && id === undefined) return tags(world, query, language, options);
  if (resource === 'cities' || resource === 'countries') return reference(world, resource, query, language, options);
  if (resource !== 'products' || (part === undefined && !options.detail))
    return error(404, 'not_found', 'There is nothing here.');
  const found = world.find(Number(id));
  if (found === null) return error(404, 'not_found', `No product ${id} here.`);
  const read = part === undefined ? 'detail' : 'other';
  const product = options.rough.shown(found, read, part === 'availability' ? 'dates' : 'product');
  if (product.withdrawn)
    return options.gone === 410
      ? error(410, 'resource_gone', 'Not published any more.')
      : error(404, 'not_found', `No product ${id} here.`);
  switch (part) {
    case undefined:
      return { status: 200, body: `{"success":true,"product":${productDetail(product, language, currency)}}` };
    case 'checkout_information':
      return { status: 200, body: checkoutInformation(product, language) };
    case 'product-variants':
      return { status: 200, body: productVariants(product, language) };
    case 'reviews':
      return { status: 200, body: '{"success":true,"product_reviews":[]}' };
    case 'availability':
      return dates(world, product, query, { language, currency }, options);
    default:
      return error(404, 'not_found', 'There is nothing here.');
  }
}

function list(
  world: World,
  query: URLSearchParams,
  language: string,
  currency: string,
  options: RouteOptions,
): SandboxAnswer {
  const paging = pageOf(query);
  if (paging === null) return refuse('page_size', 'From 1 to 100.');
  const { rough } = options;
  options.onPage((paging.page - 1) * paging.size);
  const wanted = filter(query);
  const order = query.get('sort');
  if (order !== null && !/^popularity( desc)?$/.test(order)) return refuse('sort', 'Not an order.');
  const found = inWalk(
    inOrderOf(
      order,
      world.visible().filter((each) => wanted(each) && (language === 'en' || !each.untranslated)),
    ),
    rough.walks(),
    rough.seed,
    rough.quirks(),
  );
  const page = cut(found, paging, rough.quirks());
  const rows = page.rows.map((product) => productEntry(rough.shown(product, 'list', 'none'), language, currency));
  return paged('products', { ...page, rows });
}

/** Returns the products in the requested order. The list of the world is in ascending order of popularity. */
function inOrderOf(order: string | null, products: readonly SandboxProduct[]): readonly SandboxProduct[] {
  return order === 'popularity' ? products.toReversed() : products;
}

function filter(query: URLSearchParams): (product: SandboxProduct) => boolean {
  const numbers = (name: string) => query.getAll(name).map(Number);
  const [cities, countries, tags, without] = [
    numbers('city_id'),
    numbers('country_id'),
    numbers('tag_id'),
    numbers('exclude_city_id'),
  ];
  const text = query.get('query')?.toLowerCase() ?? '';
  return ({ city_id, country_id, tag_ids, title, edits }) =>
    (cities.length === 0 || cities.includes(city_id)) &&
    (countries.length === 0 || countries.includes(country_id)) &&
    (tags.length === 0 || tags.some((tag) => tag_ids.includes(tag))) &&
    !without.includes(city_id) &&
    String(edits?.title ?? title)
      .toLowerCase()
      .includes(text);
}

function experiences(
  world: World,
  query: URLSearchParams,
  id: string | undefined,
  { language, currency }: Edition,
  { rough }: RouteOptions,
): SandboxAnswer {
  const all = world.experiences();
  const print = (each: number, members: readonly number[]) =>
    experience(each, members, { language, currency, edits: world.experienceEdits.get(each) ?? {} });
  if (id !== undefined) {
    const members = all.get(Number(id));
    if (members === undefined) return error(404, 'not_found', `No experience ${id} here.`);
    return {
      status: 200,
      body: `{"success":true,"experience":${print(Number(id), members)}}`,
    };
  }
  const paging = pageOf(query);
  if (paging === null) return refuse('page_size', 'From 1 to 100.');
  const page = cut([...all], paging, rough.quirks());
  const rows = page.rows.map(([each, members]) => print(each, members));
  return paged('experiences', { ...page, rows });
}

function tags(world: World, query: URLSearchParams, language: string, { rough }: RouteOptions): SandboxAnswer {
  const paging = pageOf(query);
  if (paging === null) return refuse('page_size', 'From 1 to 100.');
  const { rows, ...page } = cut(world.tags(), paging, rough.quirks());
  const print = (id: number) => JSON.stringify(tag(id, { language, edits: world.tagEdits.get(id) ?? {} }));
  return paged('tags', { ...page, rows: rows.map(print) });
}

/** Returns a reference list, built from the values that the products use. */
function reference(
  world: World,
  resource: 'cities' | 'countries',
  query: URLSearchParams,
  language: string,
  { rough }: RouteOptions,
): SandboxAnswer {
  const rows = new Map<number, object>();
  for (const { city_id, country_id, place } of world.visible()) {
    const country = { country_id: String(country_id), country_name: translate(place.country, language) };
    if (resource === 'cities')
      rows.set(city_id, { id: String(city_id), name: translate(place.city, language), ...country });
    if (resource === 'countries') rows.set(country_id, { id: String(country_id), name: country.country_name });
  }
  const paging = pageOf(query);
  if (paging === null) return refuse('page_size', 'From 1 to 100.');
  const sorted = [...rows].sort(([a], [b]) => a - b).map(([, row]) => JSON.stringify(row));
  return paged(resource, cut(sorted, paging, rough.quirks()));
}

function dates(
  world: World,
  product: SandboxProduct,
  query: URLSearchParams,
  { language, currency }: Edition,
  { disabled, rough }: RouteOptions,
): SandboxAnswer {
  const quirks = rough.quirks();
  const { today } = world.dates(product);
  const asked = datesAsked(query, quirks);
  const from = asked.from ?? today;
  const to = asked.to ?? plusDays(from, 30);
  if (!isDate(from)) return refuse('start_date', 'Not a date.');
  if (!isDate(to) || to < from) return refuse('end_date', 'Not a date after start_date.');
  if (product.status === 'unavailable' && disabled === 'refuse')
    return error(400, 'checkout_disabled', 'Not on sale.', { reason: product.reason });
  const end = plusDays(from, quirks.date_cap === 'silent' ? 6 : 30);
  const isCut = to > end;
  const capped_at = isCut && quirks.date_cap === 'named' ? end : null;
  const sold = world.days(product, from, isCut ? end : to, currency, asked.beyond ? 'any' : 'sold');
  const days = inOrder(quirks.counters === 'none' ? sold : withCounts(sold, rough.reads()), rough.seed, quirks);
  return { status: 200, body: availability(product, days, { language, currency, capped_at }) };
}

function pageOf(query: URLSearchParams): { page: number; size: number } | null {
  const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('page_size') ?? 10)];
  return Number.isInteger(page) && page >= 1 && Number.isInteger(size) && size >= 1 && size <= 100
    ? { page, size }
    : null;
}

function paged(name: string, { rows, page, size, total }: Cut<string>): SandboxAnswer {
  return {
    status: 200,
    body: `{"success":true,"${name}":[${rows.join(',')}],"pagination":{"page":${page},"page_size":${size},"total":${total}}}`,
  };
}

function refuse(field: string, message: string): SandboxAnswer {
  return error(400, 'validation_error', 'One field was refused.', { field_errors: { [field]: message } });
}

/** Returns the documented error body. */
export function error(status: number, error_code: string, message: string, more: object = {}): SandboxAnswer {
  return { status, body: JSON.stringify({ success: false, error_code, message, ...more }) };
}

function isDate(text: string): boolean {
  return (
    /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)
  );
}

function plusDays(date: string, days: number): string {
  return isDate(date) ? new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10) : date;
}
