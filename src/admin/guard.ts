import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Admit } from './listening.ts';

/** The rules for callers of the admin interface outside a unix socket. */
export interface GuardRules {
  /** Null: none is needed, because only programs of this machine reach the listener. */
  readonly token: { reveal(): string } | null;
  /** The host of `admin.listen`. */
  readonly host: string;
  /** `admin.hosts`: further names under which it is reached. */
  readonly hosts: readonly string[];
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly error: 'unauthorized' | 'other-origin' | 'unknown-host';
  readonly message: string;
}

/** Routes that need no token: they answer process monitors with yes or no only. */
const open = new Set(['/healthz', '/readyz']);

/** Returns whether a route needs no token. `route` is the pattern matched by the router; null: none. */
function isOpen(route: string | null): boolean {
  return route !== null && open.has(route);
}

/**
 * Returns the refusal of a request, or null. `route` is the pattern matched by the router (null: none), so that guard
 * and router always agree about the path.
 */
export function refusalOf(
  { method, route, headers }: { method: string; route: string | null; headers: IncomingHttpHeaders },
  rules: GuardRules,
): Refusal | null {
  if (isOpen(route)) return null;
  if (!isOurs(headers.host, rules)) return refuse(403, 'unknown-host', 'unknown host name: add it to admin.hosts');
  if (isFromElsewhere(headers) && !(route === '/' && method === 'GET' && isLink(headers)))
    return refuse(403, 'other-origin', 'requests from pages of another origin are refused');
  if (rules.token === null || isAuthorized(headers.authorization, rules.token.reveal())) return null;
  return refuse(
    401,
    'unauthorized',
    'this interface needs Authorization: Bearer <admin token>, or Basic with it as password',
  );
}

/** The rules for callers of the storefront interface outside a unix socket. */
export interface StorefrontRules {
  /** Opens everything. Null: nothing does. */
  readonly token: { reveal(): string } | null;
  /** `storefront.public_key`: opens reads, and may stand in a page. */
  readonly public_key: string | null;
  /** `storefront.origins`: pages of these origins may read. */
  readonly origins: readonly string[];
}

/**
 * Returns the storefront interface's refusal of a request, or null. Any host name is accepted. `isRead` is true for a
 * read of public columns.
 */
export function storefrontRefusal(
  { method, headers, isRead }: { method: string; headers: IncomingHttpHeaders; isRead: boolean },
  { token, public_key, origins }: StorefrontRules,
): Refusal | null {
  const isAllowed = isRead && headers.origin !== undefined && origins.includes(headers.origin);
  if (isFromElsewhere(headers) && !isAllowed)
    return refuse(403, 'other-origin', 'pages of another origin may read only, and only those of storefront.origins');
  // A browser asks for leave without the key.
  if (isAllowed && method === 'OPTIONS') return null;
  const [, given] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  if (given !== undefined && token !== null && isSame(given, token.reveal())) return null;
  if (given !== undefined && isRead && public_key !== null && isSame(given, public_key)) return null;
  const accepted =
    isRead && public_key !== null ? '<storefront token>, or the key of storefront.public_key' : '<storefront token>';
  return refuse(401, 'unauthorized', `this interface needs Authorization: Bearer ${accepted}`);
}

/**
 * Returns whether the Host header is an address, localhost or one of our names. A browser led here by DNS rebinding
 * sends the attacker's name.
 */
function isOurs(given: string | undefined, { host, hosts }: GuardRules): boolean {
  const name = URL.parse(`http://${given ?? ''}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return isIP(name) !== 0 || ['localhost', host, ...hosts].some((each) => each.toLowerCase() === name);
}

/**
 * Returns whether the browser reports a request by a page of another origin. Another port of the same host is another
 * origin.
 */
function isFromElsewhere({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && URL.parse(origin)?.host !== URL.parse(`http://${host}`)?.host;
}

/**
 * Returns whether a person follows a link, for example from an alert. The page then opens in its own window, which the
 * other page cannot read.
 */
function isLink({ origin, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination }: IncomingHttpHeaders): boolean {
  return origin === undefined && mode === 'navigate' && destination === 'document';
}

function isAuthorized(authorization: string | undefined, token: string): boolean {
  const [, scheme = '', credentials = ''] = /^(\S+) +(\S+)$/.exec(authorization ?? '') ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return isSame(credentials, token);
    case 'basic': {
      const pair = Buffer.from(credentials, 'base64').toString();
      return pair.includes(':') && isSame(pair.slice(pair.indexOf(':') + 1), token);
    }
    default:
      return false;
  }
}

/** Compares two texts of any length in constant time. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

function refuse(status: Refusal['status'], error: Refusal['error'], message: string): Refusal {
  return { status, error, message };
}

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
