import type { FastifyInstance } from 'fastify';
import { type Answer, type Answering, operations } from './api.ts';
import { readRequest } from './request.ts';

/** The most bytes of a body; larger than any valid request. */
const bodyLimit = 64 * 1024;

/**
 * Adds `POST /v1/check`. It answers 404 for a product that is not mirrored, and 400 for any other invalid
 * request.
 */
export function checkRoute(app: FastifyInstance, check: Answering<'POST /v1/check'>): void {
  /** Texts of answers: each is printed once, even if thousands of clients receive it. */
  const texts = new WeakMap<Answer<'POST /v1/check'>, string>();
  app.post('/v1/check', { bodyLimit, errorHandler: handOn }, async (request, reply) => {
    const asked = readRequest<'POST /v1/check'>(operations['POST /v1/check'], request);
    const left = new AbortController();
    const gone = () => left.abort(new Error('the client has left'));
    reply.raw.once('close', gone);
    try {
      const answer = await check(asked, left.signal);
      // Bypasses fastify's reply, because a thousand answers may leave in one turn of the event loop. As text, an
      // answer leaves in one write with its headers.
      const text = texts.getOrInsertComputed(answer, () => JSON.stringify(answer));
      reply.hijack();
      reply.raw
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
        .end(text);
      return reply;
    } catch (error) {
      // The client has disconnected, so nothing is sent.
      if (left.signal.aborted) return reply.hijack();
      throw error;
    } finally {
      reply.raw.removeListener('close', gone);
    }
  });
}

/**
 * Adds `POST /v1/orders`. It refuses like `POST /v1/check`, and answers 409 for an order id used before
 * with other contents.
 */
export function orderRoute(app: FastifyInstance, order: Answering<'POST /v1/orders'>): void {
  app.post('/v1/orders', { bodyLimit, errorHandler: handOn }, async (request) =>
    order(readRequest<'POST /v1/orders'>(operations['POST /v1/orders'], request), never),
  );
}

const never = new AbortController().signal;

/** Hands on what was thrown with the statuses of these two operations, whatever others answer to the same. */
function handOn(thrown: Error & { code?: string; statusCode?: number }): never {
  if (thrown.code === 'unknown-product') thrown.statusCode = 404;
  else if ((thrown.statusCode ?? 500) < 500) thrown.statusCode = 400;
  throw thrown;
}
