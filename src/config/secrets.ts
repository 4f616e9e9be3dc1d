import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
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
}

type Env = Readonly<Record<string, string | undefined>>;

/** Where each secret may come from: the key in the file, the systemd credential, the variable. */
export const secretSources = {
  api_key: {
    key: 'service.api_key_file',
    variable: 'CATALOGUED_API_KEY',
    lines: 1,
    of: (config: Config) => config.service.api_key_file,
  },
  signing_key: {
    key: 'signing.key_file',
    variable: 'CATALOGUED_SIGNING_KEY',
    lines: 1000,
    of: (config: Config) => config.signing.key_file,
  },
  receiver_secret: {
    key: 'receiver.secret_file',
    variable: 'CATALOGUED_RECEIVER_SECRET',
    lines: 1,
    of: (config: Config) => config.receiver.secret_file,
  },
  admin_token: {
    key: 'admin.token_file',
    variable: 'CATALOGUED_ADMIN_TOKEN',
    lines: 1,
    of: (config: Config) => config.admin.token_file,
  },
} as const;

/** Reads every secret that is configured. Missing or malformed: 78; one that others can read: 77. */
export function loadSecrets(config: Config, env: Env): Secrets {
  const load = (name: keyof typeof secretSources) => loadSecret(name, config, env);
  const api_key = load('api_key');
  if (api_key === null && config.service.profile.authorization.header !== null) {
    throw refused(
      'there is no key for the service',
      exitCodes.configuration,
      'set service.api_key_file to a file with mode 0600, or CATALOGUED_API_KEY',
    );
  }
  return {
    api_key,
    signing_key: load('signing_key'),
    receiver_secret: load('receiver_secret'),
    admin_token: load('admin_token'),
  };
}

function loadSecret(name: keyof typeof secretSources, config: Config, env: Env): Secret | null {
  const { key, variable, lines, of } = secretSources[name];
  const file = of(config);
  if (file !== null) return secret(readSecretFile(file, key, true), `${key} (${file})`, lines);
  const credential = env.CREDENTIALS_DIRECTORY === undefined ? null : join(env.CREDENTIALS_DIRECTORY, name);
  if (credential !== null && statSync(credential, { throwIfNoEntry: false }) !== undefined) {
    // systemd owns that directory and lets in nobody else, whatever the mode of the file says.
    return secret(readSecretFile(credential, `the credential ${name}`, false), `the credential ${name}`, lines);
  }
  const value = env[variable];
  return value === undefined ? null : secret(value, variable, lines);
}

function readSecretFile(path: string, what: string, ownerOnly: boolean): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined)
    throw refused(
      `${what}: there is no file ${path}`,
      exitCodes.configuration,
      'create it with mode 0600, holding the secret and nothing else',
    );
  if (!stats.isFile())
    throw refused(
      `${what}: ${path} is no regular file`,
      exitCodes.permission,
      'name a file that holds the secret and nothing else',
    );
  if (ownerOnly && (stats.mode & 0o077) !== 0) {
    const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
    throw refused(`${what}: others can read ${path} (mode ${mode})`, exitCodes.permission, `chmod 0600 ${path}`);
  }
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw refused(
      `${what}: cannot read ${path} (${code === 'EACCES' ? 'permission denied' : code})`,
      exitCodes.permission,
      `make this user its owner: chown "$(id -un)" ${path}`,
    );
  }
}

function secret(text: string, what: string, lines: number): Secret {
  const value = text.trim();
  if (value === '')
    throw refused(`${what}: it is empty`, exitCodes.configuration, 'put the secret there, and nothing else');
  const printable = lines === 1 ? /^[\x21-\x7e]+$/.test(value) : !/[^\x20-\x7e\r\n]/.test(value);
  if (!printable)
    throw refused(
      `${what}: it is malformed, expected one line of printable characters without spaces`,
      exitCodes.configuration,
      'put the secret there, and nothing else',
    );
  const fingerprint = `sha256:${hash('sha256', value).slice(0, 8)}`;
  return Object.defineProperty(
    { reveal: () => value, fingerprint, toString: () => fingerprint, toJSON: () => fingerprint },
    inspect.custom,
    {
      value: () => fingerprint,
    },
  );
}

function refused(message: string, exitCode: 77 | 78, hint: string): CataloguedError {
  return new CataloguedError(exitCode === exitCodes.permission ? 'secret-permission' : 'secret', message, {
    exitCode,
    hint,
  });
}
