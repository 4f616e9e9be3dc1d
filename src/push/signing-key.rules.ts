import { createPrivateKey, createPublicKey, hash, type KeyObject } from 'node:crypto';

/** RSA key that signs subscription requests. */
export interface SigningKey {
  readonly private_key: KeyObject;
  /** Fingerprint of the public key that the service has, as `ssh-keygen -l` prints it: `SHA256:` and 43 characters. */
  readonly fingerprint: string;
}

/** Fewest bits that RS256 requires (RFC 7518 section 3.3). */
const leastBits = 2048;

/**
 * Reads the private key of a PEM in PKCS#8 or PKCS#1, which may contain its certificate or public key too. If the key
 * cannot sign, returns the reason in one clause.
 */
export function readSigningKey(pem: string): SigningKey | { readonly problem: string } {
  if (!/-----BEGIN [A-Z0-9 ]+-----/.test(pem)) return { problem: 'it is no PEM; expected an RSA private key' };
  if (
    !/-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----/.test(pem) &&
    /-----BEGIN [A-Z0-9 ]*(PUBLIC KEY|CERTIFICATE)/.test(pem)
  )
    return { problem: 'it is public; expected the RSA private key that belongs to it' };
  const private_key = privateKeyOf(pem);
  if ('problem' in private_key) return private_key;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = private_key;
  if (type !== 'rsa') return { problem: `it is of type ${type}; expected an RSA private key` };
  const bits = details?.modulusLength ?? 0;
  if (bits < leastBits) return { problem: `it has ${bits} bits; expected an RSA key of at least ${leastBits}` };
  return { private_key, fingerprint: fingerprintOf(private_key) };
}

function privateKeyOf(pem: string): KeyObject | { readonly problem: string } {
  try {
    return createPrivateKey(pem);
  } catch {
    return {
      problem: /^(-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED)/m.test(pem)
        ? 'it is encrypted; expected one without a passphrase'
        : 'it cannot be read; expected an RSA private key',
    };
  }
}

function fingerprintOf(private_key: KeyObject): string {
  const { e = '', n = '' } = createPublicKey(private_key).export({ format: 'jwk' });
  const blob = Buffer.concat([
    sized(Buffer.from('ssh-rsa')),
    sized(positive(Buffer.from(e, 'base64url'))),
    sized(positive(Buffer.from(n, 'base64url'))),
  ]);
  return `SHA256:${hash('sha256', blob, 'base64').replace(/=+$/, '')}`;
}

/** Encodes a whole number as SSH does: with a leading zero byte if the sign bit would be set (RFC 4251 section 5). */
function positive(number: Buffer): Buffer {
  return (number[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), number]) : number;
}

function sized(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
