import type { FastifyInstance } from 'fastify';

export interface ProbeRouteOptions {
  /** Asks the service how it behaves: half a minute, or what pauses add. */
  probe(signal: AbortSignal): Promise<unknown>;
}

/** `POST /v1/probe`: one at a time; who goes away ends it. */
export function probeRoute(app: FastifyInstance, { probe }: ProbeRouteOptions): void {
  let running = false;
  app.post('/v1/probe', async (request, reply) => {
    if (running) return reply.code(409).send({ error: 'probing', message: 'a probe is under way' });
    running = true;
    const gone = new AbortController();
    request.raw.socket.once('close', () => gone.abort(new Error('the client has gone')));
    try {
      return await probe(gone.signal);
    } finally {
      running = false;
    }
  });
}
