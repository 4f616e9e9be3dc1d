import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { buildConnector, type Dispatcher, errors, Pool } from 'undici';
import { type Clock, DeadlineExceeded, type Instant, instant } from '../kernel/clock.ts';
import type { AdapterRequest } from './adapter.rules.ts';
import { inflate } from './inflate.ts';
import { type Failed, failed, failedStatus, type Outcome } from './outcome.ts';
import { errorBodyBytes, exampleOf, line, redirectTarget, refusalText, withoutKey } from './refusal.ts';
import { type Head, header, TooLarge, tooLarge, transportError, whole } from './response.ts';
import { parseRetryAfter } from './retry-after.ts';
import { offsetUsedMs } from './service-clock.ts';

const tlsCodes = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO$)/;
const brokenCodes: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** Returns why a call ended without an answer. Messages are ours: undici's may carry the whole URL. */
function noAnswer(error: unknown, reason: unknown, answering: boolean): Outcome {
  if (reason instanceof DeadlineExceeded) return failed('deadline', reason.message);
  if (error instanceof TooLarge) return failed('too-large', error.message);
  const { cause, code, unreachable } = transportError(error);
  const { syscall, message = '' } = cause as NodeJS.ErrnoException;
  if (unreachable !== null) return { kind: 'unreachable', ...unreachable };
  if (code === 'ETIMEDOUT' && syscall === 'connect')
    return { kind: 'unreachable', code: 'connect-timeout', message: 'no connection in time' };
  if (tlsCodes.test(code) || message.includes('before secure TLS connection'))
    return { kind: 'unreachable', code: 'tls', message: `TLS fails (${code})` };
  if (error instanceof errors.HeadersTimeoutError) return failed('deadline', 'no answer in time');
  if (error instanceof errors.BodyTimeoutError) return failed('deadline', 'the body stalled');
  if (error instanceof errors.HeadersOverflowError) return failed('too-large', "the answer's headers are too large");
  if (error instanceof errors.InvalidArgumentError) return failed('not-sendable', 'the request cannot be sent');
  if (error instanceof errors.ClientDestroyedError || error instanceof errors.ClientClosedError)
    return failed('closed', 'the client is closed');
  // The other side ended in good order, but before the end of what it announced.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || (answering && code === 'UND_ERR_SOCKET'))
    return failed('truncated', 'the body is shorter than announced');
  if (brokenCodes.has(code)) return failed('reset', 'the connection broke before the answer was whole');
  return failed('http', `the answer is no HTTP (${code || (cause as Error).name})`);
}

/** Parts of the process that its connections use. */
export interface HttpPorts {
  readonly connections: number;
  readonly clock: Clock;
  /** Called with each answer: by how many milliseconds the service's clock is ahead of ours; null: it has no `Date`. */
  readonly heard?: (offset_ms: number | null) => void;
  /** Returns by how many milliseconds the service's clock is ahead of ours; null: it is not known, or clocks are doubted. */
  readonly offset?: () => number | null;
  /** Called with each request that is sent: for how many milliseconds it had to wait for a connection. */
  readonly late?: (ms: number) => void;
  /** Asked right before a request is sent: one for which the process stood still may be another's by then. Absent: always. */
  readonly maySend?: (() => boolean) | undefined;
}

export interface HttpOptions extends HttpPorts {
  /** The service's origin; a path in it is not used. */
  readonly base_url: string;
  readonly key: { reveal(): string } | null;
  readonly user_agent: string;
  /**
   * Milliseconds of the machine's own time, whatever `clock` says: to connect, from sending to the first byte, and
   * between two bytes. Backstops: what ends a call for sure is its deadline.
   */
  readonly timeouts: { readonly connect: number; readonly headers: number; readonly idle: number };
  /** Statuses that mean throttling (service profile). */
  readonly throttle_statuses: readonly number[];
}

/** Stands for the key in headers and in the query of a request. */
export const keyPlaceholder = '{api_key}';

/** A request as it is sent, but for the key and the headers that are the same for all. */
export interface ServiceRequest {
  readonly method: NonNullable<AdapterRequest['method']>;
  /** Absolute, perhaps with a query. */
  readonly path: string;
  readonly query: NonNullable<AdapterRequest['query']>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface TransferOptions {
  /** Milliseconds from sending to the last byte, however slowly data arrives. */
  readonly deadline_ms: number;
  /** Before and after inflating. */
  readonly max_bytes: number;
  readonly signal: AbortSignal;
  /** The hash of a body that was read before: one that comes again is whole and UTF-8, and is not put together. */
  readonly known_hash?: string | null;
  /** Returns the hash of a body's bytes; absent: their sha256, hexadecimal. */
  readonly hashOf?: ((parts: readonly Buffer[]) => string) | undefined;
  /** Called with the status and the headers (in lower case) as soon as they arrive. */
  readonly head?: (status: number, headers: Readonly<Record<string, string>>) => void;
}

export interface AskOptions extends TransferOptions {
  /** A read is answered with JSON and 200; of a change 201 and 204 are answers too, and of one that is no JSON the text is empty. */
  readonly effect: 'read' | 'change';
}

/** The body of a refusal, which an adapter reads. */
export interface RefusedText {
  readonly kind: 'refused-text';
  readonly status: number;
  readonly text: string;
}

export interface Http extends AsyncDisposable {
  /**
   * Sends one request, without retries. Rejects only with the reason of an aborted `signal`, and for an invalid path.
   * Messages contain neither the key nor the query, and no address but that of a redirect.
   */
  ask(request: ServiceRequest, options: AskOptions): Promise<Outcome | RefusedText>;
}

/** More than a clock is slewed by while an answer comes. */
const movedMs = 30_000;

/**
 * Creates the HTTP client of the service: one pool of connections to one origin. Follows no redirect and uses no proxy,
 * so the key goes nowhere else.
 */
export function createHttp(options: HttpOptions): Http {
  const { base_url, key, user_agent, timeouts, clock } = options;
  const pool = new Pool(new URL(base_url).origin, {
    connections: options.connections,
    pipelining: 1,
    // HTTP/2 distinguishes a broken transfer from a whole one in other ways; every rule here was tried on HTTP/1.1 only.
    allowH2: false,
    connect: connectorOverSameMemory({ timeout: timeouts.connect, allowH2: false }),
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.idle,
  });
  const usual = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': user_agent };
  const withKey = (text: string) => (key === null ? text : text.replaceAll(keyPlaceholder, key.reveal()));
  /** An answer to an address with the key in it may repeat the address: links to other pages do. */
  const cleaned = (outcome: Outcome, query: ServiceRequest['query']): Outcome =>
    outcome.kind === 'answer' && Object.values(query).some((value) => String(value).includes(keyPlaceholder))
      ? { ...outcome, text: withoutKey(outcome.text, key) }
      : outcome;

  async function ask(
    { method, path, query, headers, body: sends }: ServiceRequest,
    { deadline_ms, max_bytes, signal, effect, head, known_hash = null, hashOf = sha256 }: AskOptions,
  ): Promise<Outcome | RefusedText> {
    signal.throwIfAborted();
    if (!path.startsWith('/')) throw new TypeError('a path of the service starts with a slash');
    using deadline = clock.deadline(deadline_ms, signal);
    const sent = { at: clock.now(), boot: clock.boot() };
    const said: { head: Head | null; verdict: Outcome | 'done' | null } = { head: null, verdict: null };
    const begins = (answer: Head) => {
      said.head = answer;
      hear(answer, options);
      head?.(answer.statusCode, plainHeaders(answer));
      said.verdict = judgeHead(answer, effect, options);
      return said.verdict === null && answer.statusCode < 400 ? max_bytes : errorBodyBytes;
    };
    /** Returns what the head, and the body if it came, mean; null where neither says it. */
    const meaning = (body: readonly Buffer[] | null): Outcome | RefusedText | null => {
      if (said.verdict === 'done')
        return read(
          [],
          { known_hash, hashOf },
          { status: said.head?.statusCode ?? 0, ...madeAt(said.head, sent, options) },
        );
      if (said.head === null || body === null) return said.verdict;
      const encoding = header(said.head, 'content-encoding');
      if (said.verdict?.kind === 'failed' && said.verdict.code === 'not-json-type')
        return { ...said.verdict, message: `${said.verdict.message}: ${exampleOf(refusalText(body, encoding), key)}` };
      if (said.verdict !== null) return said.verdict;
      const { statusCode: status } = said.head;
      if (status >= 400) return { kind: 'refused-text', status, text: refusalText(body, encoding) };
      const came = { status, ...madeAt(said.head, sent, options) };
      return cleaned(read(inflate(body, encoding, max_bytes), { known_hash, hashOf }, came), query);
    };
    const asked_at = clock.monotonic();
    const starts = () => {
      if (options.maySend?.() === false) return new errors.ClientClosedError('another instance may lead by now');
      options.late?.(clock.monotonic() - asked_at);
      return null;
    };
    const request = {
      method,
      path: withQuery(path, query, withKey),
      headers: { ...usual, ...mapped(headers, withKey) },
      ...(sends === null ? {} : { body: sends }),
    };
    try {
      const body = await exchange(pool, { request, signal: deadline.signal, starts, begins });
      return meaning(body) ?? failed('http', 'the answer is no HTTP');
    } catch (error) {
      signal.throwIfAborted();
      const refusal = error instanceof TooLarge && (said.head?.statusCode ?? 0) >= 400;
      return meaning(refusal ? [] : null) ?? noAnswer(error, deadline.signal.reason, said.head !== null);
    }
  }

  return { ask, [Symbol.asyncDispose]: () => pool.destroy() };
}

function mapped(headers: Readonly<Record<string, string>>, each: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, each(value)]));
}

/** Returns when a request was sent, by the clock as it is now: its answer may have shown that the clock was wrong. */
function sentAt({ at, boot }: { at: Instant; boot: number }, clock: Clock): Instant {
  const moved = clock.now() - at - (clock.boot() - boot);
  return Math.abs(moved) > movedMs ? instant(at + moved) : at;
}

/** An older answer of a cache is taken for one of this age: a cache that keeps for longer is no cache of a catalogue. */
const oldestMs = 15 * 60_000;

/**
 * Returns when a request was sent, and when its answer was made: earlier by the age that a cache names, or by which its
 * `Date` lags behind the service's clock. A cache that names no age sends the `Date` of the answer that it has kept.
 */
function madeAt(
  head: Head | null,
  sent: { at: Instant; boot: number },
  { clock, offset = () => null }: HttpOptions,
): { sent_at: Instant; called_at: Instant } {
  const called_at = sentAt(sent, clock);
  if (head === null) return { sent_at: called_at, called_at };
  const [date, ahead] = [Date.parse(header(head, 'date') ?? ''), offset()];
  const lag = ahead === null || !Number.isFinite(date) ? 0 : called_at + ahead - date;
  // A lag of some seconds is the second that the header rounds to, and the way.
  const age = Math.max(ageMs(head), lag > offsetUsedMs ? lag : 0);
  return { sent_at: instant(called_at - Math.min(age, oldestMs)), called_at };
}

/** Returns for how many milliseconds a cache has kept an answer; 0 where none says so. */
function ageMs(head: Head): number {
  const age = Number(header(head, 'age') ?? 0);
  return Number.isFinite(age) && age > 0 ? age * 1000 : 0;
}

function hear(response: Head, { heard, clock }: HttpOptions): void {
  const date = Date.parse(header(response, 'date') ?? '');
  // A cache in between sends the date of the answer that it has kept, and for how long.
  const kept = ageMs(response);
  // The header has whole seconds: half of one is the best guess.
  heard?.(Number.isFinite(date) ? date + kept + 500 - clock.now() : null);
}

/**
 * Returns what the status and the headers decide by themselves; null where the body has a say, `done` where it has
 * none.
 */
function judgeHead(
  response: Head,
  effect: AskOptions['effect'],
  { throttle_statuses, clock, base_url, key }: HttpOptions,
): Outcome | 'done' | null {
  const status = response.statusCode;
  const now = clock.now();
  const wait = parseRetryAfter(header(response, 'retry-after'), header(response, 'date'), now);
  const until = wait === null ? null : instant(now + wait);
  const type = header(response, 'content-type')?.trim() ?? '';
  const isJson = /^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i.test(type);
  if (throttle_statuses.includes(status))
    return { kind: 'throttled', status, until, ...(status >= 500 && !isJson ? { proxied: true } : {}) };
  if (status >= 400 && status < 500) return null;
  if (status >= 300 && status < 400) {
    const target = redirectTarget(header(response, 'location'), base_url, key);
    return failed('redirect', `the service redirects${target === null ? '' : ` to ${target}`} (${status})`);
  }
  if (status !== 200 && !(effect === 'change' && (status === 201 || status === 204)))
    return failedStatus(status, until);
  if (isJson) return null;
  if (effect === 'change') return 'done';
  const named = /^text\/html\b/i.test(type) ? 'HTML' : line(type, 80) || 'a body of no type';
  return failed('not-json-type', `the service answers with ${named} instead of JSON`);
}

/** A body that was read before is not put together. All of it is done with the memory of its parts at once. */
function read(
  parts: readonly Buffer[] | Failed,
  { known_hash, hashOf }: { readonly known_hash: string | null; readonly hashOf: typeof sha256 },
  came: { readonly status: number; readonly sent_at: Instant; readonly called_at: Instant },
): Outcome {
  if ('kind' in parts) return parts;
  const hash = hashOf(parts);
  const body = hash === known_hash ? noBytes : whole(parts);
  if (!isUtf8(body)) return failed('invalid-utf8', 'the service answers with text that is not UTF-8');
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  return { kind: 'answer', text: utf8.decode(body), hash, bytes, ...came };
}

function sha256(parts: readonly Buffer[]): string {
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part);
  return sum.digest('hex');
}

const noBytes = Buffer.alloc(0);

/** Strips a byte order mark. */
const utf8 = new TextDecoder('utf-8');

function plainHeaders({ headers }: Head): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]),
  );
}

/** Adds parameters to a path, which may have some already. */
function withQuery(path: string, query: ServiceRequest['query'], withKey: (value: string) => string): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) parameters.append(name, withKey(String(each)));
  const text = parameters.toString();
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
}

interface Asked {
  readonly request: Dispatcher.DispatchOptions;
  readonly signal: AbortSignal;
  /** Called when there is a connection for it, right before it is written; returns why it must not be, or null. */
  starts(): Error | null;
  /** Called when the head of the answer is there; returns how many bytes of its body are read at most. */
  begins(head: Head): number;
}

/**
 * Sends a request and collects its answer; rejects with what ended it, a `TooLarge` among them, or the signal's reason.
 * Without a stream between the connection and the parts of the body, which costs a third of a small answer.
 */
function exchange(dispatcher: Dispatcher, { request, signal, starts, begins }: Asked): Promise<readonly Buffer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Buffer[]>();
  const parts: Buffer[] = [];
  let underWay: Dispatcher.DispatchController | null = null;
  let left = 0;
  let most = 0;
  const stop = () => {
    underWay?.abort(signal.reason);
    reject(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  dispatcher.dispatch(request, {
    onRequestStart: (controller) => {
      const refused = signal.aborted ? signal.reason : starts();
      if (refused === null) underWay = controller;
      else controller.abort(refused);
    },
    onResponseStart: (_, statusCode, headers) => {
      if (statusCode < 200) return;
      most = begins({ statusCode, headers });
      left = most;
    },
    onResponseData: (controller, part) => {
      left -= part.length;
      if (left < 0) controller.abort(tooLarge(most));
      else parts.push(part);
    },
    onResponseEnd: () => {
      signal.removeEventListener('abort', stop);
      resolve(parts);
    },
    onResponseError: (_, error) => {
      signal.removeEventListener('abort', stop);
      reject(error);
    },
  });
  return promise;
}

/** As much as one read of a connection brings at most. */
const pieceBytes = 64 * 1024;
/** So many pieces are kept for the next answers of a connection: half a megabyte. */
const mostKept = 8;

/**
 * Returns a connector whose connections read into the same memory again and again. Every read of a socket otherwise
 * allocates 64 KiB outside the heap, and V8 goes through its whole heap each time that a few hundred answers have come.
 *
 * The memory of an answer is reused after the next request was written to its connection. By then the answer must have been
 * hashed and decoded to text. Without pipelining no byte of an answer comes before the previous one is complete.
 */
function connectorOverSameMemory(options: buildConnector.BuildOptions): buildConnector.connector {
  let session: Buffer | undefined;
  return (target, callback) => {
    let socket: Socket | null = null;
    const memory = piecesOf(() => socket?.bytesWritten ?? 0);
    const onread = {
      buffer: memory.next,
      callback: (bytes: number, piece: Uint8Array) => socket?.push(piece.subarray(0, bytes)) ?? false,
    };
    // One for each connection, whose memory it is: so the session of TLS is handed on here.
    const connect = buildConnector({ ...options, session, onread });
    // It returns the socket, which its type does not say.
    socket = connect(target, callback) as unknown as Socket;
    socket.on('session', (latest: Buffer) => {
      session = latest;
    });
  };
}

/** Hands out pieces of memory, the same again once something was written since. */
function piecesOf(written: () => number): { next(): Uint8Array } {
  const free: Uint8Array[] = [];
  let used: Uint8Array[] = [];
  let before = 0;
  return {
    next: () => {
      const now = written();
      if (now !== before) {
        before = now;
        // The latest one holds the first bytes of the new answer.
        free.push(...used.slice(0, -1));
        free.length = Math.min(free.length, mostKept);
        used = used.slice(-1);
      }
      const piece = free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes);
      used.push(piece);
      return piece;
    },
  };
}
