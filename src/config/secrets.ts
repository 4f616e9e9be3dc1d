import { hash } from 'node:crypto';
import { readFileSync, type Stats, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { inspect } from 'node:util';
import { readSigningKey } from '../domain/push/signing-key.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
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
  file(config: Config): string | null;
}

/** Where each secret may come from: the systemd credential of its name, the key in the file, the variable. */
export const secretSources: Readonly<Record<SecretName, Source>> = {
  api_key: {
    key: 'service.api_key_file',
    variable: 'CATALOGUED_API_KEY',
    lines: 'one',
    file: ({ service }) => service.api_key_file,
  },
  signing_key: {
    key: 'signing.key_file',
    variable: 'CATALOGUED_SIGNING_KEY',
    lines: 'several',
    file: ({ signing }) => signing.key_file,
  },
  receiver_secret: {
    key: 'receiver.secret_file',
    variable: 'CATALOGUED_RECEIVER_SECRET',
    lines: 'one',
    // Callback addresses are made of it and of what can be guessed.
    least: 32,
    file: ({ receiver }) => receiver.secret_file,
  },
  admin_token: {
    key: 'admin.token_file',
    variable: 'CATALOGUED_ADMIN_TOKEN',
    lines: 'one',
    file: ({ admin }) => admin.token_file,
  },
  storefront_token: {
    key: 'storefront.token_file',
    variable: 'CATALOGUED_STOREFRONT_TOKEN',
    lines: 'one',
    least: 32,
    file: ({ storefront }) => storefront.token_file,
  },
  database_url: {
    key: 'database.url_file',
    variable: 'CATALOGUED_DATABASE_URL',
    lines: 'one',
    file: ({ database }) => database.url_file,
  },
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
          if (known[name] === null) requireUnlessOptional(name, config);
        }
        return known[name];
      },
    });
  return secrets as Secrets;
}

/** Reads every secret, and tells all that is wrong with them at once: for who needs them, before anything is done. */
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
  if (refusals.length === 0) refusals.push(...sharedToken(secrets));
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

/** With one token for both, whoever has it opens the operator's door too. */
function sharedToken({ admin_token, storefront_token }: Secrets): CataloguedError[] {
  if (storefront_token === null || admin_token?.reveal() !== storefront_token.reveal()) return [];
  return [
    malformed(
      "the storefront's token is the admin token",
      'create a separate one for storefront.token_file: openssl rand -hex 32',
    ),
  ];
}

function requireUnlessOptional(name: SecretName, { service, admin, storefront }: Config): void {
  if (name === 'api_key' && service.profile.authorization.header !== null)
    throw malformed(
      'there is no key for the service',
      'set service.api_key_file to a file with mode 0600, or CATALOGUED_API_KEY',
    );
  if (name === 'admin_token' && !admin.listen.startsWith('unix:'))
    throw malformed(
      `admin.listen is ${admin.listen}, and there is no admin token`,
      'set admin.token_file to a file with mode 0600, or listen on a unix socket',
    );
  if (name === 'storefront_token' && storefront.listen !== null && !storefront.listen.startsWith('unix:'))
    throw malformed(
      `storefront.listen is ${storefront.listen}, and there is no storefront token`,
      'set storefront.token_file to a file with mode 0600, or listen on a unix socket',
    );
}

/** The places at which a secret stands; the first one counts. */
interface Place {
  /** As it is called in messages: a key, a credential, a variable. */
  readonly name: string;
  /** How another secret there comes into use: systemd reads a credential, and sets a variable, at a start alone. */
  readonly changes_by: 'reload' | 'restart';
  read(): string;
}

function placesOf(name: SecretName, config: Config, env: Env): Place[] {
  const { key, variable, file } = secretSources[name];
  const path = file(config);
  const credentials = env.CREDENTIALS_DIRECTORY === undefined ? null : resolve(env.CREDENTIALS_DIRECTORY);
  const credential = credentials === null ? null : join(credentials, name);
  const what = `the credential ${name}`;
  const places: Place[] = [];
  // What systemd hands over comes first: the file that it was made of is often root's, and named for commands at a shell.
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

function loadSecret(name: SecretName, config: Config, env: Env): Secret | null {
  const [place] = placesOf(name, config, env);
  return place === undefined ? null : checked(place.read(), place.name, secretSources[name]);
}

/** A place at which a secret is set, as messages call it. */
export type SecretPlace = Pick<Place, 'name' | 'changes_by'>;

/** Where a secret comes from, and which other places are passed over; empty: it is set nowhere. */
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
  if ((stats.mode & others[readers]) !== 0) {
    const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
    throw forbidden(`${what}: others have access to ${path} (mode ${mode})`, `chmod 0600 ${path}`);
  }
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

function checked(text: string, what: string, { lines, least = 1 }: Pick<Source, 'lines' | 'least'>): Secret {
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

function forbidden(message: string, hint: string): CataloguedError {
  return new CataloguedError('permission', message, { exitCode: exitCodes.permission, hint });
}
