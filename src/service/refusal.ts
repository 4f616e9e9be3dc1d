import { isUtf8 } from 'node:buffer';
import type { RefusalAnswer } from './adapter.rules.ts';
import { inflate } from './inflate.ts';
import type { RefusedOutcome } from './outcome.ts';
import { whole } from './response.ts';

type Key = { reveal(): string } | null;

/** As much as is read of a body that is no answer: for its words, or to keep the connection. */
export const errorBodyBytes = 128 * 1024;

/** Leaves a byte order mark out. */
const utf8 = new TextDecoder('utf-8');

/** Returns the text of a refusal; empty where it cannot be read: the status says no in any case. */
export function refusalText(body: readonly Buffer[], encoding: string | undefined): string {
  const parts = inflate(body, encoding, errorBodyBytes);
  if ('kind' in parts) return '';
  const bytes = whole(parts);
  return isUtf8(bytes) ? utf8.decode(bytes) : '';
}

/** Returns a refusal in the words of the service, without the key and addresses. */
export function refusal(status: number, { code, message }: RefusalAnswer['refused'], key: Key): RefusedOutcome {
  return {
    kind: 'refused',
    status,
    code: line(withoutSecrets(code ?? `status-${status}`, key), 80),
    message: line(withoutSecrets(message ?? `the service answered ${status}`, key), 300),
  };
}

/** The service may repeat what was sent to it. */
function withoutSecrets(text: string, key: Key): string {
  return withoutKey(text, key).replace(/https?:\/\/[^\s"'<>]+/gi, '[address]');
}

/** Hides the key in a text, also as it is written in an address or in JSON. */
export function withoutKey(text: string, key: Key): string {
  const secret = key?.reveal() ?? '';
  if (secret === '') return text;
  const inAddress = new URLSearchParams({ '': secret }).toString().slice(1);
  const inJson = JSON.stringify(secret).slice(1, -1);
  const spellings = [secret, inJson, inJson.replaceAll('/', '\\/'), inAddress, encodeURIComponent(secret)];
  return [...new Set(spellings)].reduce((clean, each) => clean.replaceAll(each, '[key]'), text);
}

/** The longest example of an answer, in characters. */
const exampleLength = 120;

/** Returns the start of an answer as one line between marks, without the key and addresses; of an empty one it says so. */
export function exampleOf(text: string, key: Key): string {
  const whole = line(withoutSecrets(text, key), Number.POSITIVE_INFINITY);
  if (whole === '') return 'an empty body';
  return `\`${whole.slice(0, exampleLength)}${whole.length > exampleLength ? '…' : ''}\``;
}

/** Returns where a redirect leads, without query and user; null: the header is missing or no address. */
export function redirectTarget(location: string | undefined, base_url: string, key: Key): string | null {
  if (location === undefined || !URL.canParse(location, base_url)) return null;
  const { protocol, host, pathname } = new URL(location, base_url);
  return line(withoutKey(`${protocol}//${host}${pathname}`, key), exampleLength);
}

/** One line of at most `length` characters, without what would steer a terminal. */
export function line(text: string, length: number): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, length);
}
