import { isUtf8 } from 'node:buffer';
import { inflate } from './inflate.ts';
import type { Outcome } from './outcome.ts';
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

/**
 * Returns the three generations of error bodies (service-facts.md section 9): `error_code`, `error`, or only a status.
 */
export function refused(status: number, text: string, key: Key): Outcome {
  let members: { error_code?: unknown; error?: unknown; message?: unknown; field_errors?: unknown } = {};
  try {
    members = (JSON.parse(text) as typeof members | null) ?? {};
  } catch {
    // Not JSON: the status has to do.
  }
  const code = [members.error_code, members.error].find((value) => typeof value === 'string' && value !== '');
  const message = typeof members.message === 'string' ? members.message : `the service answered ${status}`;
  return {
    kind: 'refused',
    status,
    code: typeof code === 'string' ? line(withoutSecrets(code, key), 80) : `status-${status}`,
    message: line(withoutSecrets(message + fieldErrors(members.field_errors), key), 300),
  };
}

/** `validation_error` says of each field what is wrong with it. */
function fieldErrors(errors: unknown): string {
  if (typeof errors !== 'object' || errors === null || Array.isArray(errors)) return '';
  const fields = Object.entries(errors)
    .slice(0, 10)
    .map(([field, error]) => `${field}: ${typeof error === 'string' ? error : 'refused'}`);
  return fields.length === 0 ? '' : ` (${fields.join('; ')})`;
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
