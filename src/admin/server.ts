import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import { CataloguedError, exitCodes } from '../errors.ts';
import { isWriteRefusal, writeRefusal } from '../files/write-refusal.ts';
import { listenAddress } from '../listen-address.ts';
import type { Logger } from '../log.ts';
import { FeedChanged } from '../mirror/changes/change-feed.ts';
import type { JobState } from '../mirror/schedule/jobs.ts';
import type { DaemonStatus } from '../status/daemon-status.ts';
import { type ResyncPrice, type ResyncRequest, resyncResources } from '../sync/records/resync.ts';
import type { SubscriptionWork } from '../sync/subscriptions/work.ts';
import { operations } from './api.ts';
import { type ChangeStreamOptions, changeStream, type FeedQuestion } from './change-stream.ts';
import { type CheckOptions, checkRoutes } from './checks.ts';
import { type GuardRules, refusalOf } from './guard.ts';
import { type MetricsOptions, metricsRoute } from './metrics.ts';
import { openApi } from './openapi.ts';
import { type PageOptions, pageRoute } from './page.ts';
import { type ProbeRouteOptions, probeRoute } from './probe.ts';

export interface AdminOptions extends CheckOptions, MetricsOptions, PageOptions, ProbeRouteOptions {
  readonly listen: string;
  /** Needed for every call but `/healthz` and `/readyz` outside a unix socket. */
  readonly token: { reveal(): string } | null;
  readonly hosts: readonly string[];
  readonly log: Logger;
  status(): Promise<DaemonStatus>;
  ready(): boolean;
  price(request: ResyncRequest): ResyncPrice;
  resync(request: ResyncRequest): Promise<JobState & { resumed: boolean }>;
  job(job_id: number): JobState | null;
  plan(): unknown;
  removals(): unknown;
  /** How many products a decision was about. */
  decideRemovals(decision: 'approve' | 'reject', product_ids: readonly number[]): Promise<number>;
  /** What only a daemon can look at: the service, and its own receiver. */
  doctor(signal: AbortSignal): Promise<unknown>;
  subscriptions(): unknown;
  /** Throws where subscriptions cannot be managed. */
  manage(): Pick<SubscriptionWork, 'compare' | 'apply' | 'reactivate' | 'rotate'>;
  /** Applies what was received since then once more; how many deliveries. */
  replay(since: number): Promise<number>;
  /** Null: not mirrored. */
  explain(product_id: number, date: string | null): unknown;
  readonly changes: ChangeStreamOptions;
}

export interface Admin extends AsyncDisposable {
  readonly address: string;
  /** What it answers: a method and a path each, as the router writes it. */
  readonly routes: readonly string[];
}

const date = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', nullable: true, default: null } as const;
const resyncBody = {
  type: 'object',
  additionalProperties: false,
  required: ['resources'],
  properties: {
    resources: { type: 'array', minItems: 1, items: { type: 'string', enum: resyncResources } },
    product_ids: { type: 'array', items: { type: 'integer', minimum: 1 }, default: [] },
    from: date,
    to: date,
    dry_run: { type: 'boolean', default: false },
  },
} as const;

const explained = {
  params: { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } },
  querystring: { type: 'object', properties: { date: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' } } },
} as const;

const removalsBody = {
  type: 'object',
  additionalProperties: false,
  properties: { product_ids: { type: 'array', items: { type: 'integer', minimum: 1 }, default: [] } },
} as const;

const subscriptionId = { type: 'string', maxLength: 120 } as const;
const oneOrAllBody = {
  type: 'object',
  additionalProperties: false,
  properties: { subscription_id: { ...subscriptionId, nullable: true, default: null } },
} as const;
const oneBody = {
  type: 'object',
  additionalProperties: false,
  required: ['subscription_id'],
  properties: { subscription_id: subscriptionId },
} as const;
const applyBody = {
  type: 'object',
  additionalProperties: false,
  properties: { dry_run: { type: 'boolean', default: false } },
} as const;

const replayBody = {
  type: 'object',
  additionalProperties: false,
  required: ['since'],
  properties: { since: { type: 'integer', minimum: 0 } },
} as const;

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
  app.get('/v1/status', async () => options.status());
  checkRoutes(app, { ...options, log });
  probeRoute(app, options);
  app.get('/v1/removals', async () => options.removals());
  for (const decision of ['approve', 'reject'] as const)
    app.post<{ Body: { product_ids: number[] } }>(
      `/v1/removals/${decision}`,
      { schema: { body: removalsBody } },
      async (request) => {
        const products = await options.decideRemovals(decision, request.body.product_ids);
        log.warn({ decision, products }, 'an operator decided about removals');
        return { products };
      },
    );
  subscriptionRoutes(app, options);
  changeRoutes(app, options.changes);
  app.post<{ Body: { since: number } }>(
    '/v1/notifications/replay',
    { schema: { body: replayBody } },
    async ({ body }) => ({
      deliveries: await options.replay(body.since),
    }),
  );
  app.get('/v1/plan', async () => options.plan());
  app.get<{ Params: { id: string }; Querystring: { date?: string } }>(
    '/v1/explain/:id',
    { schema: explained },
    async (request, reply) => {
      const found = options.explain(Number(request.params.id), request.query.date ?? null);
      const message = `product ${request.params.id} is not in the mirror`;
      return found ?? reply.code(404).send({ error: 'unknown-product', message });
    },
  );
  app.get<{ Params: { id: string } }>('/v1/jobs/:id', async (request, reply) => {
    const job = options.job(Number(request.params.id));
    return job ?? reply.code(404).send({ error: 'no-such-job', message: `there is no job ${request.params.id}` });
  });
  app.post<{ Body: ResyncRequest & { dry_run: boolean } }>(
    '/v1/resync',
    { schema: { body: resyncBody } },
    async (request) => {
      const { dry_run, ...wanted } = request.body;
      if (dry_run) return { job_id: null, resumed: false, ...options.price(wanted) };
      const job = await options.resync(wanted);
      const price = options.price(wanted);
      log.info({ job_id: job.job_id, records: job.records, resumed: job.resumed }, 'resync requested');
      return { job_id: job.job_id, resumed: job.resumed, ...price };
    },
  );
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
        ...(error instanceof FeedChanged ? { feed: error.feed, next: error.next } : {}),
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
function subscriptionRoutes(app: FastifyInstance, { subscriptions, manage, doctor }: Omit<AdminOptions, 'log'>): void {
  const never = new AbortController().signal;
  type OneOrAll = { Body: { subscription_id: string | null } };
  app.get('/v1/doctor', async () => doctor(never));
  app.get('/v1/subscriptions', async () => subscriptions());
  app.post<OneOrAll>('/v1/subscriptions/compare', { schema: { body: oneOrAllBody } }, async ({ body }) =>
    manage().compare(body.subscription_id, never),
  );
  app.post<{ Body: { dry_run: boolean } }>(
    '/v1/subscriptions/apply',
    { schema: { body: applyBody } },
    async ({ body }) => manage().apply(body.dry_run ? 'dry' : 'now', never),
  );
  app.post<{ Body: { subscription_id: string } }>(
    '/v1/subscriptions/reactivate',
    { schema: { body: oneBody } },
    async ({ body }) => manage().reactivate(body.subscription_id, never),
  );
  app.post<OneOrAll>('/v1/subscriptions/rotate', { schema: { body: oneOrAllBody } }, async ({ body }) =>
    manage().rotate(body.subscription_id, never),
  );
}

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
