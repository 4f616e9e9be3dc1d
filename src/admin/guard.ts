import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** Who may call the admin interface outside a unix socket. */
export interface GuardRules {
  readonly token: { reveal(): string };
  /** The host of `admin.listen`. */
  readonly host: string;
  /** `admin.hosts`: other names under which it is reached. */
  readonly hosts: readonly string[];
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly error: 'unauthorized' | 'other-origin' | 'unknown-host';
  readonly message: string;
}

/** Without a token: they say nothing but yes or no, to whoever watches the process. */
const open = new Set(['/healthz', '/readyz']);

/**
 * Why a request is refused; null: it is not. `route` is the pattern that the router has matched (null: none), so that
 * no spelling of a path is another path here than there.
 */
export function refusalOf(
  { method, route, headers }: { method: string; route: string | null; headers: IncomingHttpHeaders },
  rules: GuardRules,
): Refusal | null {
  if (route !== null && open.has(route)) return null;
  if (!isOurs(headers.host, rules)) return refuse(403, 'unknown-host', 'unknown host name: add it to admin.hosts');
  if (isFromElsewhere(headers) && !(route === '/' && method === 'GET' && isLink(headers)))
    return refuse(403, 'other-origin', 'requests from pages of another origin are refused');
  if (isAuthorized(headers.authorization, rules.token.reveal())) return null;
  return refuse(
    401,
    'unauthorized',
    'this interface needs Authorization: Bearer <admin token>, or Basic with it as password',
  );
}

/**
 * Why the storefront's door refuses a request; null: it does not. Programs alone have its token, and send it themselves:
 * no browser does for a page, so the name under which the door is reached proves nothing, and every name is as good.
 */
export function storefrontRefusal(headers: IncomingHttpHeaders, token: { reveal(): string } | null): Refusal | null {
  if (isFromElsewhere(headers)) return refuse(403, 'other-origin', 'requests from pages of another origin are refused');
  const [, given] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  if (given !== undefined && token !== null && isSame(given, token.reveal())) return null;
  return refuse(401, 'unauthorized', 'this interface needs Authorization: Bearer <storefront token>');
}

/**
 * A browser that a name of somebody else has led here (DNS rebinding) says that name: an address, localhost and our own
 * names are none of them.
 */
function isOurs(given: string | undefined, { host, hosts }: GuardRules): boolean {
  const name = URL.parse(`http://${given ?? ''}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return isIP(name) !== 0 || ['localhost', host, ...hosts].some((each) => each.toLowerCase() === name);
}

/** What a browser says of the page that asks. Another port of the same host is another origin too. */
function isFromElsewhere({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && URL.parse(origin)?.host !== URL.parse(`http://${host}`)?.host;
}

/** A link that a person follows, from an alert for example: the page opens in a window of its own, unseen by the other. */
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

/** In constant time, whatever the lengths. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

function refuse(status: Refusal['status'], error: Refusal['error'], message: string): Refusal {
  return { status, error, message };
}
