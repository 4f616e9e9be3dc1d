import type { FastifyInstance } from 'fastify';
import type { Operation } from './api/operation.ts';
import { operations, storefrontOperations } from './api.ts';
import { type ApiOptions, apiRoutes, refusals, routeOf } from './api-routes.ts';
import { type StorefrontRules, storefrontRefusal } from './guard.ts';
import { type Admit, type Listening, type ListeningPorts, listenAt } from './listening.ts';
import { openApi } from './openapi.ts';
import { varying } from './read-route.ts';

export interface StorefrontDoorOptions extends ApiOptions {
  readonly listen: string;
  /** For every call outside a unix socket. The token differs from the operator's. */
  readonly rules: StorefrontRules;
  readonly kept?: ListeningPorts['kept'];
  readonly room: ListeningPorts['room'];
}

/** The paths of reads, in the router's notation. */
const readUrls: ReadonlySet<string> = new Set([
  ...storefrontOperations.filter((name) => (operations[name] as Operation).read !== undefined).map(urlOf),
  '/openapi.json',
]);
const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

function urlOf(name: (typeof storefrontOperations)[number]): string {
  return routeOf(name).url;
}

/**
 * Starts the storefront interface: only the operations marked for it in the API table. Its socket is open to the group
 * that reads the mirror; over TCP it accepts only its own token, as `Authorization: Bearer`, and for reads the public key.
 */
export async function startStorefrontDoor({
  listen,
  rules,
  kept,
  room,
  ...options
}: StorefrontDoorOptions): Promise<Listening> {
  const { clock } = options.changes;
  return await listenAt({ name: 'storefront', listen, mode: 0o660 }, { clock, kept, room }, (app, admit) => {
    if (!listen.startsWith('unix:')) guardStorefront(app, rules, admit);
    // Reads alone set another one.
    app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));
    storefrontDescription(app);
    apiRoutes(app, storefrontOperations, { ...options, room });
    refusals(app, options.log);
  });
}

/** Adds the description of this interface. It is made once: anybody with the public key may ask for it. */
export function storefrontDescription(app: FastifyInstance): void {
  let described: ReturnType<typeof openApi> | null = null;
  const own = () => Object.fromEntries(storefrontOperations.map((name) => [name, operations[name]]));
  app.get('/openapi.json', async () => {
    described ??= openApi(own(), 'storefront');
    return described;
  });
}

/** Seconds for which a browser remembers that it may ask. */
const leave_s = 7200;

/**
 * Refuses requests before anything else of them is read, and answers browsers that ask whether a page of another origin
 * may read.
 */
export function guardStorefront(app: FastifyInstance, rules: StorefrontRules, admit: Admit): void {
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request;
    const isRead = readMethods.has(method) && readUrls.has(routeOptions.url ?? '');
    const refusal = storefrontRefusal({ method, headers, isRead }, rules);
    if (isRead) reply.header('vary', varying);
    if (isRead && refusal?.status !== 403 && headers.origin !== undefined)
      reply.header('access-control-allow-origin', headers.origin).header('access-control-expose-headers', 'etag');
    // A browser asks for leave without the key.
    if (refusal === null && method !== 'OPTIONS') admit(request, reply);
    if (refusal === null) return;
    const { status, ...answer } = refusal;
    reply.header('cache-control', 'no-store');
    if (status === 401) reply.header('www-authenticate', 'Bearer realm="catalogued storefront"');
    return reply.code(status).send(answer);
  });
  for (const url of rules.origins.length === 0 ? [] : readUrls)
    app.options(url, (_, reply) =>
      reply
        .code(204)
        .header('access-control-allow-methods', 'GET')
        .header('access-control-allow-headers', 'authorization, if-none-match')
        .header('access-control-max-age', leave_s)
        .send(),
    );
}
