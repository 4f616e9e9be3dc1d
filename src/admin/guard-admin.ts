import type { FastifyInstance } from 'fastify';
import { type GuardRules, isOpen, refusalOf } from './guard.ts';
import type { Admit } from './listening.ts';

/** Refuses requests before anything else of them is read, even for unknown routes. */
export function guardAdmin(app: FastifyInstance, rules: GuardRules, admit: Admit): void {
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request;
    const route = routeOptions.url ?? null;
    const refusal = refusalOf({ method, headers, route }, rules);
    if (refusal === null && !isOpen(route)) admit(request, reply);
    if (refusal === null) return;
    const { status, ...answer } = refusal;
    if (status === 401) reply.header('www-authenticate', 'Basic realm="catalogued", charset="UTF-8"');
    return reply.code(status).send(answer);
  });
}
