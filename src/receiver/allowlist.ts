import { BlockList, isIP } from 'node:net';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { isPublicHost } from '../kernel/values/public-address.ts';

/** A set of addresses and networks from the configuration. */
export interface Networks {
  /** True: the list is empty. */
  readonly empty: boolean;
  has(address: string): boolean;
}

/** Creates the set from a list like `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`. IPv4 in IPv6 counts as IPv4. */
export function networksOf(list: readonly string[]): Networks {
  const networks = new BlockList();
  for (const each of list) {
    const [ip = '', bits] = each.split('/');
    const address = canonical(ip);
    if (address === null) throw new Error(`${each} is no address or network`);
    const version = isIP(address);
    const prefix = bits === undefined ? (version === 4 ? 32 : 128) : Number(bits) - (isMapped(ip, address) ? 96 : 0);
    networks.addSubnet(address, Math.max(0, prefix), version === 4 ? 'ipv4' : 'ipv6');
  }
  return {
    empty: list.length === 0,
    has: (address) => networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'),
  };
}

/**
 * The peer of a connection to a unix socket. Only users that may open the socket connect, so the headers that they
 * forward are believed.
 */
export const unixPeer = 'unix';

/**
 * Returns the address of the caller: the peer, unless it is a trusted proxy. Then it is the last entry of
 * X-Forwarded-For that is not a trusted proxy. Null: an entry on the way is not an address, so the caller is unknown.
 * `forwarded` has one item per header, in order.
 */
export function callerOf(peer: string, forwarded: readonly string[], trusted: Networks): string | null {
  let caller = peer === unixPeer ? peer : canonical(peer);
  for (const entry of forwarded.flatMap((header) => header.split(',')).reverse()) {
    if (caller === null || (caller !== unixPeer && !trusted.has(caller))) return caller;
    caller = canonical(withoutPort(entry.trim()));
  }
  return caller;
}

/** Returns whether a caller is allowed. An empty list allows all callers. Any other list refuses unknown callers. */
export function isAllowed(caller: string | null, allow: Networks): boolean {
  return allow.empty || (caller !== null && caller !== unixPeer && allow.has(caller));
}

/**
 * Returns the problem of an allow-list behind a proxy that ends TLS and is not trusted: every caller looks like the
 * proxy, so the list would refuse all or allow all. Null: the configuration shows no such problem.
 */
export function couldOnlyMatchProxy(receiver: {
  readonly listen: string;
  readonly public_url: string | null;
  readonly allow: readonly string[];
  readonly trusted_proxies: readonly string[];
}): { readonly message: string; readonly hint: string } | null {
  const { listen, public_url, allow, trusted_proxies } = receiver;
  const behindProxy = public_url?.startsWith('https:') === true && !listen.startsWith('unix:');
  if (allow.length === 0 || trusted_proxies.length > 0 || !behindProxy) return null;
  return {
    message: `receiver.allow could only ever match the proxy: public_url is https, ${listen} is not, and no proxy is trusted`,
    hint: "name the proxy's address in receiver.trusted_proxies, or start with --force",
  };
}

/** Throws (78) for an allow-list that could only ever match the proxy. */
export function refuseAllowList(receiver: Parameters<typeof couldOnlyMatchProxy>[0]): void {
  const problem = couldOnlyMatchProxy(receiver);
  if (problem === null) return;
  throw new CataloguedError('allow-list', problem.message, { exitCode: exitCodes.configuration, hint: problem.hint });
}

/**
 * Returns the reason why the service cannot call `public_url`: the service is on the internet and the address is
 * private. Null: it can, or the service is as near as the receiver, like a simulator.
 */
export function unreachableCallback(public_url: string | null, base_url: string): string | null {
  if (public_url === null || !isPublicHost(new URL(base_url).hostname)) return null;
  const { hostname } = new URL(public_url);
  return isPublicHost(hostname) ? null : `receiver.public_url is at ${hostname}, which the service cannot reach`;
}

/** Returns the one spelling of an address: IPv4 taken out of IPv6, no zone, IPv6 compressed. Null: not an address. */
function canonical(text: string): string | null {
  const address = text.replace(/%[\w.-]+$/, '');
  const version = isIP(address);
  if (version === 0) return null;
  if (version === 4) return text === address ? address : null;
  const compressed = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  if (mapped === null) return compressed;
  const [high, low] = [Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16)];
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

function isMapped(text: string, address: string): boolean {
  return isIP(text) === 6 && isIP(address) === 4;
}

/** Removes the port of `192.0.2.1:4711` and `[2001:db8::1]:4711`. A bare IPv6 address has none. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/.exec(entry) ?? [];
  return bracketed ?? plain ?? entry;
}
