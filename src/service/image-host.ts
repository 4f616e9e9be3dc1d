import { createHash } from 'node:crypto';
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import { mayBeImage } from '../catalogue/image.rules.ts';
import { type Clock, DeadlineExceeded, type Instant, instant } from '../kernel/clock.ts';
import { type ImageReach, isPublicAddress, refuseUrl } from '../kernel/values/public-address.ts';
import { ImageInspection, type Inspected } from './image-inspection.ts';
import { drain, header, partsWithin, TooLarge, transportError } from './response.ts';
import { parseRetryAfter } from './retry-after.ts';

export interface ImageHostOptions {
  readonly reach: ImageReach;
  readonly user_agent: string;
  /** Of what is really received. */
  readonly max_bytes: number;
  /** Milliseconds from sending to the last byte, however slowly data arrives. */
  readonly deadline_ms: number;
  readonly requests_per_second: number;
  readonly concurrency: number;
  readonly clock: Clock;
  /** Resolves names; must return all addresses. */
  readonly lookup?: LookupFunction;
}

/** Validators of the kept file, so that the host need not send it again. */
export interface Validators {
  readonly etag: string | null;
  readonly last_modified: string | null;
}

/** Takes a file as it comes; discard what it took of an answer that is not `received`. */
export interface ImageSink {
  write(part: Uint8Array): Promise<void>;
}

/** A file that came whole, as far as HTTP can tell. */
export interface ReceivedImage extends Validators {
  readonly kind: 'received';
  readonly sent_at: Instant;
  readonly bytes: number;
  /** SHA-256, lower case hex. */
  readonly checksum: string;
  /** The image by its bytes, regardless of the host's media type. */
  readonly inspected: Inspected;
}

/** The outcome of requesting an image. Messages contain no address. */
export type ImageOutcome =
  | ReceivedImage
  | { readonly kind: 'unchanged'; readonly sent_at: Instant }
  /** 404 or 410. */
  | { readonly kind: 'gone'; readonly sent_at: Instant }
  /** This answer, or the address itself: it will hardly be another one soon. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** The host wants, or needs, a rest: nothing of this origin before `until`. */
  | { readonly kind: 'paused'; readonly origin: string; readonly until: Instant };

/** The host of image files, which is not the service: its key is never sent there, and its budget is not used. */
export interface ImageHost extends AsyncDisposable {
  /**
   * Sends one GET for one file, without retries. Rejects only with the reason of an aborted `signal`, and with the
   * sink's error.
   */
  get(url: string, known: Validators | null, sink: ImageSink, signal: AbortSignal): Promise<ImageOutcome>;
}

const firstPauseMs = 1000;
const longestPauseMs = 3_600_000;
/** As much as is read of an answer that brings no file. */
const unreadBytes = 16 * 1024;

class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';
}

/** The sink's own error, which is not the host's. */
class SinkFailed extends Error {
  override readonly name = 'SinkFailed';
}

export function createImageHost(options: ImageHostOptions): ImageHost {
  const { clock, reach, max_bytes, deadline_ms } = options;
  const pace = imagePace(clock, options);
  const pauses = new Map<string, { until: Instant; times: number }>();
  const agent = new Agent({
    connections: options.concurrency,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: 10_000, lookup: publicOnly(options.lookup ?? systemLookup, reach) },
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });

  function pause(origin: string, asked_ms: number | null): ImageOutcome {
    const times = pauses.get(origin)?.times ?? 0;
    const wait = asked_ms ?? Math.min(longestPauseMs, firstPauseMs * 2 ** times);
    const until = instant(clock.now() + wait);
    pauses.set(origin, { until, times: Math.min(times + 1, 20) });
    return { kind: 'paused', origin, until };
  }

  async function ask(url: URL, known: Validators | null, sink: ImageSink, signal: AbortSignal): Promise<ImageOutcome> {
    using deadline = clock.deadline(deadline_ms, signal);
    const sent_at = clock.now();
    try {
      const response = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: headersOf(options, known),
        signal: deadline.signal,
      });
      const verdict = judgeHead(response, known, options, sent_at);
      const busy = response.statusCode === 429 || response.statusCode === 503;
      if (!busy) pauses.delete(url.origin);
      if (verdict === null) return await receive(response, sink, { max_bytes, sent_at });
      await drain(response.body, unreadBytes, deadline.signal);
      signal.throwIfAborted();
      return busy ? pause(url.origin, waitOf(response, clock.now())) : verdict;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SinkFailed) throw error.cause;
      if (error instanceof TooLarge) return tooLarge(max_bytes);
      const outcome = outcomeOf(error, deadline.signal.reason);
      return outcome === 'unreachable' ? pause(url.origin, null) : outcome;
    }
  }

  return {
    get: async (text, known, sink, signal) => {
      signal.throwIfAborted();
      const refusal = refuseUrl(text, reach);
      if (refusal !== null) return { kind: 'refused', ...refusal };
      const url = new URL(text);
      const resting = () => {
        const until = pauses.get(url.origin)?.until;
        return until !== undefined && until > clock.now()
          ? { kind: 'paused' as const, origin: url.origin, until }
          : null;
      };
      const early = resting();
      if (early !== null) return early;
      using _ = await pace.turn(signal);
      return resting() ?? (await ask(url, known, sink, signal));
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/**
 * Resolves names as ever, and refuses one that has any address inside: the connection is made to what was looked at,
 * so a name that answers differently the next time gains nothing.
 */
function publicOnly(lookup: LookupFunction, { addresses }: ImageReach): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, []);
      const list = Array.isArray(found) ? found : [];
      const inside = list.some(({ address }) => !isPublicAddress(address) && !addresses.includes(address));
      const [first] = list;
      if (inside || first === undefined) return done(new PrivateAddress('the name has an address inside'), []);
      return options.all === true ? done(null, list) : done(null, first.address, first.family);
    });
  };
}

function headersOf({ user_agent }: ImageHostOptions, known: Validators | null): Record<string, string> {
  return {
    // Hosts that choose the format by this send what every reader of a file can show.
    accept: 'image/jpeg, image/png, image/gif;q=0.9, image/*;q=0.5',
    'accept-encoding': 'identity',
    'user-agent': user_agent,
    ...(known?.etag == null ? {} : { 'if-none-match': known.etag }),
    ...(known?.last_modified == null ? {} : { 'if-modified-since': known.last_modified }),
  };
}

/** Returns what the status and the headers decide by themselves; null where a file follows. */
function judgeHead(
  response: Dispatcher.ResponseData,
  known: Validators | null,
  { max_bytes }: ImageHostOptions,
  sent_at: Instant,
): ImageOutcome | null {
  const status = response.statusCode;
  if (status === 304 && known !== null) return { kind: 'unchanged', sent_at };
  if (status === 404 || status === 410) return { kind: 'gone', sent_at };
  if (status >= 300 && status < 400)
    return refused('redirect', `the host redirects (${status}); redirects are not followed`);
  if (status >= 400 && status < 500) return refused(`status-${status}`, `the host answered ${status}`);
  if (status !== 200) return { kind: 'failed', code: `status-${status}`, message: `the host answered ${status}` };
  const type = (header(response, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (!mayBeImage(type)) {
    const named = /^[a-z]+\/[\w.+-]{1,60}$/.test(type) ? `has the media type ${type}, which` : 'has a media type that';
    return refused('type', `the answer ${named} is not supported`);
  }
  const encoding = header(response, 'content-encoding') ?? 'identity';
  if (encoding !== 'identity') return refused('encoding', 'the answer is compressed, which nobody asked for');
  const length = Number(header(response, 'content-length') ?? 0);
  return length > max_bytes ? tooLarge(max_bytes) : null;
}

function refused(code: string, message: string): ImageOutcome {
  return { kind: 'refused', code, message };
}

function tooLarge(max_bytes: number): ImageOutcome {
  return refused('too-large', `the file is larger than ${max_bytes} bytes`);
}

async function receive(
  response: Dispatcher.ResponseData,
  sink: ImageSink,
  { max_bytes, sent_at }: { max_bytes: number; sent_at: Instant },
): Promise<ImageOutcome> {
  const checksum = createHash('sha256');
  const inspection = new ImageInspection();
  let bytes = 0;
  // Leaving the loop early ends the transfer.
  for await (const part of partsWithin(response.body, max_bytes)) {
    bytes += part.length;
    checksum.update(part);
    inspection.write(part);
    await sink.write(part).catch((cause: unknown) => {
      throw new SinkFailed('the file cannot be written', { cause });
    });
  }
  return {
    kind: 'received',
    sent_at,
    bytes,
    checksum: checksum.digest('hex'),
    inspected: inspection.result(),
    etag: header(response, 'etag') ?? null,
    last_modified: header(response, 'last-modified') ?? null,
  };
}

function waitOf(response: Dispatcher.ResponseData, now: Instant): number | null {
  return parseRetryAfter(header(response, 'retry-after'), header(response, 'date'), now);
}

/** Returns why asking ended without a file. Messages are ours: those of libraries may carry the whole URL. */
function outcomeOf(error: unknown, reason: unknown): ImageOutcome | 'unreachable' {
  if (reason instanceof DeadlineExceeded) return { kind: 'failed', code: 'deadline', message: reason.message };
  const { cause, code, unreachable } = transportError(error);
  if (cause instanceof PrivateAddress) return refused('private-address', 'its host is not on the public internet');
  if (unreachable !== null) return 'unreachable';
  return { kind: 'failed', code: 'transfer', message: `the file did not arrive completely (${code || 'no HTTP'})` };
}

/** Limits requests to the image host: its own rate and concurrency, independent of the service's budget. */
interface ImagePace {
  /** Waits for a turn; rejects with the reason of an aborted signal. Dispose what it returns when the answer is read. */
  turn(signal: AbortSignal): Promise<Disposable>;
}

/** At most `concurrency` at a time, and no two starts nearer than the rate says. */
export function imagePace(clock: Clock, options: { requests_per_second: number; concurrency: number }): ImagePace {
  const apart = 1000 / options.requests_per_second;
  const waiting: (() => void)[] = [];
  let free = options.concurrency;
  let next_at = 0;

  function give(): void {
    const first = waiting.shift();
    if (first === undefined) free += 1;
    else first();
  }

  async function place(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) {
      free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      const at = waiting.indexOf(resolve);
      if (at < 0) return;
      waiting.splice(at, 1);
      reject(signal.reason);
    };
    waiting.push(resolve);
    signal.addEventListener('abort', leave, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  return {
    turn: async (signal) => {
      await place(signal);
      const now = clock.monotonic();
      const at = Math.max(now, next_at);
      next_at = at + apart;
      try {
        if (at > now) await clock.sleep(at - now, signal);
      } catch (error) {
        give();
        throw error;
      }
      return { [Symbol.dispose]: give };
    },
  };
}
