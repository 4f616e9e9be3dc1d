import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { CataloguedError, exitCodes } from '../errors.ts';
import { isWriteRefusal, writeRefusal } from '../files/write-refusal.ts';
import { listenAddress } from '../listen-address.ts';
import type { Logger } from '../log.ts';
import { FeedReplaced } from '../mirror/changes/change-feed.ts';
import { type Answering, type Answers, type Operation, type OperationName, operations } from './api.ts';
import { type ChangeStreamOptions, changeStream, type FeedQuestion } from './change-stream.ts';
import { checkRoutes } from './checks.ts';
import { type GuardRules, refusalOf } from './guard.ts';
import { type MetricsOptions, metricsRoute } from './metrics.ts';
import { openApi } from './openapi.ts';
import { type PageOptions, pageRoute } from './page.ts';
import { probeRoute } from './probe.ts';
import { readRequest } from './request.ts';

export interface AdminOptions extends MetricsOptions, PageOptions {
  readonly listen: string;
  /** Needed for every call but `/healthz` and `/readyz` outside a unix socket. */
  readonly token: { reveal(): string } | null;
  readonly hosts: readonly string[];
  readonly log: Logger;
  ready(): boolean;
  readonly answers: Answers;
  readonly changes: ChangeStreamOptions;
}

export interface Admin extends AsyncDisposable {
  readonly address: string;
  /** What it answers: a method and a path each, as the router writes it. */
  readonly routes: readonly string[];
}

/** Whoever sends the head or the whole of a request slower than this is let go. Milliseconds. */
const patience = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1000 };
/** Workers of storefronts, followers and people together; beyond it connections are leaked by somebody. */
const connectionsAtMost = 2000;
/** Longer than the usual proxies in front keep one. */
const keepAliveMs = 72_000;
/** Whoever has not sent the whole of a request by then, or not taken the whole of an answer, does not keep the daemon from ending. */
const drainMs = 5000;

/** The local interface of a running daemon (design 3.4): health, status, and resyncs that a person asks for. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  // One, or two where a name has an address of either kind.
  const servers: Server[] = [];
  const app = fastify({
    logger: false,
    bodyLimit: 1024 * 1024,
    serverFactory: (handler) => {
      const server = createServer({ keepAliveTimeout: keepAliveMs, ...patience }, handler);
      server.maxConnections = connectionsAtMost;
      servers.push(server);
      return server;
    },
  });
  const answered: string[] = [];
  app.addHook('onRoute', ({ method, url }) => void answered.push(`${String(method)} ${url}`));
  const address = listenAddress(options.listen);
  const local = 'socket' in address;
  if (!local && options.token === null) {
    throw new CataloguedError('admin-token', `admin.listen is ${options.listen}, and there is no admin token`, {
      exitCode: exitCodes.configuration,
      hint: 'set admin.token_file, or let it listen on a unix socket: admin: { listen: "unix:./data/state/admin.sock" }',
    });
  }
  if (!local && options.token !== null) guard(app, { token: options.token, host: address.host, hosts: options.hosts });
  routes(app, options);
  try {
    if (local) rmSync(address.socket, { force: true });
    const url = await app.listen(local ? { path: address.socket } : { host: address.host, port: address.port });
    if (local) chmodSync(address.socket, 0o600);
    const close = async () => {
      using patience = options.changes.clock.deadline(drainMs);
      patience.signal.addEventListener('abort', () => {
        for (const server of servers) server.closeAllConnections();
      });
      await app.close();
    };
    return { address: local ? options.listen : url, routes: answered, [Symbol.asyncDispose]: close };
  } catch (error) {
    await app.close();
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === 'EADDRINUSE' ? 'it is in use' : (code ?? String(error));
    throw new CataloguedError('admin-listen', `cannot listen on ${options.listen}: ${reason}`, {
      exitCode: code === 'EACCES' ? exitCodes.permission : exitCodes.io,
      hint: 'name another admin.listen, or stop the program that holds it',
      cause: error,
    });
  }
}

function routes(app: FastifyInstance, { log, ...options }: AdminOptions): void {
  app.get('/healthz', async () => ({ alive: true }));
  app.get('/readyz', async (_, reply) => reply.code(options.ready() ? 200 : 503).send({ ready: options.ready() }));
  app.get('/openapi.json', async () => openApi(operations));
  metricsRoute(app, options);
  pageRoute(app, options);
  apiRoutes(app, options.answers, log);
  changeRoutes(app, options.changes);
  app.setNotFoundHandler(async ({ method, url }, reply) =>
    reply.code(404).send({
      error: 'no-such-route',
      message: `nothing answers ${method} ${url.slice(0, 100).replace(/\?.*/, '')} here`,
    }),
  );
  app.setErrorHandler(async (thrown: Error & { statusCode?: number; validation?: unknown }, _, reply) => {
    const error = writeRefusal(thrown) ?? thrown;
    if (error instanceof CataloguedError)
      return reply.code(statusOf(error)).send({
        error: error.code,
        message: error.message,
        hint: error.hint,
        ...(error instanceof FeedReplaced ? { feed: error.feed, next: error.next } : {}),
      });
    const status = error.statusCode ?? 500;
    if (status >= 500) log.error({ err: error }, 'admin request failed');
    return reply.code(status).send({
      error: status >= 500 ? 'bug' : 'bad-request',
      message: status >= 500 ? 'internal error' : error.message,
    });
  });
}

function statusOf({ code }: CataloguedError): number {
  if (code === 'cursor-too-old' || code === 'feed-changed') return 410;
  return isWriteRefusal(code) || code === 'too-many-followers' ? 503 : 400;
}

/** Before anything else of a request is looked at, also of one that no route takes. */
function guard(app: FastifyInstance, rules: GuardRules): void {
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request;
    const refusal = refusalOf({ method, headers, route: routeOptions.url ?? null }, rules);
    if (refusal === null) return;
    const { status, ...answer } = refusal;
    if (status === 401) reply.header('www-authenticate', 'Basic realm="catalogued", charset="UTF-8"');
    return reply.code(status).send(answer);
  });
}

/** What asks the service goes on when the caller leaves: half of it would be worse. */
const never = new AbortController().signal;

/** A route for each operation: what is asked is read by its schemas, and what is not there is its 404. */
function apiRoutes(app: FastifyInstance, answers: Answers, log: Logger): void {
  checkRoutes(app, answers, log);
  probeRoute(app, answers['POST /v1/probe']);
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    if (ownRoutes.has(name)) continue;
    const [method = '', path = ''] = name.split(' ');
    const answer = answers[name as keyof Answers] as Answering<OperationName>;
    const handler = async (request: FastifyRequest<{ Params: { id?: string } }>, reply: FastifyReply) => {
      const found = await answer(readRequest(operation, request), never);
      return found ?? reply.code(404).send(operation.missing?.(request.params.id ?? ''));
    };
    app.route({ method, url: path.replaceAll(/\{(\w+)\}/g, ':$1'), handler });
  }
}

/** Answered past the others: by a stream, in one write, one at a time. */
const ownRoutes: ReadonlySet<string> = new Set<OperationName>([
  'GET /v1/changes',
  'POST /v1/check',
  'POST /v1/orders',
  'POST /v1/probe',
]);

/** As JSON, or to whom asks for it as events; what an event source has seen last counts more than its address. */
function changeRoutes(app: FastifyInstance, options: ChangeStreamOptions): void {
  const stream = changeStream(options);
  // Before the listener waits for its connections to end, which those would never do.
  app.addHook('preClose', () => stream[Symbol.asyncDispose]());
  app.get<{ Querystring: FeedQuestion }>('/v1/changes', { exposeHeadRoute: false }, async (request, reply) => {
    const { accept = '', 'last-event-id': seen } = request.headers;
    if (!accept.includes('text/event-stream')) {
      return reply.type('application/json; charset=utf-8').send(stream.page(request.query));
    }
    stream.follow({ after: seen ?? request.query.after, feed: request.query.feed }, reply.raw);
    return reply.hijack();
  });
}
