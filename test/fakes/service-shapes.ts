import { constants, verify } from 'node:crypto';
import type { Difference, PassingRequest } from './different-service.ts';
import { publicPem } from './signing-keys.ts';

/*
 * Services that are the sandbox in another shape: what config/adapters/ and the adapters of the deviations are written for.
 */

type Json = Record<string, unknown>;
type Rows = Json[];

const isList = ({ url }: PassingRequest) => /^\/v2\/(products|experiences|tags)$/.test(url.pathname);
const refusal = (status: number, error_code: string) => ({
  status,
  body: { success: false, error_code, message: 'Not so.' },
});

/** Has the sandbox answer the page that an offset or a cursor stands for. */
function page(url: URL, number: number, size: string): void {
  url.searchParams.set('page', String(number));
  url.searchParams.set('page_size', size);
}

/** Answers { data, meta }, pages by a cursor, and calls the id of a product product_id. */
export const cursorShape: Difference = {
  request: (request) => {
    if (!isList(request)) return null;
    const { searchParams } = request.url;
    if (searchParams.has('page')) return refusal(400, 'unknown_parameter');
    const cursor = searchParams.get('cursor');
    searchParams.delete('cursor');
    const [, number = ''] = /^after-(\d+)$/.exec(Buffer.from(cursor ?? '', 'base64url').toString()) ?? [];
    if (cursor !== null && number === '') return refusal(400, 'bad_cursor');
    page(request.url, cursor === null ? 1 : Number(number) + 1, searchParams.get('page_size') ?? '10');
    return null;
  },
  answer: ({ products, experiences, tags, product, variants, pagination, ...json }, request) => {
    const { pathname } = request.url;
    if (isList(request)) {
      const { page: at, page_size, total } = pagination as Record<string, number>;
      const rows = (products ?? experiences ?? tags) as Rows;
      const more = Number(at) * Number(page_size) < Number(total);
      const next_cursor = more ? Buffer.from(`after-${at}`).toString('base64url') : null;
      return { data: products === undefined ? rows : rows.map(renamed), meta: { next_cursor, total } };
    }
    if (product !== undefined) return { data: renamed(product as Json), meta: {} };
    if (/availability$/.test(pathname)) {
      const { success: _, capped_at: last_date, ...rest } = json;
      return { data: { ...rest, variants }, meta: { last_date } };
    }
    if (/product-variants$/.test(pathname)) return { data: variants, meta: {} };
    if (/checkout_information$/.test(pathname)) {
      const { success: _, ...data } = json;
      return { data, meta: {} };
    }
    return undefined;
  },
};

function renamed({ id, ...row }: Json): Json {
  return { product_id: id, ...row };
}

/** Pages by an offset, and takes the language from a header. */
export const offsetShape: Difference = {
  request: (request) => {
    const { url, headers } = request;
    const { searchParams } = url;
    if (searchParams.has('lang')) return refusal(400, 'unknown_parameter');
    const language = headers['accept-language'];
    if (typeof language === 'string') searchParams.set('lang', language);
    if (!isList(request)) return null;
    const [limit, offset] = [Number(searchParams.get('limit')), Number(searchParams.get('offset'))];
    for (const name of ['limit', 'offset']) searchParams.delete(name);
    if (!(limit > 0) || offset % limit !== 0) return refusal(400, 'bad_offset');
    page(url, offset / limit + 1, String(limit));
    return null;
  },
};

/** Takes the key from the query, and nowhere else. */
export function queryKeyShape(key: string): Difference {
  return keyShape(key, ({ url, headers }) => {
    const sent = url.searchParams.get('api_key') === key && headers.authorization === undefined;
    url.searchParams.delete('api_key');
    return sent;
  });
}

/** Takes the key as `isSent` finds it; the sandbox gets it as it expects it. */
export function keyShape(key: string, isSent: (request: PassingRequest) => boolean): Difference {
  return {
    request: (request) => {
      if (!isSent(request)) return { status: 401 };
      request.headers.authorization = `Token ${key}`;
      return null;
    },
  };
}

/** Takes subscriptions as plain JSON, signed with PS256 in a header whose token has the body as its payload. */
export const signatureShape: Difference = {
  request: ({ method, headers, body }) => {
    if (method === 'GET') return null;
    const [head = '', payload = '', signature = ''] = String(headers['x-signature'] ?? '').split('.');
    const text = (part: string) => Buffer.from(part, 'base64url').toString();
    const key = { key: publicPem(), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    const isSigned =
      head !== '' &&
      (JSON.parse(text(head)) as Json).alg === 'PS256' &&
      verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url'));
    return isSigned && text(payload) === body ? null : refusal(400, 'payload_decode_error');
  },
};

/** The variants of a product are at ?product_id=. */
export const variantsByQuery: Difference = {
  request: ({ url }) => {
    if (/product-variants$/.test(url.pathname)) {
      if (url.pathname !== '/v2/product-variants') return { status: 404 };
      url.pathname = `/v2/products/${url.searchParams.get('product_id')}/product-variants`;
      url.searchParams.delete('product_id');
    }
    return null;
  },
};

/** The first page of a list is 0. */
export const pagesFromZero: Difference = {
  request: ({ url: { searchParams } }) => {
    const page = searchParams.get('page');
    if (page !== null) searchParams.set('page', String(Number(page) + 1));
    return null;
  },
};
