import type { FastifyInstance } from 'fastify';
import { type GuardRules, refusalOf } from './guard.ts';

/** Refuses requests before anything else of them is read, even for unknown routes. */
export function guardAdmin(app: FastifyInstance, rules: GuardRules): void {
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request;
    const refusal = refusalOf({ method, headers, route: routeOptions.url ?? null }, rules);
    if (refusal === null) return;
    const { status, ...answer } = refusal;
    if (status === 401) reply.header('www-authenticate', 'Basic realm="catalogued", charset="UTF-8"');
    return reply.code(status).send(answer);
  });
}
