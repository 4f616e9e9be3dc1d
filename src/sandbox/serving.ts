import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../clock.ts';
import type { CallLog } from './call-log.ts';
import { readBody } from './listen.ts';
import { type Owned, ownAnswer } from './own-endpoints.ts';
import { type Decision, isSubscriptionPath } from './push/subscription-endpoints.ts';
import { errorOf, type FaultScript, spoil, takesEffect } from './rough/faults.ts';
import type { Roughness } from './rough/roughness.ts';
import type { Throttle } from './throttle.ts';

/** An answer that was sent complete and without faults. */
export interface Served {
  readonly at: number;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

export interface ServingOptions {
  readonly clock: Clock;
  /** The accepted key; null: any key, or none, is accepted. */
  readonly key: string | null;
  readonly encoding: 'gzip' | 'plain';
  readonly served: ((answer: Served) => void) | null;
  readonly rough: Roughness;
  readonly calls: CallLog;
  readonly faults: FaultScript;
  readonly owned: Owned;
  /** Returns the throttle set by a test; null: none. */
  readonly limit: () => Throttle | null;
  /** Returns the answer to a request, before faults and throttling. */
  readonly decide: (request: IncomingMessage, method: string, url: URL) => Promise<Decision>;
}

/** Answers requests, with all faults that may affect an answer. */
export interface Serving {
  listener(request: IncomingMessage, response: ServerResponse): void;
  /** Return the number of requests under way, and how many of them only wait for the clock. */
  inFlight(): number;
  sleeping(): number;
}

/** One request, and the response for its answer. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly method: string;
  /** Records the status of the call; 0: without a status. */
  note(status: number): void;
}

export function createServing(options: ServingOptions): Serving {
  const { clock, rough, calls, owned } = options;
  let inFlight = 0;
  let sleeping = 0;

  async function waits(wait: Promise<void>): Promise<void> {
    sleeping += 1;
    try {
      await wait;
    } finally {
      sleeping -= 1;
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://sandbox');
    response.sendDate = false;
    response.setHeader('date', new Date(clock.now() + rough.quirks().clock_skew_ms).toUTCString());
    if (url.pathname.startsWith('/sandbox/')) return answerOwn(owned, request, response, url);
    const { method = 'GET' } = request;
    const path = method === 'GET' ? url.pathname : `${method} ${url.pathname}`;
    const note = (status: number) => calls.note({ path, query: url.search, status });
    const visit = { request, response, url, method, note };
    if (isThrottled(options, visit)) return;
    const { slow_ms } = rough.quirks();
    if (slow_ms > 0) await waits(clock.sleep(slow_ms, whenGone(response)));
    if (isStranger(options, visit)) return;
    await answer(options, visit, waits);
  }

  return {
    listener: (request, response) => {
      inFlight += 1;
      response.once('close', () => {
        inFlight -= 1;
      });
      serve(request, response).catch(() => response.destroy());
    },
    inFlight: () => inFlight,
    sleeping: () => sleeping,
  };
}

async function answerOwn(owned: Owned, request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
  const body = request.method === 'POST' ? await readBody(request) : null;
  const { status, body: text } = ownAnswer(owned, url, body);
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(text);
}

/** Refuses a call above the limit. Returns true if it was refused. */
function isThrottled({ limit, rough }: ServingOptions, { response, url, note }: Visit): boolean {
  const about = /^\/v2\/products\/\d+/.exec(url.pathname)?.[0] ?? url.pathname;
  const refused = limit()?.admit(about) ?? rough.limit()?.admit(about) ?? null;
  if (refused === null) return false;
  note(refused.status);
  response.writeHead(refused.status, { 'content-type': 'application/json', ...refused.headers });
  response.end(errorOf(refused.status));
  return true;
}

/** Refuses a call with a wrong key. Returns true if it was refused. */
function isStranger({ key }: ServingOptions, { request, response, note }: Visit): boolean {
  if (key === null || request.headers.authorization === `Token ${key}`) return false;
  note(401);
  response.writeHead(401, { 'content-type': 'application/json' });
  response.end(errorOf(401));
  return true;
}

async function answer(
  { clock, encoding, served, faults, decide }: ServingOptions,
  { request, response, url, method, note }: Visit,
  waits: (wait: Promise<void>) => Promise<void>,
): Promise<void> {
  const { answer: decided, take } = await decide(request, method, url);
  const address = `${url.pathname}${url.search}`;
  const body = decided.status < 300 ? faults.lied(method, address, decided.body) : decided.body;
  const fault = decided.status < 300 ? faults.next(method, address) : null;
  if (fault === null || takesEffect(fault)) take?.();
  if (fault !== null) {
    note(fault.kind === 'status' ? (fault.status ?? 500) : 0);
    const gone = whenGone(response);
    await spoil(response, fault, { ...decided, body }, (ms) => waits(clock.sleep(ms, gone)));
    return;
  }
  note(decided.status);
  if (decided.status === 200 && body === decided.body && !isSubscriptionPath(url.pathname))
    served?.({ at: clock.now(), path: url.pathname, query: url.searchParams, body: decided.body });
  const zip = encoding === 'gzip' && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  respond(response, decided.status, body, zip ? 'gzip' : 'plain');
}

/** Returns a signal that aborts when the client goes. */
function whenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on('close', () => gone.abort(new Error('the client has gone')));
  return gone.signal;
}

function respond(response: ServerResponse, status: number, text: string, encoding: 'gzip' | 'plain'): void {
  const zipped = encoding === 'gzip' && text.length > 1024;
  const body = zipped ? gzipSync(text, { level: 1 }) : Buffer.from(text);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...(zipped ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(body);
}
