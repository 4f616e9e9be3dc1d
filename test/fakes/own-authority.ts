import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './test-mirror.ts';

/** An authority of a test's own, which nobody else trusts, and what it has signed for this host. */
export interface OwnAuthority extends Disposable {
  readonly directory: string;
  /** The files: of the authority, of the server, and another authority that has signed nothing. */
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
  readonly other_ca: string;
}

/** `names`: as in `subjectAltName`. */
export function ownAuthority(names: string): OwnAuthority {
  const { path: directory, [Symbol.dispose]: remove } = temporaryDirectory();
  // Servers that give up root read it too.
  chmodSync(directory, 0o755);
  const [ca, ca_key, key, request, cert, extensions, other_ca] = [
    'ca.pem', 'ca-key.pem', 'key.pem', 'request.pem', 'cert.pem', 'extensions', 'other-ca.pem',
  ].map((name) => join(directory, name)) as [string, string, string, string, string, string, string]; // biome-ignore format: a list of files
  // In a variable: knip takes a literal for a package's command.
  const program = 'openssl';
  const openssl = (...args: string[]) => execFileSync(program, args, { stdio: 'pipe' });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  for (const [file, own_key] of [[ca, ca_key], [other_ca, `${other_ca}.key`]] as const) // biome-ignore format: pairs
    openssl('req', '-x509', ...curve, '-keyout', own_key, '-out', file, '-subj', '/CN=own', '-days', '2');
  writeFileSync(extensions, `subjectAltName=${names}`);
  openssl('req', ...curve, '-keyout', key, '-out', request, '-subj', '/CN=server');
  const signing = ['-CA', ca, '-CAkey', ca_key, '-CAcreateserial', '-days', '2', '-extfile', extensions];
  openssl('x509', '-req', '-in', request, ...signing, '-out', cert);
  return { directory, ca, key, cert, other_ca, [Symbol.dispose]: remove };
}
