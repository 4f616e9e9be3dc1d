import { BlockList, isIP } from 'node:net';

/*
 * Decides which addresses a URL from an external answer may have: only public ones. Otherwise an answer could make this
 * machine call its own network (server-side request forgery).
 */

/** Hosts and addresses that image URLs may use. */
export interface ImageReach {
  /** Host names. Empty: any, because every URL comes from the service's own answers. */
  readonly hosts: readonly string[];
  /** Private addresses that are allowed on any port, for tests and the sandbox. */
  readonly addresses: readonly string[];
}

export interface UrlRefusal {
  readonly code: 'no-url' | 'scheme' | 'credentials' | 'spelling' | 'port' | 'host-not-listed' | 'private-address';
  readonly message: string;
}

/** IANA's special-purpose IPv4 blocks, multicast and reserved addresses. */
const specialIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Only 2000::/3 of IPv6 is public, except tunnels to IPv4, documentation and protocol blocks. */
const globalIpv6 = ['2000::/3'];
const specialIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const special = listOf([...specialIpv4, ...specialIpv6]);
const globals = listOf(globalIpv6);

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const each of networks) {
    const [address = '', bits] = each.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/**
 * Returns whether an address, in the form of a resolver or a URL, is on the public internet. False for anything that is
 * not an address.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, 'ipv4');
    case 6:
      return !address.includes('%') && globals.check(address, 'ipv6') && !special.check(address, 'ipv6');
    default:
      return false;
  }
}

/** Matches host names that no public resolver knows. */
const localName = /(^|\.)(localhost|localdomain6?|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/**
 * Returns why a URL must not be requested. Null: it may be, if its name resolves to public addresses. Refuses hosts
 * that a parser turns into something else (2130706433, 0x7f.1, full-width digits).
 */
export function refuseUrl(text: string, { hosts, addresses }: ImageReach): UrlRefusal | null {
  const url = URL.parse(text);
  if (url === null) return { code: 'no-url', message: 'it is no URL' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { code: 'scheme', message: `${url.protocol} is not fetched; only http and https are` };
  if (url.username !== '' || url.password !== '')
    return { code: 'credentials', message: 'it carries a user name or password' };
  const host = url.hostname;
  const literal = literalOf(host);
  if (writtenHost(text) !== host || host.endsWith('.'))
    return { code: 'spelling', message: 'its host is written in an unusual way' };
  if (addresses.includes(literal)) return null;
  if (url.port !== '') return { code: 'port', message: `port ${url.port} is not the one of ${url.protocol}` };
  if (hosts.length > 0 && !hosts.some((each) => each.toLowerCase() === literal))
    return { code: 'host-not-listed', message: 'its host is not in images.hosts' };
  return isPublicLiteral(literal)
    ? null
    : { code: 'private-address', message: 'its host is not on the public internet' };
}

/** Returns whether a URL may be passed to readers, whose browsers fetch it. */
export type MayPublish = (url: string) => boolean;

/**
 * Number of hosts whose result is cached: images come from a few hosts, and are checked again with every walk of the
 * list.
 */
const hostsKept = 1000;

/**
 * Returns a function that decides which image URLs are published: http and https, without credentials, on a public host
 * or one in `hosts` (`images.hosts`, or a test's image host).
 */
export function publishable(hosts: readonly string[]): MayPublish {
  const named = new Set(hosts.map((each) => each.toLowerCase()));
  const known = new Map<string, boolean>();
  const look = (origin: string): boolean => {
    const url = URL.parse(origin);
    if (url === null || url.username !== '' || url.password !== '') return false;
    const literal = literalOf(url.hostname);
    return named.has(literal) || isPublicLiteral(literal);
  };
  return (text) => {
    const [origin] = /^https?:\/\/[^/?#\\\s]+(?=[/?#]|$)/i.exec(text) ?? [];
    if (origin === undefined) return false;
    const answer = known.get(origin) ?? look(origin);
    if (known.size < hostsKept) known.set(origin, answer);
    return answer;
  };
}

/** Returns whether a host, as written in a URL, can be reached from elsewhere, as far as its name shows. */
export function isPublicHost(host: string): boolean {
  return isPublicLiteral(literalOf(host));
}

/** Returns the address or name of a URL's host: `localhost.` is the same name as `localhost`. */
function literalOf(host: string): string {
  return host.replace(/^\[|\]$|\.$/g, '');
}

function isPublicLiteral(literal: string): boolean {
  if (isIP(literal) !== 0) return isPublicAddress(literal);
  const labels = literal.split('.');
  return labels.length > 1 && !labels.includes('') && !localName.test(literal);
}

/** Returns the host as written in the text, in lower case and without a port; null if there is none. */
function writtenHost(text: string): string | null {
  const [, authority] = /^https?:\/\/([^/?#\\]*)/i.exec(text) ?? [];
  return authority === undefined ? null : authority.replace(/:\d*$/, '').toLowerCase();
}
