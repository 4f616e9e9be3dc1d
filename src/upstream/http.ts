import { hash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { errors, Pool } from 'undici';
import { type Clock, DeadlineExceeded } from '../clock.ts';
import type { Outcome } from './outcome.ts';
import { parseRetryAfter } from './retry-after.ts';

export interface HttpOptions {
  readonly base_url: string;
  /** The header that carries the key, as `<scheme> <key>`; no header, no key. */
  readonly authorization: { readonly header: string | null; readonly scheme: string };
  readonly key: { reveal(): string } | null;
  readonly user_agent: string;
  readonly timeouts: { readonly connect: number; readonly headers: number; readonly idle: number };
  readonly connections: number;
  /** Statuses that mean "less, please" (service profile). */
  readonly throttle_statuses: readonly number[];
  readonly clock: Clock;
}

export interface GetOptions {
  /** From sending to the last byte, whatever trickles in between. */
  readonly deadline_ms: number;
  /** Before and after inflating. */
  readonly max_bytes: number;
  readonly signal: AbortSignal;
}

export interface Http extends AsyncDisposable {
  /** One GET, tried once. Rejects only with the reason of an aborted `signal`. */
  get(path: string, query: Readonly<Record<string, string | readonly string[]>>, options: GetOptions): Promise<Outcome>;
}

/** A body longer than this cannot be used; ends the transfer. */
class TooLarge extends Error {}

/** The service over HTTP: one pool of connections to one origin. Redirects are not followed, so the key goes nowhere else. */
export function createHttp(options: HttpOptions): Http {
  const { base_url, authorization, key, user_agent, timeouts, clock } = options;
  const pool = new Pool(new URL(base_url).origin, {
    connections: options.connections,
    pipelining: 1,
    connect: { timeout: timeouts.connect },
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.idle,
  });
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'user-agent': user_agent,
    ...(authorization.header === null || key === null
      ? {}
      : { [authorization.header]: `${authorization.scheme} ${key.reveal()}`.trim() }),
  };

  async function get(
    path: string,
    query: Readonly<Record<string, string | readonly string[]>>,
    get: GetOptions,
  ): Promise<Outcome> {
    get.signal.throwIfAborted();
    using deadline = clock.deadline(get.deadline_ms, get.signal);
    const sent_at = clock.now();
    try {
      const response = await pool.request({
        method: 'GET',
        path: withQuery(path, query),
        headers,
        signal: deadline.signal,
      });
      const body = await collect(response.body, get.max_bytes);
      return judge(response.statusCode, response.headers, body, { ...get, sent_at, options });
    } catch (error) {
      get.signal.throwIfAborted();
      return outcomeOf(error, deadline.signal.reason);
    }
  }

  return { get, [Symbol.asyncDispose]: () => pool.destroy() };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;
type Judging = GetOptions & { readonly sent_at: number; readonly options: HttpOptions };

function judge(status: number, headers: Headers, raw: Buffer, { sent_at, max_bytes, options }: Judging): Outcome {
  if (options.throttle_statuses.includes(status)) {
    const now = options.clock.now();
    const wait = parseRetryAfter(header(headers, 'retry-after'), header(headers, 'date'), now);
    return { kind: 'throttled', status, until: wait === null ? null : now + wait };
  }
  if (status >= 300 && status < 400)
    return failed('redirect', `the service redirects (${status}); redirects are not followed`);
  if (status >= 500) return failed(`status-${status}`, `the service answered ${status}`);
  const body = inflate(raw, header(headers, 'content-encoding'), max_bytes);
  if ('kind' in body) return body;
  if (status >= 400) return refused(status, body);
  if (status !== 200) return failed(`status-${status}`, `the service answered ${status}`);
  const type = header(headers, 'content-type') ?? '';
  if (!/^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i.test(type))
    return failed('not-json-type', `the answer is of type ${type.slice(0, 80) || 'none'}`);
  const text = decode(body);
  if (text === null) return failed('invalid-utf8', 'the body is not UTF-8');
  return { kind: 'answer', text, hash: hash('sha256', body), bytes: body.length, sent_at };
}

/** Reads a body to its end, or gives it up: compressed bytes count here, inflated ones in `inflate`. */
async function collect(
  body: AsyncIterable<Buffer> & { destroy(error?: Error): unknown },
  max_bytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > max_bytes) throw new TooLarge(`the body is larger than ${max_bytes} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
}

function inflate(body: Buffer, encoding: string | undefined, max_bytes: number): Buffer | Outcome {
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding.toLowerCase() !== 'gzip')
    return failed('bad-encoding', `the body is encoded as ${encoding.slice(0, 40)}`);
  try {
    return gunzipSync(body, { maxOutputLength: max_bytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return failed('too-large', `the body inflates to more than ${max_bytes} bytes`);
    }
    return failed('bad-encoding', 'the body is not the gzip it claims to be');
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(body: Buffer): string | null {
  try {
    return utf8.decode(body);
  } catch {
    return null;
  }
}

/** The three generations of error bodies (service-facts.md section 9): `error_code`, `error`, or only a status. */
function refused(status: number, body: Buffer): Outcome {
  const text = decode(body.subarray(0, 64 * 1024)) ?? '';
  let members: { error_code?: unknown; error?: unknown; message?: unknown } = {};
  try {
    members = (JSON.parse(text) as typeof members | null) ?? {};
  } catch {
    // Not JSON: the status has to do.
  }
  const code = [members.error_code, members.error].find((value) => typeof value === 'string') ?? `status-${status}`;
  const message = typeof members.message === 'string' ? members.message : `the service answered ${status}`;
  return {
    kind: 'refused',
    status,
    code: String(code).slice(0, 80),
    message: message.replace(/\s+/g, ' ').slice(0, 300),
  };
}

const unreachableCodes: Readonly<Record<string, [code: string, message: string]>> = {
  ECONNREFUSED: ['connection-refused', 'the connection was refused'],
  ENOTFOUND: ['dns', 'the name cannot be resolved'],
  EAI_AGAIN: ['dns', 'the name cannot be resolved now'],
  UND_ERR_CONNECT_TIMEOUT: ['connect-timeout', 'no connection in time'],
  ETIMEDOUT: ['connect-timeout', 'no connection in time'],
  EHOSTUNREACH: ['no-route', 'there is no route to it'],
  ENETUNREACH: ['no-route', 'there is no route to it'],
};

/** Why a call ended without an answer. Messages are ours: undici's may carry the whole URL. */
function outcomeOf(error: unknown, reason: unknown): Outcome {
  if (reason instanceof DeadlineExceeded) return failed('deadline', reason.message);
  if (error instanceof TooLarge) return failed('too-large', error.message);
  const cause = rootCause(error);
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const known = unreachableCodes[code];
  if (known !== undefined) return { kind: 'unreachable', code: known[0], message: known[1] };
  if (/^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)/.test(code)) {
    return { kind: 'unreachable', code: 'tls', message: `TLS fails (${code})` };
  }
  if (error instanceof errors.HeadersTimeoutError) return failed('deadline', 'no answer in time');
  if (error instanceof errors.BodyTimeoutError) return failed('deadline', 'the body stalled');
  if (error instanceof errors.HeadersOverflowError) return failed('too-large', "the answer's headers are too large");
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return failed('truncated', 'the body is shorter than announced');
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE')
    return failed('reset', 'the connection broke before the answer was whole');
  return failed('http', `the answer is no HTTP (${code || (cause as Error).name})`);
}

function rootCause(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return rootCause(error.errors[0]);
  return error instanceof Error && error.cause !== undefined && !('code' in error) ? rootCause(error.cause) : error;
}

function failed(code: string, message: string): Outcome {
  return { kind: 'failed', code, message };
}

function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function withQuery(path: string, query: Readonly<Record<string, string | readonly string[]>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) parameters.append(name, String(each));
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}
