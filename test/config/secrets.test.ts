import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempDisposableSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { createSecret, requireSecrets } from '../../src/config/secrets.ts';
import { ecPem, publicPem, rsaPem } from '../fakes/signing-keys.ts';
import { refusalOf } from './check.ts';

const key = 'k3y-0123456789';

/** As whoever needs all of them: the daemon, above all. */
function loadAll(given: Parameters<typeof loadConfig>[0]) {
  const loaded = loadConfig(given);
  requireSecrets(loaded.secrets);
  return loaded;
}

/** A directory with a configuration whose key is in the file `key`, and what `place` puts there. */
function harness(place: (path: string) => void, more = '') {
  const { path: directory, [Symbol.dispose]: remove } = mkdtempDisposableSync(join(tmpdir(), 'catalogued-secrets-'));
  const path = join(directory, 'key');
  place(path);
  const file = join(directory, 'catalogued.yaml');
  writeFileSync(file, `service: { base_url: https://api.example.com, api_key_file: ${path} }\n${more}`);
  return { directory, file, path, [Symbol.dispose]: remove };
}

function write(text: string, mode = 0o600) {
  return (path: string) => {
    writeFileSync(path, text);
    chmodSync(path, mode);
  };
}

describe('a secret file that is right is read', () => {
  const cases: [title: string, place: (path: string) => void][] = [
    ['mode 0600', write(key)],
    ['mode 0400', write(key, 0o400)],
    ['with a line break at its end', write(`${key}\n`)],
    ['with a line break of Windows', write(`${key}\r\n`)],
  ];
  test.each(cases)('%s', (_, place) => {
    using at = harness(place);
    expect(loadAll({ file: at.file, env: {} }).secrets.api_key?.reveal()).toBe(key);
  });
});

describe('a secret file that is wrong is refused', () => {
  const cases: [title: string, place: (path: string) => void, exitCode: 77 | 78, expected: string][] = [
    ['missing', () => {}, 78, 'there is no file'],
    ['a directory', (path) => mkdirSync(path, { mode: 0o700 }), 77, 'is not a regular file'],
    ['readable by all', write(key, 0o604), 77, '(mode 0604)'],
    ['readable by the group', write(key, 0o640), 77, '(mode 0640)'],
    ['writable by the group', write(key, 0o620), 77, '(mode 0620)'],
    ['empty', write(''), 78, 'it is empty'],
    ['of spaces', write(' \n\n'), 78, 'it is empty'],
    ['of two lines', write(`${key}\n${key}\n`), 78, 'it is malformed'],
    ['with a space', write(`Token ${key}`), 78, 'it is malformed'],
    ['binary', write('\u0000\u0001'), 78, 'it is malformed'],
    ['outside ASCII', write('schlüssel'), 78, 'it is malformed'],
    ['too large for a secret', write('k'.repeat(64 * 1024 + 1)), 78, 'is larger than 64 KiB'],
    ['below a file', (path) => write(key)(path), 78, 'there is no file'],
    ['a link to itself', (path) => execFileSync('ln', ['-s', path, path]), 78, 'ELOOP'],
  ];
  test.each(cases)('%s', (title, place, exitCode, expected) => {
    using at = harness(place);
    if (title === 'below a file')
      writeFileSync(at.file, `service: { base_url: https://a.example, api_key_file: ${at.path}/key }`);
    const refusal = refusalOf(() => loadAll({ file: at.file, env: {} }));
    expect(refusal).toMatchObject({ exitCode, code: exitCode === 77 ? 'permission' : 'configuration' });
    expect(refusal?.message).toContain('service.api_key_file');
    expect(refusal?.message).toContain(expected);
    expect(refusal?.hint).toBeTruthy();
    expect(JSON.stringify([refusal?.message, refusal?.hint, refusal?.details])).not.toContain(key);
  });
});

test('a master secret that can be guessed is refused', () => {
  using at = harness(write(key));
  const load = (CATALOGUED_RECEIVER_SECRET: string) => () =>
    loadAll({ file: at.file, env: { CATALOGUED_RECEIVER_SECRET } });
  expect(refusalOf(load('hunter2'))).toMatchObject({
    exitCode: 78,
    message: 'CATALOGUED_RECEIVER_SECRET: it has 7 characters, expected at least 32',
    hint: 'create one with: openssl rand -hex 32',
  });
  expect(load('0123456789abcdef0123456789abcdef')().secrets.receiver_secret).not.toBeNull();
});

describe("the storefront's token", () => {
  const token = '0123456789abcdef0123456789abcdef';
  const load = (env: Record<string, string>, storefront: object = { listen: '127.0.0.1:8482' }) => {
    using at = harness(write(key));
    const service = { base_url: 'https://api.example.com', api_key_file: at.path };
    writeFileSync(at.file, stringify({ service, storefront }));
    return loadAll({ file: at.file, env });
  };

  test('is needed outside a unix socket, and only there', () => {
    expect(refusalOf(() => load({}))).toMatchObject({
      exitCode: 78,
      message: 'storefront.listen is 127.0.0.1:8482, and there is no storefront token',
    });
    expect(load({}, { listen: 'unix:/run/catalogued/s.sock' }).secrets.storefront_token).toBeNull();
    expect(load({}, {}).secrets.storefront_token).toBeNull();
    expect(load({ CATALOGUED_STOREFRONT_TOKEN: token }).secrets.storefront_token?.reveal()).toBe(token);
  });

  test('that can be guessed, or that is the admin token too, is refused', () => {
    expect(refusalOf(() => load({ CATALOGUED_STOREFRONT_TOKEN: 'short' }))).toMatchObject({
      exitCode: 78,
      message: 'CATALOGUED_STOREFRONT_TOKEN: it has 5 characters, expected at least 32',
    });
    const both = { CATALOGUED_STOREFRONT_TOKEN: token, CATALOGUED_ADMIN_TOKEN: token };
    expect(refusalOf(() => load(both))).toMatchObject({
      exitCode: 78,
      message: "the storefront's token is the admin token",
    });
  });

  test('in a file that others can read is refused', () => {
    using at = harness(write(token, 0o644));
    const storefront = { listen: '127.0.0.1:8482', token_file: at.path };
    expect(refusalOf(() => load({}, storefront))).toMatchObject({
      exitCode: 77,
      message: `storefront.token_file: others have access to ${at.path} (mode 0644)`,
    });
  });
});

test('a secret file that this user cannot read is a matter of permission', () => {
  using at = harness(write(key));
  const root = process.getuid?.() === 0;
  if (!root) chmodSync(at.path, 0);
  // Root reads everything: a child gives up its rights first.
  const script = `
    const { loadConfig } = await import(${JSON.stringify(new URL('../../src/config/load.ts', import.meta.url).href)});
    if (${root}) process.seteuid(65534);
    try { loadConfig({ file: ${JSON.stringify(at.file)}, env: {} }).secrets.api_key; }
    catch (error) { process.stdout.write(JSON.stringify([error.exitCode, error.message])); }`;
  chmodSync(at.directory, 0o755);
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual([77, `service.api_key_file: cannot read ${at.path}: permission denied`]);
});

test('no key at all is refused, unless the profile sends none', () => {
  using at = harness(write(key));
  writeFileSync(at.file, 'service: { base_url: https://api.example.com }');
  expect(refusalOf(() => loadAll({ file: at.file, env: {} }))).toMatchObject({
    exitCode: 78,
    message: 'there is no key for the service',
  });
  writeFileSync(
    at.file,
    'service: { base_url: https://api.example.com, profile: { authorization: { header: null } } }',
  );
  expect(loadAll({ file: at.file, env: {} }).secrets.api_key).toBeNull();
});

test('the systemd credential comes before the file, and that before the variable; config show names those passed over', () => {
  using at = harness(write('from-file'));
  const env = { CREDENTIALS_DIRECTORY: join(at.directory, 'credentials'), CATALOGUED_API_KEY: 'from-variable' };
  mkdirSync(env.CREDENTIALS_DIRECTORY);
  const revealed = () => loadAll({ file: at.file, env }).secrets.api_key?.reveal();
  expect(revealed()).toBe('from-file');
  write('from-systemd', 0o440)(join(env.CREDENTIALS_DIRECTORY, 'api_key'));
  expect(revealed()).toBe('from-systemd');
  expect(loadAll({ file: at.file, env }).placesOf('api_key')).toMatchObject([
    { name: 'the credential api_key', changes_by: 'restart' },
    { name: `service.api_key_file (${at.path})`, changes_by: 'reload' },
    { name: 'CATALOGUED_API_KEY', changes_by: 'restart' },
  ]);
  writeFileSync(
    at.file,
    `service: { base_url: https://a.example, api_key_file: ${env.CREDENTIALS_DIRECTORY}/api_key }`,
  );
  expect(revealed()).toBe('from-systemd');
  writeFileSync(at.file, 'service: { base_url: https://api.example.com }');
  rmSync(join(env.CREDENTIALS_DIRECTORY, 'api_key'));
  expect(revealed()).toBe('from-variable');
});

test('a secret that nobody asks for is not read: commands that only read the mirror need none', () => {
  using at = harness(() => {});
  const loaded = loadConfig({ file: at.file, env: {} });
  expect(loaded.secrets.admin_token).toBeNull();
  expect(refusalOf(() => loaded.secrets.api_key)).toMatchObject({ exitCode: 78 });
});

test('a systemd credential that everybody can read is refused', () => {
  using at = harness(write(key));
  writeFileSync(at.file, 'service: { base_url: https://api.example.com }');
  write(key, 0o444)(join(at.directory, 'api_key'));
  expect(refusalOf(() => loadAll({ file: at.file, env: { CREDENTIALS_DIRECTORY: at.directory } }))).toMatchObject({
    exitCode: 77,
  });
});

test('an empty variable is no key', () => {
  using at = harness(write(key));
  writeFileSync(at.file, 'service: { base_url: https://api.example.com }');
  expect(refusalOf(() => loadAll({ file: at.file, env: { CATALOGUED_API_KEY: '' } }))?.message).toBe(
    'CATALOGUED_API_KEY: it is empty',
  );
});

test('a signing key may have several lines', () => {
  using at = harness(write(key), '');
  const pem = rsaPem('pkcs8');
  const { secrets } = loadAll({ file: at.file, env: { CATALOGUED_SIGNING_KEY: pem } });
  expect(secrets.signing_key?.reveal()).toBe(pem.trim());
});

describe('a signing key that cannot sign is refused in one line', () => {
  const cases: [title: string, pem: string, expected: string][] = [
    ['no PEM', 'hunter2', 'it is no PEM; expected an RSA private key'],
    ['a PEM of nothing', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', 'it cannot be read'],
    ['a public key', publicPem(), 'it is public'],
    ['of an elliptic curve', ecPem(), 'it is of type ec; expected an RSA private key'],
    ['too short', rsaPem('pkcs1', 1024), 'it has 1024 bits; expected an RSA key of at least 2048'],
    ['with a passphrase', rsaPem('encrypted'), 'it is encrypted'],
  ];
  test.each(cases)('%s', (_, pem, expected) => {
    using at = harness(write(key), '');
    const refusal = refusalOf(() => loadAll({ file: at.file, env: { CATALOGUED_SIGNING_KEY: pem } }));
    expect(refusal).toMatchObject({
      exitCode: 78,
      message: expect.stringContaining(`CATALOGUED_SIGNING_KEY: ${expected}`),
    });
    expect(refusal?.details).toEqual([]);
  });
});

test('a secret shows its fingerprint wherever it is printed', () => {
  const secret = createSecret('hunter2');
  const printed = [
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }),
    inspect(secret, { showHidden: true, depth: 9 }),
    String(Object.values(secret)),
  ];
  expect(printed.join()).not.toContain('hunter2');
  expect(secret.fingerprint).toBe('sha256:f52fbd32');
  expect(`${secret}`).toBe('sha256:f52fbd32');
});
