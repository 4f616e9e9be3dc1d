import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { deadline } from '../domain/checks/check-question.ts';
import { listenAddress } from '../listen-address.ts';
import { storefrontOperations } from './api.ts';
import { exposition } from './exposition.ts';
import { guardAdmin } from './guard-admin.ts';
import { type Listening, type ListeningPorts, listenAt } from './listening.ts';
import { guardStorefront } from './storefront.ts';

const { request: httpRequest } = process.getBuiltinModule('node:http');
const { request: httpsRequest } = process.getBuiltinModule('node:https');

export interface PassOnOptions {
  readonly listen: string;
  /** Of this door. */
  readonly token: { reveal(): string } | null;
  readonly leader: LeaderDoor;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep' | 'deadline'>;
  /** Aborted when another one answers here. */
  readonly signal: AbortSignal;
  readonly kept?: ListeningPorts['kept'];
}

/** The admin interface of the instance that leads. */
export interface LeaderDoor {
  /** Null: nobody leads, or it does not say where it is. */
  at(): string | null;
  readonly token: { reveal(): string } | null;
}

/** How long a request waits for a leader and its answer where it names no deadline of its own. */
const patienceMs = { storefront: 10_000, admin: 310_000 } as const;
/** Between two tries to reach whoever leads by now. */
const againMs = 100;
/** Marks what was passed on once: two instances that take each other for the leader must not go on for ever. */
const passedOn = 'x-catalogued-passed-on';
/** Of one connection, not of what is passed on. */
const ofConnection = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'host',
  'authorization',
  'content-length',
];

const standby = {
  name: 'catalogued_standby_ready',
  type: 'gauge',
  help: 'Of an instance that stands by: 1 if its mirror was equal to what is published.',
} as const;

/** Starts the operator's interface of an instance that stands by: but for its own health it is the leader's. */
export async function passOnAdmin(
  { hosts, ...options }: PassOnOptions & { readonly hosts: readonly string[] },
  ready: () => boolean,
): Promise<Listening> {
  const { listen, token, clock, kept } = options;
  return await listenAt({ name: 'admin', listen, mode: 0o600 }, { clock, kept }, (app) => {
    const address = listenAddress(listen);
    if (!('socket' in address) && token !== null) guardAdmin(app, { token, host: address.host, hosts });
    asItCame(app);
    app.get('/healthz', async () => ({ alive: true }));
    app.get('/readyz', async (_, reply) => reply.code(ready() ? 200 : 503).send({ ready: ready() }));
    // The leader's own would be counted once for each instance.
    app.get('/metrics', async (_, reply) => {
      const { type, text } = await exposition([{ ...standby, samples: [{ labels: {}, value: ready() ? 1 : 0 }] }]);
      return reply.type(type).send(text);
    });
    app.all('/*', (request, reply) => passOn(request, reply, { ...options, patience_ms: patienceMs.admin }));
  });
}

/** Starts the storefront interface of an instance that stands by: the leader answers what a storefront may ask. */
export async function passOnStorefront(options: PassOnOptions): Promise<Listening> {
  const { listen, token, clock, kept } = options;
  return await listenAt({ name: 'storefront', listen, mode: 0o660 }, { clock, kept }, (app) => {
    if (!listen.startsWith('unix:')) guardStorefront(app, token);
    asItCame(app);
    for (const name of storefrontOperations) {
      const [method = '', path = ''] = name.split(' ');
      app.route({
        method,
        url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
        handler: (request, reply) => passOn(request, reply, { ...options, patience_ms: patienceMs.storefront }),
      });
    }
  });
}

/** Bodies are passed on as they came, also those that no schema would take. */
function asItCame(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
}

interface Passing extends PassOnOptions {
  readonly patience_ms: number;
}

/** Passes a request on to whoever leads, within its deadline; while nobody does it waits, and then gets 503. */
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

/** Returns the answer; null: it was not asked, so that another try repeats nothing; or that it may have been and says nothing. */
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
    // As it came: `//elsewhere/` in front of a path, resolved, would be another host, which would be told the token.
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

/** Errors of a connection that was never made. */
const neverAsked: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** A check says how long the shopper waits. */
function patienceOf({ method, url, body }: FastifyRequest, usual: number): number {
  if (method !== 'POST' || !url.startsWith('/v1/check')) return usual;
  try {
    const { deadline_ms = deadline.usual } = JSON.parse(String(body)) as { deadline_ms?: unknown };
    return typeof deadline_ms === 'number' ? Math.min(deadline_ms, deadline.most) : deadline.usual;
  } catch {
    return deadline.usual;
  }
}
