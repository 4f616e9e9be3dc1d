import { exitCodes } from '../../../kernel/errors.ts';
import {
  CataloguedError,
  type CheckAnswer,
  type Product,
  type Reader,
  type SearchHit,
} from '../../../storefront/reader.ts';
import {
  type CardHit,
  homePage,
  type Offers,
  type ProductShown,
  productPage,
  type ShopPage,
  searchPage,
  stopPage,
  verdictPage,
  type WantedTickets,
} from './pages.ts';

/*
 * A small storefront on catalogued-reader. Every page reads the file; only the check and the order ask the daemon.
 * docs/storefront.md explains it.
 */
export interface Shop {
  readonly reader: Reader;
  /** Today in UTC, for a venue without a known time zone. */
  today(): string;
  /** Returns a new id of an order, which makes it count once. */
  orderId(): string;
}

export interface ShopRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The fields of a posted form. */
  readonly form: URLSearchParams;
  /** `person`: somebody opens the page. `script`: the page refreshes itself, which is no view. */
  readonly by: 'person' | 'script';
}

/** Answers a request with a page. */
export async function shopAnswer(shop: Shop, request: ShopRequest): Promise<ShopPage> {
  try {
    return await route(shop, request);
  } catch (error) {
    if (!(error instanceof CataloguedError)) throw error;
    const { code, message, exitCode } = error;
    if (code === 'unknown-product' || code === 'unknown-variant') return stopPage(404, 'This ticket is not sold here.');
    if (exitCode === exitCodes.usage) return stopPage(400, message);
    return stopPage(503, `The shop cannot answer now: ${message}.`);
  }
}

async function route(shop: Shop, { method, path, query, form, by }: ShopRequest): Promise<ShopPage> {
  const [, id] = /^\/product\/(\d{1,15})$/.exec(path) ?? [];
  if (method === 'GET' && id !== undefined) return product(shop, Number(id), query, by);
  switch (`${method} ${path}`) {
    case 'GET /':
      return home(shop);
    case 'GET /search':
      return search(shop, query);
    case 'POST /check':
      return await check(shop, form);
    case 'POST /order':
      return await order(shop, form);
    default:
      return stopPage(404, 'There is no such page.');
  }
}

/** The start. One transaction, so that all of a page belongs to one state of the mirror. */
function home({ reader }: Shop): ShopPage {
  return reader.transaction(() => homePage(moneyIn(reader), offers(reader)));
}

/** Cities, and what sells best: for those who have not looked for anything, and who have found nothing. */
function offers(reader: Reader): Offers {
  const { hits } = reader.search({ sellable: true, order: 'popularity', limit: 12 });
  return { cities: reader.cities().slice(0, 18), hits: withImages(reader, hits) };
}

/** Products by the words that are typed, of a city or of all. */
function search({ reader }: Shop, query: URLSearchParams): ShopPage {
  const text = query.get('text') ?? '';
  const city_id = Number(query.get('city')) || undefined;
  return reader.transaction(() => {
    const found = reader.search({ text, city_id, limit: 24 });
    const city = reader.cities().find((each) => each.city_id === city_id)?.name ?? null;
    const instead = found.total === 0 ? offers(reader) : null;
    return searchPage(moneyIn(reader), { ...found, text, city, hits: withImages(reader, found.hits), instead });
  });
}

/** A product with its images, a month of dates, and the times and tickets of one date. */
function product(shop: Shop, id: number, query: URLSearchParams, by: ShopRequest['by']): ShopPage {
  const { reader } = shop;
  const shown = reader.transaction(() => productShown(shop, id, query));
  if (shown !== null && by === 'person') reader.seen({ product_id: id, date: shown.date });
  return shown === null ? stopPage(404, 'This product is not sold here.') : productPage(shown);
}

function productShown(shop: Shop, id: number, query: URLSearchParams): ProductShown | null {
  const { reader } = shop;
  const product = reader.product(id);
  if (product === null) return null;
  const today = product.venue_today ?? shop.today();
  const date = dateIn(query.get('date'));
  const month =
    /^20\d\d-(0[1-9]|1[0-2])$/.exec(query.get('month') ?? '')?.[0] ??
    (date ?? firstDate(reader, product, today)).slice(0, 7);
  const slots = date === null ? [] : reader.slots(id, date).filter(isOrderable);
  const times = [...new Set(slots.map(({ time }) => time))];
  const time = times.find((each) => each === query.get('time')) ?? times[0] ?? null;
  return {
    product,
    images: reader.images(id),
    alternatives: reader.alternatives(id),
    must_know: reader.checkoutInformation(id)?.must_know ?? null,
    actions: new Map(reader.policies().map(({ resource, state, action }) => [`${resource} ${state}`, action])),
    money: moneyIn(reader),
    month,
    today,
    date,
    days: reader.calendar(id, { from: `${month}-01`, to: lastOf(month) }),
    times,
    time,
    slots: slots.filter((slot) => slot.time === time),
    labels: new Map(reader.variants(id).map(({ variant_id, label }) => [variant_id, label ?? 'Ticket'])),
  };
}

/** Asks whether the service still sells what the shopper has chosen, at the price that was shown. */
async function check(shop: Shop, form: URLSearchParams): Promise<ShopPage> {
  const question = questionOf(form);
  return verdict(shop, question, await shop.reader.check(question), shop.orderId());
}

/** Checks again, then orders. A real shop calls the service's order endpoint at the marked line. */
async function order(shop: Shop, form: URLSearchParams): Promise<ShopPage> {
  const { reader } = shop;
  const question = questionOf(form);
  const order_id = /^[0-9a-f-]{36}$/.exec(form.get('order') ?? '')?.[0] ?? shop.orderId();
  const answer = await reader.check(question);
  if (answer.verdict !== 'holds') return verdict(shop, question, answer, order_id);
  const { product_id, date, time } = question;
  const [wanted] = question.variants;
  // Here a real shop orders, and reports `failed` with the service's code if that is refused.
  await reader.order({ product_id, date, time, quantity: wanted.count, outcome: 'confirmed', order_id });
  return verdict(shop, question, answer, null);
}

/** `order_id`: of the order that the page offers; null: it was ordered. */
function verdict({ reader }: Shop, question: WantedTickets, answer: CheckAnswer, order_id: string | null): ShopPage {
  const [{ variant_id }] = question.variants;
  return verdictPage({
    question,
    answer,
    order_id,
    title: reader.product(question.product_id)?.title ?? 'This product',
    label: reader.variants(question.product_id).find((each) => each.variant_id === variant_id)?.label ?? 'Ticket',
    money: moneyIn(reader),
  });
}

/** Reads a form of ours. The daemon refuses values that no question can have. */
function questionOf(form: URLSearchParams): WantedTickets {
  const text = (name: string) => form.get(name) ?? '';
  return {
    product_id: Number(text('product')),
    date: text('date'),
    time: text('time'),
    variants: [{ variant_id: Number(text('variant')), count: Number(text('count')) }],
    expect_price: { amount: Number(text('price')) * Number(text('count')), currency: text('currency') },
    caller: 'shop',
  };
}

function withImages(reader: Reader, hits: readonly SearchHit[]): CardHit[] {
  return hits.map((hit) => ({ ...hit, image: reader.images(hit.product_id)[0] ?? null }));
}

/** Returns a function that prints minor units, with the decimals of their currency. */
function moneyIn(reader: Reader): (amount: number, currency: string) => string {
  const exponents = new Map(reader.currencies().map(({ currency, exponent }) => [currency, exponent]));
  return (amount, currency) => {
    const decimals = exponents.get(currency) ?? 2;
    return `${(amount / 10 ** decimals).toFixed(decimals)} ${currency}`;
  };
}

function isOrderable(slot: ReturnType<Reader['slots']>[number]): boolean {
  const { freshness, availability, max_tickets, retail_price } = slot;
  return freshness !== 'expired' && availability !== 0 && max_tickets !== 0 && retail_price !== null;
}

/** Returns the first date with tickets, for the month that is shown first. */
function firstDate(reader: Reader, { product_id }: Product, today: string): string {
  return (
    reader.calendar(product_id, { from: today, columns: ['state'] }).find(({ state }) => state === 'available')?.date ??
    today
  );
}

function dateIn(text: string | null): string | null {
  const at = /^20\d\d-\d\d-\d\d$/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === text ? text : null;
}

function lastOf(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
}
