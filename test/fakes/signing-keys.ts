import { generateKeyPairSync, type KeyObject } from 'node:crypto';

const pairs = new Map<number, { publicKey: KeyObject; privateKey: KeyObject }>();

/** One pair a size for the whole run: making one takes a moment. */
function pair(bits: number): { publicKey: KeyObject; privateKey: KeyObject } {
  const made = pairs.get(bits) ?? generateKeyPairSync('rsa', { modulusLength: bits });
  pairs.set(bits, made);
  return made;
}

/** An RSA private key as PEM: the same one for each size, whatever its form. */
export function rsaPem(form: 'pkcs8' | 'pkcs1' | 'encrypted' | 'encrypted-pkcs1', bits = 2048): string {
  const { privateKey } = pair(bits);
  const type = form === 'pkcs1' || form === 'encrypted-pkcs1' ? 'pkcs1' : 'pkcs8';
  const lock = form.startsWith('encrypted') ? { cipher: 'aes-256-cbc', passphrase: 'secret' } : {};
  return privateKey.export({ type, format: 'pem', ...lock }).toString();
}

/** The public key that belongs to `rsaPem`. */
export function publicPem(bits = 2048): string {
  return pair(bits).publicKey.export({ type: 'spki', format: 'pem' }).toString();
}

export function ecPem(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
