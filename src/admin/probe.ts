import type { FastifyInstance } from 'fastify';
import type { Answering } from './api.ts';

/** Adds `POST /v1/probe`. Only one probe runs at a time, and it ends when the client disconnects. */
export function probeRoute(app: FastifyInstance, probe: Answering<'POST /v1/probe'>): void {
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
