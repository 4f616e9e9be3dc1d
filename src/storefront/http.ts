import { CataloguedError, type ExitCode, exitCodes } from '../kernel/errors.ts';
import type { contract } from '../mirror/contract/contract.ts';
import type { PublicRow } from '../mirror/contract/table.ts';
import type { Day, OfDay, Span } from './calendar.ts';
import type { DaemonCalls } from './daemon-types.ts';
import type { Edition } from './editions.ts';
import { type HttpRead, httpReads } from './http/reads.ts';
import type { Reader } from './reader-types.ts';

export { CataloguedError } from '../kernel/errors.ts';

export interface HttpReaderOptions extends Edition {
  /** Address of the daemon's `storefront.listen`, or of the proxy before it: https://catalogue.example. */
  readonly url: string;
  /** `storefront.public_key`; on a server perhaps the storefront token, which `check`, `order` and `seen` need. */
  readonly key?: string | undefined;
  /** Sends the requests; absent: `fetch` of the platform. */
  readonly fetch?: typeof fetch | undefined;
}

type RowOf<Name extends HttpRead> = (typeof httpReads)[Name] extends {
  readonly rows: infer View extends keyof typeof contract;
}
  ? PublicRow<(typeof contract)[View]>
  : never;

type AnswerOf<Name extends HttpRead> = [RowOf<Name>] extends [never]
  ? ReturnType<Reader[Name]>
  : ReturnType<Reader[Name]> extends readonly unknown[]
    ? RowOf<Name>[]
    : RowOf<Name> | null;

/** The reader's functions over HTTP. Each returns a promise, and rows have public columns only. */
export type HttpReader = DaemonCalls & {
  readonly [Name in Exclude<HttpRead, 'calendar'>]: (...asked: Parameters<Reader[Name]>) => Promise<AnswerOf<Name>>;
} & {
  calendar(product_id: number, options?: Span & Edition): Promise<Day[]>;
  calendar<Column extends keyof Day>(
    product_id: number,
    options: Span & Edition & OfDay<Column>,
  ): Promise<Pick<Day, Column | 'date'>[]>;
};

/**
 * Reads a mirror over HTTP, in a browser, at the edge or on a server: it needs `fetch` alone. Its functions are those of
 * the reader, and reject with the same `CataloguedError`; `unreachable` if nobody answers.
 */
export function openHttpReader({ url, key, language, currency, fetch: send = fetch }: HttpReaderOptions): HttpReader {
  if (!/^https?:\/\/[^\s?#]+$/.test(url) || (key !== undefined && !/^[\x21-\x7e]+$/.test(key)))
    throw new CataloguedError('bad-argument', 'url or key is not valid', {
      exitCode: exitCodes.usage,
      hint: "give { url: 'https://catalogue.example', key }, with the content of storefront.public_key",
    });
  const base = url.replace(/\/+$/, '');
  const own: Readonly<Record<string, string | undefined>> = { language, currency };
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };

  async function ask(path: string, init: RequestInit): Promise<Response> {
    try {
      // Called apart from any object: a browser refuses it otherwise.
      return await send(`${base}${path}`, { ...init, headers: { ...init.headers, ...authorization } });
    } catch (cause) {
      if (init.signal?.aborted === true) throw init.signal.reason;
      throw new CataloguedError('unreachable', `nobody answers at ${base}`, {
        exitCode: exitCodes.unavailable,
        hint: 'check the address; in a browser also storefront.origins of the daemon, and the network',
        cause,
      });
    }
  }

  async function read(name: HttpRead, asked: readonly unknown[]): Promise<unknown> {
    const { path, second, edition = [] }: Declared = httpReads[name];
    const [id, ...others] = path.includes('{id}') ? asked : [undefined, ...asked];
    const [date, options = {}] = second === undefined ? [undefined, others[0]] : others;
    const query = new URLSearchParams();
    const set = (members: object) => {
      // A member that is undefined leaves the reader's own language or currency in force.
      for (const [member, value] of Object.entries(members)) if (value !== undefined) query.set(member, written(value));
    };
    set(Object.fromEntries(edition.map((member) => [member, own[member]])));
    set(options as object);
    if (second !== undefined) set({ [second]: date });
    const asking = query.size === 0 ? '' : `?${query}`;
    const response = await ask(`${path.replace('{id}', encodeURIComponent(String(id)))}${asking}`, {});
    if (response.ok) return await contentOf(response);
    const refusal = await refusalOf(response);
    // The reader returns null for a row that is missing. A 404 of anything but a daemon says nothing about rows.
    if (response.status === 404 && !['no-such-route', 'unreachable'].includes(refusal.code)) return null;
    throw refusal;
  }

  async function post(path: string, body: object, signal: AbortSignal | undefined): Promise<unknown> {
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await ask(path, signal === undefined ? init : { ...init, signal });
    if (!response.ok) throw await refusalOf(response);
    return await contentOf(response);
  }

  const reads = Object.fromEntries(
    (Object.keys(httpReads) as HttpRead[]).map((name) => [name, (...asked: unknown[]) => read(name, asked)]),
  );
  const calls = {
    check: (question: Parameters<DaemonCalls['check']>[0], options: { readonly signal?: AbortSignal } = {}) =>
      post(
        '/v1/check',
        { ...question, currency: question.currency ?? question.expect_price?.currency ?? currency },
        options.signal,
      ),
    order: (report: object, options: { readonly signal?: AbortSignal } = {}) =>
      post('/v1/orders', report, options.signal),
    seen: (seen: object) => void post('/v1/seen', { seen: [seen] }, undefined).catch(() => undefined),
  };
  // Safe cast: the daemon answers by the declarations that the types come from.
  return { ...reads, ...calls } as unknown as HttpReader;
}

interface Declared {
  readonly path: string;
  readonly second?: string;
  readonly edition?: readonly string[];
}

/** Writes an argument as a part of a query: a place as `latitude,longitude,km`, a list with commas. */
function written(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (typeof value !== 'object' || value === null) return String(value);
  const { latitude, longitude, km } = value as Readonly<Record<string, unknown>>;
  return [latitude, longitude, km].join(',');
}

/** Throws `unreachable` if the body is no JSON: a proxy has answered with a page of its own. */
async function contentOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw noDaemon(response);
  }
}

function noDaemon({ status, url }: Response): CataloguedError {
  return new CataloguedError('unreachable', `the server at ${url} is no catalogued daemon (status ${status})`, {
    exitCode: exitCodes.unavailable,
    hint: 'check the address, and the proxies between',
  });
}

async function refusalOf(response: Response): Promise<CataloguedError> {
  const { status } = response;
  const text = await response.text();
  const { error, message, hint } = parsed(text) as { error?: unknown; message?: unknown; hint?: unknown };
  if (typeof error !== 'string' || typeof message !== 'string') return noDaemon(response);
  // The reader calls a wrong argument so.
  return new CataloguedError(error === 'bad-request' ? 'bad-argument' : error, message, {
    exitCode: exitCodeOf(status),
    hint: typeof hint === 'string' ? hint : 'correct the question',
  });
}

function parsed(text: string): object {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return exitCodes.permission;
  if (status === 503) return exitCodes.retryLater;
  return status >= 500 ? exitCodes.unavailable : exitCodes.usage;
}
