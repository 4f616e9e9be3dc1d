import type { FastifyInstance } from 'fastify';
import { storefrontOperations } from './api.ts';
import { type ApiOptions, apiRoutes, refusals } from './api-routes.ts';
import { storefrontRefusal } from './guard.ts';
import { type Listening, listenAt } from './listening.ts';

export interface StorefrontDoorOptions extends ApiOptions {
  readonly listen: string;
  /** Needed for every call outside a unix socket: the door's own. */
  readonly token: { reveal(): string } | null;
}

/**
 * The storefront's own door: the operations of the API table that are marked for it, and nothing else. Its socket is the
 * group's, who reads the mirror too; over TCP it takes its token alone, as `Authorization: Bearer`.
 */
export async function startStorefrontDoor({ listen, token, ...options }: StorefrontDoorOptions): Promise<Listening> {
  return await listenAt({ name: 'storefront', listen, mode: 0o660 }, options.changes.clock, (app) => {
    if (!listen.startsWith('unix:')) guard(app, token);
    apiRoutes(app, storefrontOperations, options);
    refusals(app, options.log);
  });
}

/** Before anything else of a request is looked at. Without a token nobody gets in. */
function guard(app: FastifyInstance, token: StorefrontDoorOptions['token']): void {
  app.addHook('onRequest', async ({ headers }, reply) => {
    const refusal = storefrontRefusal(headers, token);
    if (refusal === null) return;
    const { status, ...answer } = refusal;
    if (status === 401) reply.header('www-authenticate', 'Bearer realm="catalogued storefront"');
    return reply.code(status).send(answer);
  });
}
