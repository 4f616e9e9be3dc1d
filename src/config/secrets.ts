import { hash } from 'node:crypto';
import { readFileSync, type Stats, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { inspect } from 'node:util';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { readSigningKey } from '../push/signing-key.rules.ts';
import type { Config } from './schema.ts';

/** Text that nothing prints by accident: as text, JSON or in a debugger it is the first digits of its hash. */
export interface Secret {
  reveal(): string;
  /** `sha256:` and eight digits: enough to tell two keys apart. */
  readonly fingerprint: string;
}

export interface Secrets {
  readonly api_key: Secret | null;
  readonly signing_key: Secret | null;
  readonly receiver_secret: Secret | null;
  readonly admin_token: Secret | null;
  readonly storefront_token: Secret | null;
  readonly database_url: Secret | null;
}

export type SecretName = keyof Secrets;

type Env = Readonly<Record<string, string | undefined>>;

interface Source {
  readonly key: string;
  readonly variable: string;
  /** A PEM has several, everything else one. */
  readonly lines: 'one' | 'several';
  /** Characters; of one that we were given by others, as many as it has. */
  readonly least?: number;
}

/** Possible sources of each secret: the systemd credential of its name, the key in the file, the variable. */
export const secretSources: Readonly<Record<SecretName, Source>> = {
  api_key: { key: 'service.api_key_file', variable: 'CATALOGUED_API_KEY', lines: 'one' },
  signing_key: { key: 'signing.key_file', variable: 'CATALOGUED_SIGNING_KEY', lines: 'several' },
  // Callback addresses are made of it and of what can be guessed.
  receiver_secret: { key: 'receiver.secret_file', variable: 'CATALOGUED_RECEIVER_SECRET', lines: 'one', least: 32 },
  admin_token: { key: 'admin.token_file', variable: 'CATALOGUED_ADMIN_TOKEN', lines: 'one' },
  storefront_token: { key: 'storefront.token_file', variable: 'CATALOGUED_STOREFRONT_TOKEN', lines: 'one', least: 32 },
  database_url: { key: 'database.url_file', variable: 'CATALOGUED_DATABASE_URL', lines: 'one' },
};

const secretNames = Object.keys(secretSources) as SecretName[];

/** Hides a text: everything but `reveal()` shows its fingerprint. */
export function createSecret(value: string): Secret {
  const fingerprint = `sha256:${hash('sha256', value).slice(0, 8)}`;
  const shown = () => fingerprint;
  const secret = { reveal: () => value, fingerprint, toString: shown, toJSON: shown };
  return Object.freeze(Object.defineProperty(secret, inspect.custom, { value: shown }));
}

/**
 * Returns the secrets that are configured, each read when it is first asked for: a command that only reads the mirror needs
 * none, and its user may read none. Missing or malformed: 78; one that this user cannot read, or others can: 77.
 */
export function secretsOf(config: Config, env: Env): Secrets {
  const known: Partial<Record<SecretName, Secret | null>> = {};
  const secrets = {};
  for (const name of secretNames)
    Object.defineProperty(secrets, name, {
      enumerable: true,
      get: () => {
        if (known[name] === undefined) {
          known[name] = loadSecret(name, config, env);
          const need = known[name] === null && isCheckedWhenAsked(name) ? needOf(name, config) : null;
          if (need !== null) throw need.error;
        }
        return known[name];
      },
    });
  return secrets as Secrets;
}

/** Reads every secret and reports all problems at once, before anything is done. */
export function requireSecrets(secrets: Secrets): void {
  const refusals = secretNames.flatMap((name): CataloguedError[] => {
    try {
      void secrets[name];
      return [];
    } catch (error) {
      if (error instanceof CataloguedError) return [error];
      throw error;
    }
  });
  if (refusals.length === 0) refusals.push(...sharedToken(secrets.admin_token, secrets.storefront_token));
  const [first, ...others] = refusals;
  if (first !== undefined) throw others.length === 0 ? first : together(refusals);
}

function together(refusals: readonly CataloguedError[]): CataloguedError {
  const permission = refusals.every(({ exitCode }) => exitCode === exitCodes.permission);
  return new CataloguedError(
    permission ? 'permission' : 'configuration',
    `${refusals.length} secrets cannot be used:`,
    {
      exitCode: permission ? exitCodes.permission : exitCodes.configuration,
      details: refusals.map(({ message, hint }) => `${message} (${hint})`),
      hint: 'fix the problems listed above, then run catalogued config check',
    },
  );
}

/** With one token for both, anyone who has it can use the operator's interface too. */
function sharedToken(admin_token: Secret | null, storefront_token: Secret | null): CataloguedError[] {
  if (storefront_token === null || admin_token?.reveal() !== storefront_token.reveal()) return [];
  return [
    malformed(
      "the storefront's token is the admin token",
      'create a separate one for storefront.token_file: openssl rand -hex 32',
    ),
  ];
}

/** A secret that cannot be used, and the key at which a person sees why. */
export interface RefusedSecret {
  readonly key: string;
  readonly error: CataloguedError;
}

/**
 * Returns everything that is wrong with the secrets of a configuration, whose other values may be wrong too. Also those
 * without which notifications cannot be received or subscribed to: reading the mirror needs neither.
 */
export function refusedSecrets(values: unknown, env: Env): RefusedSecret[] {
  const found: Partial<Record<SecretName, Secret | null>> = {};
  const refused = secretNames.flatMap((name): RefusedSecret[] => {
    try {
      found[name] = loadSecret(name, values, env);
      const need = found[name] === null ? needOf(name, values) : null;
      return need === null ? [] : [need];
    } catch (error) {
      if (error instanceof CataloguedError) return [{ key: secretSources[name].key, error }];
      throw error;
    }
  });
  const { admin_token = null, storefront_token = null } = found;
  const shared = sharedToken(admin_token, storefront_token);
  const key = 'storefront.public_key';
  const published = [admin_token, storefront_token].some(
    (token) => token !== null && token.reveal() === valueAt(values, key),
  );
  return [
    ...refused,
    ...shared.map((error) => ({ key: secretSources.storefront_token.key, error })),
    ...(published ? [{ key, error: malformed('the public key is a token', `choose another text for ${key}`) }] : []),
  ];
}

/** Commands that only read what was received need no secret for it. */
function isCheckedWhenAsked(name: SecretName): boolean {
  return name !== 'signing_key' && name !== 'receiver_secret';
}

/** Returns why a configuration needs a secret that is set nowhere, and the key that says so; null: it needs none. */
function needOf(name: SecretName, values: unknown): RefusedSecret | null {
  // One that stands in the file as a value is a problem of its own.
  if (valueAt(values, secretSources[name].key.replace(/_file$/, '')) !== undefined) return null;
  const need = (key: string, message: string, hint: string) => ({ key, error: malformed(message, hint) });
  const subscribes = ((list) => Array.isArray(list) && list.length > 0)(valueAt(values, 'subscriptions'));
  const overTcp = (key: string) => {
    const listen = valueAt(values, key);
    return typeof listen === 'string' && !listen.startsWith('unix:');
  };
  switch (name) {
    case 'api_key':
      // The key is sent in neither, so none is needed.
      return valueAt(values, 'service.profile.authorization.header') === null &&
        valueAt(values, 'service.profile.authorization.parameter') == null
        ? null
        : need(
            'service',
            'there is no key for the service',
            'set service.api_key_file to a file with mode 0600, or CATALOGUED_API_KEY',
          );
    case 'admin_token':
    case 'storefront_token': {
      const door = name === 'admin_token' ? 'admin' : 'storefront';
      const key = `${door}.listen`;
      return overTcp(key)
        ? need(
            key,
            `${key} is ${String(valueAt(values, key))}, and there is no ${door} token`,
            `set ${door}.token_file to a file with mode 0600, or listen on a unix socket`,
          )
        : null;
    }
    case 'receiver_secret':
      return typeof valueAt(values, 'receiver.public_url') === 'string'
        ? need(
            'receiver.public_url',
            'receiver.public_url is set, and there is no receiver secret',
            'openssl rand -hex 32, into a file with mode 0600 that receiver.secret_file names',
          )
        : null;
    case 'signing_key':
      return subscribes && valueAt(values, 'signing.body') !== 'json'
        ? need(
            'subscriptions',
            'subscriptions are declared, and there is no signing key',
            'openssl genrsa -out signing.pem 3072, name the file in signing.key_file, and give the service its public key',
          )
        : null;
    case 'database_url':
      return null;
  }
}

/** Returns the value of a key like `admin.listen`, of a configuration that may be wrong in any place. */
function valueAt(values: unknown, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>(
      (node, name) => (typeof node === 'object' && node !== null ? (node as Record<string, unknown>)[name] : undefined),
      values,
    );
}

/** A place at which a secret is set. */
export interface SecretPlace {
  /** As it is called in messages: a key, a credential, a variable. */
  readonly name: string;
  /** Action by which a changed secret takes effect: systemd reads credentials and sets variables only at a start. */
  readonly changes_by: 'reload' | 'restart';
}

interface Place extends SecretPlace {
  read(): string;
}

function placesOf(name: SecretName, values: unknown, env: Env): Place[] {
  const { key, variable } = secretSources[name];
  const set = valueAt(values, key);
  const path = typeof set === 'string' && set !== '' ? set : null;
  const credentials = env.CREDENTIALS_DIRECTORY === undefined ? null : resolve(env.CREDENTIALS_DIRECTORY);
  const credential = credentials === null ? null : join(credentials, name);
  const what = `the credential ${name}`;
  const places: Place[] = [];
  // Credentials come first: the original file often belongs to root, and is configured for commands at a shell.
  if (credential !== null && statOf(credential, what) !== null)
    places.push({ name: what, changes_by: 'restart', read: () => readSecretFile(credential, what, 'systemd') });
  if (path !== null) {
    const isCredential = credentials !== null && resolve(path).startsWith(`${credentials}${sep}`);
    const readers = isCredential ? 'systemd' : 'owner';
    places.push({
      name: `${key} (${path})`,
      changes_by: isCredential ? 'restart' : 'reload',
      read: () => readSecretFile(path, key, readers),
    });
  }
  const value = env[variable];
  if (value !== undefined) places.push({ name: variable, changes_by: 'restart', read: () => value });
  return places;
}

function loadSecret(name: SecretName, values: unknown, env: Env): Secret | null {
  const [place] = placesOf(name, values, env);
  return place === undefined ? null : checked(place.read(), place.name, secretSources[name]);
}

/** Returns the place that a secret is read from, then other places that are ignored. Empty if the secret is set nowhere. */
export function secretPlaces(name: SecretName, config: Config, env: Env): SecretPlace[] {
  return placesOf(name, config, env);
}

/** Bits of the mode that let somebody else in. systemd gives its credentials to the service by group or by ACL (0440). */
const others = { owner: 0o077, systemd: 0o007 } as const;
const largest = 64 * 1024;

/** Reads a file that holds one secret. One that others can read is refused (77), one that is missing or no file too. */
export function readSecretFile(path: string, what: string, readers: keyof typeof others): string {
  const stats = statOf(path, what);
  if (stats === null)
    // Somebody who puts the secret itself where its file belongs must not find it in a log.
    throw malformed(
      `${what}: there is no ${/[/.]/.test(path) ? `file ${path}` : 'such file'}`,
      'create it with mode 0600, containing only the secret',
    );
  if (!stats.isFile())
    throw forbidden(`${what}: ${path} is not a regular file`, 'name a file that holds the secret and nothing else');
  if ((stats.mode & others[readers]) !== 0)
    throw forbidden(`${what}: others have access to ${path} (mode ${shownMode(stats)})`, `chmod 0600 ${path}`);
  if (stats.size > largest)
    throw malformed(`${what}: ${path} is larger than 64 KiB`, 'the file must contain only the secret');
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, what, error);
  }
}

function statOf(path: string, what: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw unreadable(path, what, error);
  }
}

function unreadable(path: string, what: string, error: unknown): CataloguedError {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES' || code === 'EPERM')
    return forbidden(
      `${what}: cannot read ${path}: permission denied`,
      `make this user its owner: chown "$(id -un)" ${path}`,
    );
  return malformed(`${what}: cannot read ${path}: ${code}`, 'name a file that holds the secret and nothing else');
}

function checked(text: string, what: string, { lines, least = 1 }: Source): Secret {
  const value = text.trim();
  const hint = 'the file must contain only the secret';
  if (value === '') throw malformed(`${what}: it is empty`, hint);
  if (lines === 'one' && !/^[\x21-\x7e]+$/.test(value))
    throw malformed(`${what}: it is malformed, expected one line of printable characters without spaces`, hint);
  if (value.length < least)
    throw malformed(
      `${what}: it has ${value.length} characters, expected at least ${least}`,
      'create one with: openssl rand -hex 32',
    );
  if (lines === 'several') {
    const key = readSigningKey(value);
    if ('problem' in key)
      throw malformed(
        `${what}: ${key.problem}`,
        'create one with: openssl genrsa -out signing.pem 3072, and give the service its public key',
      );
  }
  return createSecret(value);
}

function malformed(message: string, hint: string): CataloguedError {
  return new CataloguedError('configuration', message, { exitCode: exitCodes.configuration, hint });
}

/** Returns the mode of a file as `chmod` takes it. */
export function shownMode({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** Returns the error about a file with the wrong owner or mode (77). */
export function forbidden(message: string, hint: string): CataloguedError {
  return new CataloguedError('permission', message, { exitCode: exitCodes.permission, hint });
}
