import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';

/*
 * Signed bodies in the service's format: a compact JWT, RS256, whose payload is the object itself.
 */

/** The payload, or the reason why the token is refused. */
export type Opened = { readonly payload: unknown } | { readonly refused: string };

/**
 * Reads a public key in a format that partners use: PEM, or the one-line `ssh-rsa` form. Throws (65) for anything else.
 */
export function readPublicKey(text: string): KeyObject {
  try {
    const [, ssh] = /^ssh-rsa ([A-Za-z0-9+/=]+)/.exec(text.trim()) ?? [];
    const key = ssh === undefined ? createPublicKey(text) : fromSsh(Buffer.from(ssh, 'base64'));
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The error is thrown below.
  }
  throw new CataloguedError('sandbox-signing-key', 'the signing key is not an RSA key', {
    exitCode: exitCodes.data,
    hint: 'a public key in PEM (openssl rsa -pubout) or the one line of an ssh-rsa key',
  });
}

/** Reads three strings, each preceded by its length: the name of the type, the exponent, the modulus. */
function fromSsh(bytes: Buffer): KeyObject {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    parts.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  const [, e, n] = parts.map((part) => (part[0] === 0 ? part.subarray(1) : part).toString('base64url'));
  return createPublicKey({ format: 'jwk', key: { kty: 'RSA', e: e ?? '', n: n ?? '' } });
}

/**
 * Checks the signature, and `iat`, `nbf` and `exp` if they are present. `now` and `tolerance_ms` are in milliseconds;
 * `tolerance_ms` is the accepted difference between two clocks. Returns the payload without the registered claims.
 */
export function openCompact(
  text: string,
  key: KeyObject,
  { now, tolerance_ms }: { now: number; tolerance_ms: number },
): Opened {
  const [, head = '', body = '', signature = ''] = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(text.trim()) ?? [];
  const header = parsed(head);
  if (header === null) return { refused: 'Not a compact JWT.' };
  if (header.alg !== 'RS256') return { refused: 'The algorithm is not RS256.' };
  const signed = Buffer.from(`${head}.${body}`);
  if (!verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url')))
    return { refused: 'The signature does not match the key.' };
  const payload = parsed(body);
  if (payload === null) return { refused: 'The payload is not a JSON object.' };
  const { iat = null, nbf = null, exp = null, iss: _iss, aud: _aud, sub: _sub, jti: _jti, ...rest } = payload;
  for (const claim of [iat, nbf, exp])
    if (claim !== null && typeof claim !== 'number') return { refused: 'A time claim is not a number.' };
  const seconds = (value: unknown) => Number(value) * 1000;
  if (exp !== null && now >= seconds(exp) + tolerance_ms) return { refused: 'The token has expired.' };
  for (const claim of [iat, nbf])
    if (claim !== null && seconds(claim) > now + tolerance_ms) return { refused: 'The token is from the future.' };
  return { payload: rest };
}

function parsed(part: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
