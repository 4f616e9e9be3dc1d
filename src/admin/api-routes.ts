import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FeedReplaced } from '../feed/changes.store.ts';
import { writeRefusal } from '../files/write-refusal.ts';
import { CataloguedError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import type { Operation } from './api/operation.ts';
import { type Answering, type Answers, type OperationName, operations } from './api.ts';
import { type ChangeStreamOptions, changeStream, type FeedQuestion } from './change-stream.ts';
import type { InterfaceRoom } from './listening.ts';
import { checkRoute, orderRoute } from './orders-and-checks.ts';
import { type MirrorReads, readRoute, UnsentAnswers } from './read-route.ts';
import { badRequest, readRequest } from './request.ts';
import { type RowCopy, rowCopyRoute } from './rows.ts';

export interface ApiOptions {
  readonly log: Logger;
  readonly answers: Answers;
  readonly changes: ChangeStreamOptions;
  readonly room: InterfaceRoom;
  readonly copyRows: () => Promise<RowCopy>;
  readonly reads: MirrorReads;
}

/**
 * A signal that never aborts: work that calls the service continues when the caller disconnects, because stopping
 * halfway would be worse.
 */
const never = new AbortController().signal;

/** Operations with special routes: a stream, an answer in one write, one call at a time. */
const ownRoutes: Readonly<Partial<Record<OperationName, (app: FastifyInstance, options: ApiOptions) => void>>> = {
  'GET /v1/changes': changeRoute,
  'GET /v1/rows/copy': (app, { copyRows }) => rowCopyRoute(app, copyRows),
  'POST /v1/check': (app, { answers }) => checkRoute(app, answers['POST /v1/check']),
  'POST /v1/orders': (app, { answers }) => orderRoute(app, answers['POST /v1/orders']),
  'POST /v1/probe': (app, { answers }) => probeRoute(app, answers['POST /v1/probe']),
};

/**
 * Adds a route for each operation that the interface answers. Requests are parsed by the operation's schemas. A missing
 * subject is answered 404.
 */
export function apiRoutes(app: FastifyInstance, names: readonly OperationName[], options: ApiOptions): void {
  const reading = { reads: options.reads, unsent: new UnsentAnswers() };
  for (const name of names) {
    const own = ownRoutes[name];
    const operation: Operation = operations[name];
    if (operation.read !== undefined)
      readRoute(app, { name: operation.read, path: routeOf(name).url, operation }, reading);
    else if (own === undefined) plainRoute(app, name, options.answers);
    else own(app, options);
  }
}

/** Returns the method and the path of an operation in the router's notation. */
export function routeOf(name: OperationName): { readonly method: string; readonly url: string } {
  const [method = '', path = ''] = name.split(' ');
  return { method, url: path.replaceAll(/\{(\w+)\}/g, ':$1') };
}

function plainRoute(app: FastifyInstance, name: OperationName, answers: Answers): void {
  const operation: Operation = operations[name];
  const answer = answers[name as keyof Answers] as Answering<OperationName>;
  const handler = async (request: FastifyRequest<{ Params: { id?: string } }>, reply: FastifyReply) => {
    const found = await answer(readRequest(operation, request), never);
    return found ?? reply.code(404).send(operation.missing?.(request.params.id ?? ''));
  };
  app.route({ ...routeOf(name), handler });
}

/**
 * Answers changes as JSON, or as events to clients that ask for them. The Last-Event-ID of an event source overrides
 * the position in its URL.
 */
function changeRoute(app: FastifyInstance, { changes, room }: ApiOptions): void {
  const stream = changeStream(changes, room);
  // The listener waits for its connections to end. These never end by themselves, so they are closed first.
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

/** Sets the answers for an unknown route and for a route that throws. */
export function refusals(app: FastifyInstance, log: Logger): void {
  app.setNotFoundHandler(async ({ method, url }, reply) =>
    reply.code(404).send({
      error: 'no-such-route',
      message: `there is no ${method} ${url.slice(0, 100).replace(/\?.*/, '')} here`,
    }),
  );
  app.setErrorHandler(async (thrown: Error & { statusCode?: number; validation?: unknown }, _, reply) => {
    const error = writeRefusal(thrown) ?? thrown;
    if (error instanceof CataloguedError)
      return reply.code(thrown.statusCode ?? statuses[error.code] ?? 400).send({
        error: error.code,
        message: error.message,
        hint: error.hint,
        ...(error instanceof FeedReplaced ? { feed: error.feed, next: error.next } : {}),
      });
    const status = error.statusCode ?? 500;
    if (status < 500) return reply.code(status).send(badRequest(error.message));
    log.error({ err: error }, 'admin request failed');
    return reply.code(status).send({ error: 'bug', message: 'internal error' });
  });
}

/** Statuses of refusals, by error code; that of any other is 400. */
const statuses: Readonly<Record<string, number>> = {
  'unknown-job': 404,
  'unknown-condition': 404,
  'rows-not-published': 404,
  'order-differs': 409,
  'cursor-too-old': 410,
  'feed-changed': 410,
  'rows-begun-anew': 410,
  'disk-full': 503,
  locked: 503,
  'too-many-followers': 503,
  'too-many-searches': 503,
  'too-many-reads': 503,
  'copy-under-way': 503,
  'not-published': 503,
  // Of the reader: the file cannot be read now.
  'no-mirror': 503,
  busy: 503,
  damaged: 503,
  unreadable: 503,
};

/** Adds `POST /v1/probe`. Only one probe runs at a time, and it ends when the client disconnects. */
function probeRoute(app: FastifyInstance, probe: Answering<'POST /v1/probe'>): void {
  let running = false;
  app.post('/v1/probe', async (request, reply) => {
    if (running) return reply.code(409).send({ error: 'probing', message: 'a probe is under way' });
    running = true;
    const gone = new AbortController();
    request.raw.socket.once('close', () => gone.abort(new Error('the client has gone')));
    try {
      return await probe({ path: undefined, query: undefined, body: undefined }, gone.signal);
    } finally {
      running = false;
    }
  });
}
