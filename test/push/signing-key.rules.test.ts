import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSigningKey } from '../../src/push/signing-key.rules.ts';
import { needs } from '../fakes/needs.ts';
import { ecPem, publicPem, rsaPem } from '../fakes/signing-keys.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const [pkcs8, pkcs1] = [rsaPem('pkcs8'), rsaPem('pkcs1')];
const readable = { fingerprint: expect.stringMatching(/^SHA256:[\w+/]{43}$/) };
const encrypted = { problem: 'it is encrypted; expected one without a passphrase' };
const isPublic = { problem: 'it is public; expected the RSA private key that belongs to it' };
const unreadable = { problem: 'it cannot be read; expected an RSA private key' };

describe('a signing key is read in every form in which it can sign', () => {
  const forms: [title: string, pem: string][] = [
    ['PKCS#8', pkcs8],
    ['PKCS#1', pkcs1],
    ['PKCS#8 before its public key', pkcs8 + publicPem()],
    ['PKCS#8 after its public key', publicPem() + pkcs8],
    ['PKCS#1 after its public key', publicPem() + pkcs1],
    ['with lines of Windows', pkcs8.replaceAll('\n', '\r\n')],
    ['with lines of Windows, after its public key', (publicPem() + pkcs1).replaceAll('\n', '\r\n')],
    ['with a byte order mark', `\uFEFF${pkcs8}`],
    ['after text with the word ENCRYPTED', `Bag Attributes\n    friendlyName: ENCRYPTED\n${pkcs8}`],
  ];
  const { fingerprint } = readSigningKey(pkcs8) as { fingerprint: string };
  test.each(forms)('%s', (_, pem) => expect(readSigningKey(pem)).toMatchObject({ ...readable, fingerprint }));
});

describe('a signing key that cannot sign is refused for its real reason', () => {
  const damaged = pkcs8.replace(/\n.{20}/, '\n');
  const forms: [title: string, pem: string, expected: { readonly problem: string }][] = [
    ['a public key', publicPem(), isPublic],
    ['an encrypted key', rsaPem('encrypted'), encrypted],
    ['an encrypted key of the older form', rsaPem('encrypted-pkcs1'), encrypted],
    ['an encrypted key after its public key', publicPem() + rsaPem('encrypted'), encrypted],
    ['an encrypted key of the older form before its public key', rsaPem('encrypted-pkcs1') + publicPem(), encrypted],
    ['a damaged key', damaged, unreadable],
    ['a damaged key after its public key', publicPem() + damaged, unreadable],
    ['a damaged key after the word ENCRYPTED', `friendlyName: ENCRYPTED\n${damaged}`, unreadable],
    ['no PEM', 'hunter2', { problem: 'it is no PEM; expected an RSA private key' }],
    ['a key of an elliptic curve', ecPem(), { problem: 'it is of type ec; expected an RSA private key' }],
  ];
  test.each(forms)('%s', (_, pem, expected) => expect(readSigningKey(pem)).toEqual(expected));
});

describe('a signing key is read beside its certificate', needs('openssl'), () => {
  /** Returns the files that OpenSSL makes of the key: its certificate, what it exports of both, and a request. */
  function made() {
    using directory = temporaryDirectory();
    const at = (name: string) => join(directory.path, name);
    // In a variable: knip takes a literal for a package's command.
    const program = 'openssl';
    const openssl = (...args: string[]) => execFileSync(program, args, { stdio: 'pipe' }).toString();
    writeFileSync(at('key'), pkcs8);
    openssl('req', '-x509', '-key', at('key'), '-subj', '/CN=shop', '-days', '2', '-out', at('cert'));
    openssl('pkcs12', '-export', '-inkey', at('key'), '-in', at('cert'), '-passout', 'pass:', '-out', at('p12'));
    return {
      certificate: readFileSync(at('cert'), 'utf8'),
      exported: openssl('pkcs12', '-in', at('p12'), '-nodes', '-passin', 'pass:'),
      exported_encrypted: openssl('pkcs12', '-in', at('p12'), '-passin', 'pass:', '-passout', 'pass:secret'),
      request: openssl('req', '-new', '-key', at('key'), '-subj', '/CN=shop'),
    };
  }

  test('in either order, and as OpenSSL exports both', () => {
    const { certificate, exported } = made();
    for (const pem of [pkcs8 + certificate, certificate + pkcs8, certificate + pkcs1, exported])
      for (const text of [pem, pem.replaceAll('\n', '\r\n')])
        expect(readSigningKey(text)).toMatchObject({ fingerprint: expect.any(String) });
  });

  test('a certificate alone and a request are public, and an encrypted key beside one is encrypted', () => {
    const { certificate, exported_encrypted, request } = made();
    expect(readSigningKey(certificate)).toEqual(isPublic);
    expect(readSigningKey(request)).toEqual(isPublic);
    for (const pem of [certificate + rsaPem('encrypted'), exported_encrypted])
      expect(readSigningKey(pem)).toEqual(encrypted);
  });
});
