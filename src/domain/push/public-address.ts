import { BlockList, isIP } from 'node:net';

/*
 * Which addresses a URL from somebody else's answer may lead to: public ones only. Otherwise an answer could make this
 * machine ask its own network (server-side request forgery).
 */

/** What an image's URL must be. */
export interface ImageReach {
  /** Names of hosts; empty: any, for every URL comes from the service's own answers. */
  readonly hosts: readonly string[];
  /** Private addresses that are let through all the same, on any port: of tests and of the sandbox. */
  readonly addresses: readonly string[];
}

export interface UrlRefusal {
  readonly code: 'no-url' | 'scheme' | 'credentials' | 'spelling' | 'port' | 'host-not-listed' | 'private-address';
  readonly message: string;
}

/** IANA's special-purpose IPv4 blocks, multicast, and what is reserved. */
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
/** Of IPv6 only 2000::/3 is public, without what tunnels to an IPv4 address, documentation and protocol blocks. */
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

/** Whether an address, as a resolver or a URL gives it, is one of the public internet. What is no address is none. */
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

/** Names that no public resolver knows. */
const localName = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/**
 * Why a URL is not asked for at all; null: it may be, if its name resolves to public addresses. The host has to be
 * written as it is meant: what a parser turns into something else (2130706433, 0x7f.1, full-width digits) is refused.
 */
export function refuseUrl(text: string, { hosts, addresses }: ImageReach): UrlRefusal | null {
  const url = URL.parse(text);
  if (url === null) return { code: 'no-url', message: 'it is no URL' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { code: 'scheme', message: `${url.protocol} is not fetched; only http and https are` };
  if (url.username !== '' || url.password !== '')
    return { code: 'credentials', message: 'it carries a user name or password' };
  const host = url.hostname;
  const literal = host.startsWith('[') ? host.slice(1, -1) : host;
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

/** Whether a URL may be handed on to readers, who let a browser fetch it. */
export type MayPublish = (url: string) => boolean;

/** So many hosts are remembered: images come from a few, and are looked at again with every walk. */
const hostsKept = 1000;

/**
 * Decides which URLs of images are handed on: http and https, without credentials, on a public host or one that is
 * named in `hosts` (`images.hosts`, and what a test serves images from).
 */
export function publishable(hosts: readonly string[]): MayPublish {
  const named = new Set(hosts.map((each) => each.toLowerCase()));
  const known = new Map<string, boolean>();
  const look = (origin: string): boolean => {
    const url = URL.parse(origin);
    if (url === null || url.username !== '' || url.password !== '') return false;
    const literal = url.hostname.replace(/^\[|\]$/g, '');
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

/** Whether a host, as a URL has it, can be reached from elsewhere, as far as its name tells. */
export function isPublicHost(host: string): boolean {
  return isPublicLiteral(host.replace(/^\[|\]$/g, ''));
}

function isPublicLiteral(literal: string): boolean {
  return isIP(literal) === 0 ? literal.includes('.') && !localName.test(literal) : isPublicAddress(literal);
}

/** The host as it stands in the text, lower case: without a port. Null: there is none where it has to be. */
function writtenHost(text: string): string | null {
  const [, authority] = /^https?:\/\/([^/?#\\]*)/i.exec(text) ?? [];
  return authority === undefined ? null : authority.replace(/:\d*$/, '').toLowerCase();
}
