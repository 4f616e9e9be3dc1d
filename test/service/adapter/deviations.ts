import type { SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { canary } from '../../fakes/canary.ts';
import type { Difference, PassingRequest } from '../../fakes/different-service.ts';
import { keyShape, offsetShape, queryKeyShape, variantsByQuery } from '../../fakes/service-shapes.ts';

/** A service of another shape, and the adapter that follows it. */
interface Deviation {
  readonly service: string;
  readonly difference: Difference;
  readonly adapter: string;
  /** Left out: English alone. */
  readonly languages?: readonly string[];
  readonly sandbox?: Partial<SandboxOptions>;
}

type Json = Record<string, unknown>;

const isList = ({ url }: PassingRequest) => /^\/v2\/(products|experiences|tags)$/.test(url.pathname);
const refused = { status: 400, body: { success: false, error_code: 'unknown_parameter', message: 'Not so.' } };

const renamed: Readonly<Record<string, string>> = {
  lang: 'locale',
  currency: 'money',
  page: 'p',
  page_size: 'per_page',
  start_date: 'date_from',
  end_date: 'date_to',
};

/** One row for each variant of each time, with prices in cents. */
function flat({ dates, variants, ...json }: Json): Json {
  const rows = (dates as Json[]).flatMap(({ date, availability: day, timeslots }) =>
    (timeslots as Json[]).flatMap(({ time, timezone, availability: left, variants: offers }) =>
      (offers as Json[]).map(({ id, max_tickets, currency, pricing_restriction, price_mediation: prices }) => ({
        date, day, time, timezone, left, variant: id, most: max_tickets, currency, pricing_restriction,
        cents: Object.fromEntries(Object.entries(prices as Json).map(([name, price]) => [name, Math.round(Number(price) * 100)])),
      })),
    ),
  ); // biome-ignore format: a flat row
  return { ...json, rows, variants };
}

export const deviations: readonly Deviation[] = [
  {
    service: 'takes the bare key in a header of its own',
    difference: keyShape(
      canary.key,
      ({ headers }) => headers['x-api-key'] === canary.key && headers.authorization === undefined,
    ),
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, { ...settings, key: null }, standard);
  return { ...asked, headers: { ...asked.headers, 'x-api-key': settings.key } };
}
`,
  },
  {
    service: 'has another word before the key',
    difference: keyShape(canary.key, ({ headers }) => headers.authorization === `Bearer ${canary.key}`),
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  return { ...asked, headers: { ...asked.headers, Authorization: 'Bearer ' + settings.key } };
}
`,
  },
  {
    service: 'takes the key in the query',
    difference: queryKeyShape(canary.key),
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, { ...settings, key: null }, standard);
  return { ...asked, query: { ...asked.query, api_key: settings.key } };
}
`,
  },
  {
    service: 'counts the pages of a list from 0',
    difference: {
      request: ({ url: { searchParams } }) => {
        const page = searchParams.get('page');
        if (page !== null) searchParams.set('page', String(Number(page) + 1));
        return null;
      },
    },
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  return question.page === undefined ? asked : { ...asked, query: { ...asked.query, page: question.page - 1 } };
}
`,
  },
  {
    service: 'has the variants of a product at ?product_id=',
    difference: variantsByQuery,
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (question.kind !== 'variants') return asked;
  return { ...asked, path: '/v2/product-variants', query: { ...asked.query, product_id: question.product_id } };
}
`,
  },
  {
    service: 'calls the parameters otherwise',
    difference: {
      request: ({ url: { searchParams } }) => {
        for (const [name, other] of Object.entries(renamed)) {
          if (searchParams.has(name)) return refused;
          const value = searchParams.get(other);
          if (value !== null) searchParams.set(name, value);
          searchParams.delete(other);
        }
        return null;
      },
    },
    adapter: `
const parameters = {
  language: 'locale', currency: 'money', page: 'p', page_size: 'per_page', from: 'date_from', to: 'date_to',
};

export function request(question, settings, standard) {
  return standard.request(question, { ...settings, profile: { ...settings.profile, parameters } }, standard);
}
`,
  },
  {
    service: 'has the rows of the list under data',
    difference: {
      answer: ({ products, pagination, ...json }) =>
        products === undefined ? undefined : { ...json, data: products, meta: pagination },
    },
    adapter: `
export function answer(question, status, body, standard) {
  if (status !== 200 || question.kind !== 'products') return standard.answer(question, status, body, standard);
  return { rows: body.data, total: body.meta.total };
}
`,
  },
  {
    service: 'calls the id of a product product_id',
    difference: {
      answer: ({ products, product, ...json }) => {
        const named = ({ id, ...row }: Json) => ({ product_id: id, ...row });
        if (Array.isArray(products)) return { ...json, products: (products as Json[]).map(named) };
        return product === undefined ? undefined : { ...json, product: named(product as Json) };
      },
    },
    adapter: `
const named = ({ product_id, ...product }) => ({ ...product, id: product_id });

export function answer(question, status, body, standard) {
  const { rows, row, ...said } = standard.answer(question, status, body, standard);
  if (question.kind === 'products' && rows) return { ...said, rows: rows.map(named) };
  if (question.kind === 'product' && row) return { row: named(row) };
  return rows ? { ...said, rows } : row ? { ...said, row } : said;
}
`,
  },
  {
    service: 'pages by a cursor',
    difference: {
      request: (request) => {
        const { searchParams } = request.url;
        if (!isList(request)) return null;
        if (searchParams.has('page')) return refused;
        searchParams.set('page', String(Number(searchParams.get('cursor')?.slice(1) ?? 0) + 1));
        searchParams.delete('cursor');
        return null;
      },
      answer: ({ pagination, ...json }) => {
        if (pagination === undefined) return undefined;
        const { page, page_size, total } = pagination as Record<string, number>;
        return { ...json, next_cursor: Number(page) * Number(page_size) < Number(total) ? `c${page}` : null };
      },
    },
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (question.page === undefined) return asked;
  const { page, ...query } = asked.query;
  return { ...asked, query: question.after === null ? query : { ...query, cursor: question.after } };
}
export function answer(question, status, body, standard) {
  const said = standard.answer(question, status, body, standard);
  return question.page === undefined || !said.rows ? said : { ...said, next: body.next_cursor };
}
`,
  },
  {
    service: 'pages by an offset',
    difference: {
      request: (request) => {
        const { searchParams } = request.url;
        if (!isList(request)) return null;
        if (searchParams.has('page')) return refused;
        const [offset, page_size] = [Number(searchParams.get('offset')), Number(searchParams.get('page_size'))];
        searchParams.set('page', String(offset / page_size + 1));
        searchParams.delete('offset');
        return null;
      },
    },
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (question.page === undefined) return asked;
  const { page, ...query } = asked.query;
  return { ...asked, query: { ...query, offset: (question.page - 1) * question.page_size } };
}
`,
  },
  {
    service: 'takes the language from a header',
    difference: {
      request: (request) => (isList(request) ? null : (offsetShape.request?.(request) ?? null)),
    },
    languages: ['en', 'nl'],
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (question.language === undefined || question.page !== undefined) return asked;
  const { lang, ...query } = asked.query;
  return { ...asked, query, headers: { ...asked.headers, 'accept-language': lang } };
}
`,
  },
  {
    service: 'says no with a status of 200',
    sandbox: { quirks: { endpoints: 'specification' } },
    difference: {
      refusal: ({ error_code, message }, status) => ({
        status: 200,
        body: { status: 'error', error: { code: error_code, text: message, http: status } },
      }),
    },
    adapter: `
export function answer(question, status, body, standard) {
  if (body?.status !== 'error') return standard.answer(question, status, body, standard);
  const { code, text, http } = body.error;
  return { refused: { code, message: text, status: http } };
}
`,
  },
  {
    service: 'has another word for on sale, and prices in cents',
    difference: {
      answer: ({ products, product, ...json }) => {
        const other = ({ sale_status, price, prediscount_price, ...row }: Json) => ({
          ...row,
          state: sale_status === 'available' ? 'on_sale' : 'off_sale',
          cents: Math.round(Number(price) * 100),
          before: prediscount_price == null ? null : Math.round(Number(prediscount_price) * 100),
        });
        if (Array.isArray(products)) return { ...json, products: (products as Json[]).map(other) };
        return product === undefined ? undefined : { ...json, product: other(product as Json) };
      },
    },
    adapter: `
const price = (cents) => (cents === null ? null : cents / 100);
const named = ({ state, cents, before, ...product }) => ({
  ...product,
  sale_status: state === 'on_sale' ? 'available' : 'unavailable',
  price: price(cents),
  prediscount_price: price(before),
});

export function answer(question, status, body, standard) {
  const said = standard.answer(question, status, body, standard);
  if (question.kind === 'products' && said.rows) return { ...said, rows: said.rows.map(named) };
  return question.kind === 'product' && said.row ? { row: named(said.row) } : said;
}
`,
  },
  {
    service: 'answers as JSON:API, with the address of the next page',
    difference: {
      request: (request) => {
        const { searchParams } = request.url;
        if (!isList(request)) return null;
        if (searchParams.has('page')) return refused;
        searchParams.set('page', searchParams.get('page[number]') ?? '1');
        searchParams.delete('page[number]');
        return null;
      },
      answer: ({ products, product, pagination, ...json }, { url }) => {
        const resource = ({ id, ...attributes }: Json) => ({ type: 'product', id, attributes });
        if (product !== undefined) return { data: resource(product as Json) };
        if (products === undefined) return pagination === undefined ? undefined : { ...json, pagination };
        const { page, page_size, total } = pagination as Record<string, number>;
        url.searchParams.delete('page');
        url.searchParams.set('page[number]', String(Number(page) + 1));
        const more = Number(page) * Number(page_size) < Number(total);
        return { data: (products as Json[]).map(resource), links: more ? { next: String(url) } : {} };
      },
    },
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (question.page === undefined) return asked;
  const { page, ...query } = asked.query;
  if (question.kind !== 'products') return { ...asked, query: { ...query, 'page[number]': page } };
  const next = question.after?.match(/page%5Bnumber%5D=(\\d+)/)[1];
  return { ...asked, query: next === undefined ? query : { ...query, 'page[number]': next } };
}

const product = ({ id, attributes }) => ({ id, ...attributes });

export function answer(question, status, body, standard) {
  if (status !== 200 || !body.data) return standard.answer(question, status, body, standard);
  if (question.kind === 'product') return { row: product(body.data) };
  return { rows: body.data.map(product), next: body.links.next ?? null };
}
`,
  },
  {
    service: 'is asked for dates by POST, and answers flat rows in cents',
    difference: {
      request: (request) => {
        if (/availability$/.test(request.url.pathname)) return { status: 404 };
        if (request.url.pathname !== '/v2/search') return null;
        const { product, from, to, currency } = JSON.parse(request.body) as Record<string, string>;
        request.url.pathname = `/v2/products/${product}/availability`;
        const asked = { start_date: from, end_date: to, currency };
        for (const [name, value] of Object.entries(asked)) request.url.searchParams.set(name, String(value));
        request.method = 'GET';
        request.body = '';
        return null;
      },
      answer: (json) => (json.dates === undefined ? undefined : flat(json)),
    },
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (question.kind !== 'availability') return asked;
  const { product_id: product, from, to, currency } = question;
  const headers = { ...asked.headers, 'content-type': 'application/json' };
  return { method: 'POST', path: '/v2/search', headers, body: JSON.stringify({ product, from, to, currency }) };
}

export function answer(question, status, body, standard) {
  if (status !== 200 || question.kind !== 'availability') return standard.answer(question, status, body, standard);
  const { rows, capped_at, success, ...row } = body;
  const dates = new Map();
  for (const { date, day, time, timezone, left, variant, most, currency, pricing_restriction, cents } of rows) {
    if (!dates.has(date)) dates.set(date, { date, availability: day, timeslots: [] });
    const { timeslots } = dates.get(date);
    let slot = timeslots.find((each) => each.time === time);
    if (!slot) timeslots.push((slot = { time, timezone, availability: left, variants: [] }));
    const prices = Object.entries(cents).map(([name, amount]) => [name, amount / 100]);
    const price_mediation = Object.fromEntries(prices);
    slot.variants.push({ id: variant, max_tickets: most, currency, pricing_restriction, price_mediation });
  }
  return { row: { ...row, dates: [...dates.values()] }, covers_to: capped_at };
}
`,
  },
  {
    service: 'answers lists as bare arrays, and calls product 7 P-7',
    difference: {
      request: (request) => {
        const id = /^\/v2\/products\/(?:P-(\d+)|\d+)/.exec(request.url.pathname);
        if (id !== null && id[1] === undefined) return { status: 404 };
        request.url.pathname = request.url.pathname.replace('/P-', '/');
        return null;
      },
      answer: ({ products, experiences, product }) => {
        const named = ({ id, ...row }: Json) => ({ id: `P-${id}`, ...row });
        if (product !== undefined) return named(product as Json);
        return products === undefined ? experiences : (products as Json[]).map(named);
      },
    },
    adapter: `
export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  return { ...asked, path: asked.path.replace('/v2/products/', '/v2/products/P-') };
}

const named = ({ id, ...product }) => ({ ...product, id: id.replace('P-', '') });

export function answer(question, status, body, standard) {
  if (status === 200 && question.kind === 'products') return { rows: body.map(named) };
  if (status === 200 && question.kind === 'experiences') return { rows: body };
  if (status === 200 && question.kind === 'product') return { row: named(body) };
  return standard.answer(question, status, body, standard);
}
`,
  },
];
