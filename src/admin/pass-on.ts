import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { deadline } from '../desk/check-question.rules.ts';
import type { Clock } from '../kernel/clock.ts';
import { listenAddress } from '../kernel/http/listen-address.ts';
import { exposition } from '../says/metrics/exposition.ts';
import { storefrontOperations } from './api.ts';
import { routeOf } from './api-routes.ts';
import type { StorefrontRules } from './guard.ts';
import { guardAdmin } from './guard.ts';
import { type Listening, type ListeningPorts, listenAt } from './listening.ts';
import { guardStorefront, storefrontDescription } from './storefront.ts';

const { request: httpRequest } = process.getBuiltinModule('node:http');
const { request: httpsRequest } = process.getBuiltinModule('node:https');

export interface ForwardOptions {
  readonly listen: string;
  /** The token of this interface. */
  readonly token: { reveal(): string } | null;
  readonly leader: LeaderDoor;
  readonly clock: Clock;
  /** Aborts when the daemon of this process answers here instead. */
  readonly signal: AbortSignal;
  readonly kept?: ListeningPorts['kept'];
  readonly room: ListeningPorts['room'];
}

/** The admin interface of the leading instance. */
export interface LeaderDoor {
  /** Returns its address; null: no instance leads, or the leader announces none. */
  at(): string | null;
  readonly token: { reveal(): string } | null;
}

/** Milliseconds for which a request without its own deadline waits for a leader and its answer. */
const patienceMs = { storefront: 10_000, admin: 310_000 } as const;
/** Milliseconds between two attempts to reach the current leader. */
const againMs = 100;
/**
 * The header of a request that was passed on once. Without it, two instances that take each other for the leader would
 * pass it on forever.
 */
const passedOn = 'x-catalogued-passed-on';
/** Headers of one connection, which are not passed on. */
const ofConnection = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'host',
  'authorization',
  'content-length',
  // The guard of this interface has judged them.
  'origin',
  'sec-fetch-site',
];

const standby = {
  name: 'catalogued_standby_ready',
  type: 'gauge',
  help: 'Of an instance that stands by: 1 if its mirror was equal to what is published.',
} as const;

/**
 * Starts the operator's interface of an instance that stands by. It answers health checks and metrics itself, and
 * passes all other requests on to the leader.
 */
export async function forwardAdmin(
  { hosts, ...options }: ForwardOptions & { readonly hosts: readonly string[] },
  ready: () => boolean,
): Promise<Listening> {
  const { listen, token, clock, kept, room } = options;
  return await listenAt({ name: 'admin', listen, mode: 0o600 }, { clock, kept, room }, (app, admit) => {
    const address = listenAddress(listen);
    if (!('socket' in address) && token !== null) guardAdmin(app, { token, host: address.host, hosts }, admit);
    asItCame(app);
    app.get('/healthz', async () => ({ alive: true }));
    app.get('/readyz', async (_, reply) => reply.code(ready() ? 200 : 503).send({ ready: ready() }));
    // The leader's own metrics would be counted once for each instance.
    app.get('/metrics', async (_, reply) => {
      const { type, text } = await exposition([{ ...standby, samples: [{ labels: {}, value: ready() ? 1 : 0 }] }]);
      return reply.type(type).send(text);
    });
    app.all('/*', (request, reply) => passOn(request, reply, { ...options, patience_ms: patienceMs.admin }));
  });
}

/**
 * Starts the storefront interface of an instance that stands by. It passes the operations of storefronts on to the
 * leader.
 */
export async function forwardStorefront(
  options: ForwardOptions,
  browsers: Omit<StorefrontRules, 'token'> = { public_key: null, origins: [] },
): Promise<Listening> {
  const { listen, token, clock, kept, room } = options;
  return await listenAt({ name: 'storefront', listen, mode: 0o660 }, { clock, kept, room }, (app, admit) => {
    if (!listen.startsWith('unix:')) guardStorefront(app, { token, ...browsers }, admit);
    asItCame(app);
    storefrontDescription(app);
    for (const name of storefrontOperations) {
      app.route({
        ...routeOf(name),
        handler: (request, reply) => passOn(request, reply, { ...options, patience_ms: patienceMs.storefront }),
      });
    }
  });
}

/** Passes bodies on as received, even those that no schema would accept. */
function asItCame(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
}

interface Passing extends ForwardOptions {
  readonly patience_ms: number;
}

/**
 * Passes a request on to the leader within its deadline. While no instance leads it waits, and answers 503 at the
 * deadline.
 */
async function passOn(request: FastifyRequest, reply: FastifyReply, passing: Passing): Promise<FastifyReply> {
  const { leader, clock, signal } = passing;
  const until = clock.monotonic() + patienceOf(request, passing.patience_ms);
  const left = new AbortController();
  reply.raw.once('close', () => left.abort(new Error('the client has left')));
  const gone = AbortSignal.any([signal, left.signal]);
  while (request.headers[passedOn] === undefined && !gone.aborted) {
    const patience = until - clock.monotonic();
    const at = leader.at();
    if (patience <= 0) break;
    const answer = at === null ? null : await ask(at, { request, passing, patience, gone });
    if (answer === 'too late') break;
    if (answer !== null) return answered(reply, answer);
    await clock.sleep(Math.min(againMs, patience), gone).catch(() => undefined);
  }
  return reply.code(503).header('retry-after', '1').header(passedOn, 'nobody').send({
    error: 'no-leader',
    message: 'no instance that leads has answered in time',
    hint: 'ask again; while it lasts nothing is known beyond the mirror',
  });
}

function answered(reply: FastifyReply, answer: IncomingMessage): FastifyReply {
  reply.code(answer.statusCode ?? 502);
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined && (name === 'content-length' || !ofConnection.includes(name))) reply.header(name, value);
  return reply.send(answer);
}

interface Asking {
  readonly request: FastifyRequest;
  readonly passing: Passing;
  readonly patience: number;
  readonly gone: AbortSignal;
}

/**
 * Returns the leader's answer. Null: the request was not sent, or may be repeated, so another attempt is allowed. `too
 * late`: it may have been sent and must not be repeated, or its time is up.
 */
async function ask(
  at: string,
  { request: { url, method, body, headers }, passing, patience, gone }: Asking,
): Promise<IncomingMessage | null | 'too late'> {
  const target = new URL(at);
  using limit = passing.clock.deadline(patience, gone);
  const sent = { ...Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name))) };
  const { token } = passing.leader;
  if (token !== null) sent.authorization = `Bearer ${token.reveal()}`;
  const call = (target.protocol === 'https:' ? httpsRequest : httpRequest)({
    ...urlToHttpOptions(target),
    // The path stays as received. If `//elsewhere/` were resolved, it would name another host, which would receive the
    // token.
    path: `${target.pathname.replace(/\/$/, '')}${url}`,
    method,
    headers: { ...sent, [passedOn]: '1' },
  });
  const end = () => call.destroy(new Error('given up'));
  limit.signal.addEventListener('abort', end);
  call.end(body instanceof Buffer ? body : undefined);
  try {
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    if (answer.headers[passedOn] === undefined) return answer;
    answer.resume();
    return null;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return neverAsked.has(code) || (method === 'GET' && !limit.signal.aborted) ? null : 'too late';
  } finally {
    limit.signal.removeEventListener('abort', end);
  }
}

/** Error codes of connections that were never made. */
const neverAsked: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Returns the milliseconds for which a request waits. The body of a check contains the shopper's deadline. */
function patienceOf({ method, url, body }: FastifyRequest, usual: number): number {
  if (method !== 'POST' || !url.startsWith('/v1/check')) return usual;
  try {
    const { deadline_ms = deadline.usual } = JSON.parse(String(body)) as { deadline_ms?: unknown };
    return typeof deadline_ms === 'number' ? Math.min(deadline_ms, deadline.most) : deadline.usual;
  } catch {
    return deadline.usual;
  }
}
