import { CataloguedError, type ExitCode, exitCodes } from '../../kernel/errors.ts';

/** Returns whether the server itself answered with an error: the connection can then be used again. */
export function isAnswer(error: unknown): boolean {
  return stateOf(error) !== null;
}

/** Returns whether to try again: the server is unreachable, starting, stopping or full, or another client was faster. */
export function isAway(error: unknown): boolean {
  return error instanceof CataloguedError && error.exitCode === exitCodes.unavailable;
}

interface Meaning {
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly says: string;
  readonly hint: string;
}

const { unavailable, permission, configuration } = exitCodes;

/** By SQLSTATE, or the class of it; what is in none is a bug of ours. */
const meanings: Readonly<Record<string, Meaning>> = {
  '28': {
    code: 'database-refused',
    exitCode: permission,
    says: 'refuses this user',
    hint: 'correct user and password in database.url_file, or let the user in (pg_hba.conf)',
  },
  '3D000': {
    code: 'no-database',
    exitCode: configuration,
    says: 'has no such database',
    hint: 'create the database with createdb, or name another database in database.url_file',
  },
  '3F000': noSchema(),
  '42P01': noSchema(),
  '42501': {
    code: 'database-forbidden',
    exitCode: permission,
    says: 'does not let this user do that',
    hint: 'see what its role lacks: catalogued database check',
  },
  '25006': {
    code: 'database-read-only',
    exitCode: unavailable,
    says: 'takes no writes: it is a replica, or was set so',
    hint: 'name the primary in database.url_file (target of a failover included)',
  },
  '2BP01': {
    code: 'database-depended-on',
    exitCode: configuration,
    says: 'has objects of yours that stand on what has to be made anew',
    hint: 'drop those, and make them again afterwards',
  },
  '53100': {
    code: 'database-full',
    exitCode: unavailable,
    says: 'has no space left',
    hint: 'make room on its disk; what is missing is published then',
  },
  '25P03': away('ended a publication that stood still'),
  '53': away('has no room for this connection'),
  '08': away('broke off'),
  '57': away('stops or starts, or gave up a statement that took too long'),
  '55P03': away('is locked by somebody else'),
  '40': away('let somebody else go first'),
  '58': away('has trouble with its disk'),
};

/** Turns what the driver throws into what a person can act on. */
export function databaseError(error: unknown, address: string): unknown {
  if (error instanceof CataloguedError) return error;
  const state = stateOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const found = state === null ? connecting(error) : (meanings[state] ?? meanings[state.slice(0, 2)]);
  if (found === undefined) return error;
  const { code, exitCode, says, hint } = found;
  return new CataloguedError(code, `the database ${address} ${says}: ${message}`, { exitCode, hint, cause: error });
}

export function wrongAddress(): CataloguedError {
  return new CataloguedError('database-url', 'the URL of the database is malformed', {
    exitCode: configuration,
    hint: 'write postgres://user:password@host:5432/database, or postgres:///database?host=/run/postgresql',
  });
}

/** Returns whether a connection failed because of the server's certificate. */
export function isUntrusted(error: unknown): boolean {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  return /CERT|SELF_SIGNED|SIGNATURE|^ERR_(TLS|SSL)/.test(`${code} ${message}`);
}

/** Returns the meaning of an error that came before the server answered anything. */
function connecting(error: unknown): Meaning | undefined {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  if (isUntrusted(error) || /does not support SSL/.test(message))
    return {
      code: 'database-tls',
      exitCode: configuration,
      says: 'cannot be trusted',
      hint: 'name its authority in the URL: ?sslmode=verify-full&sslrootcert=/etc/ssl/db-ca.pem',
    };
  if (/sslrootcert|sslmode|SECURITY WARNING/.test(message) || (code === 'ENOENT' && /open/.test(message)))
    return {
      code: 'database-url',
      exitCode: configuration,
      says: 'has an unusable URL',
      hint: 'correct its parameters in database.url_file',
    };
  if (/^E[A-Z]+$/.test(code) || /timeout|terminated|ended|not queryable/i.test(message))
    return away('cannot be reached');
  return undefined;
}

function away(says: string): Meaning {
  return { code: 'database-away', exitCode: unavailable, says, hint: 'it is tried again; see that it runs' };
}

function noSchema(): Meaning {
  return {
    code: 'database-empty',
    exitCode: configuration,
    says: 'has nothing of catalogued in this schema',
    hint: 'make it: catalogued database init',
  };
}

function stateOf(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' ? code : null;
}
