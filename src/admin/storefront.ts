import type { FastifyInstance } from 'fastify';
import { storefrontOperations } from './api.ts';
import { type ApiOptions, apiRoutes, refusals } from './api-routes.ts';
import { storefrontRefusal } from './guard.ts';
import { type Listening, type ListeningPorts, listenAt } from './listening.ts';

export interface StorefrontDoorOptions extends ApiOptions {
  readonly listen: string;
  /** The token for every call outside a unix socket. It differs from the operator's token. */
  readonly token: { reveal(): string } | null;
  readonly kept?: ListeningPorts['kept'];
}

/**
 * Starts the storefront interface: only the operations marked for it in the API table. Its socket is open to the group
 * that reads the mirror; over TCP it accepts only its own token, as `Authorization: Bearer`.
 */
export async function startStorefrontDoor({
  listen,
  token,
  kept,
  ...options
}: StorefrontDoorOptions): Promise<Listening> {
  return await listenAt({ name: 'storefront', listen, mode: 0o660 }, { clock: options.changes.clock, kept }, (app) => {
    if (!listen.startsWith('unix:')) guardStorefront(app, token);
    apiRoutes(app, storefrontOperations, options);
    refusals(app, options.log);
  });
}

/** Refuses requests before anything else of them is read. Without a configured token every request is refused. */
export function guardStorefront(app: FastifyInstance, token: StorefrontDoorOptions['token']): void {
  app.addHook('onRequest', async ({ headers }, reply) => {
    const refusal = storefrontRefusal(headers, token);
    if (refusal === null) return;
    const { status, ...answer } = refusal;
    if (status === 401) reply.header('www-authenticate', 'Bearer realm="catalogued storefront"');
    return reply.code(status).send(answer);
  });
}
