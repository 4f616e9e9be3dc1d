import { Socket } from 'node:net';
import type { PoolClient } from 'pg';
import { databaseError, isAnswer, wrongAddress } from './errors.ts';

/*
 * The only module that connects to PostgreSQL. The driver is loaded when somebody first connects: an
 * installation that keeps the mirror in a file alone never loads it.
 */

/** Runs statements of one transaction. */
export interface Statements {
  /** Returns the rows. Whole numbers are numbers where they are exact; JSON is parsed. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ READ ONLY';

/** Its methods throw `CataloguedError`, with a message for people; `isAway` returns whether to try again. */
export interface Postgres extends Statements, AsyncDisposable {
  /** `host:port/database`, for people: it has no password. */
  readonly address: string;
  /** Commits what `work` does, or nothing of it. */
  transaction<Result>(work: (statements: Statements) => Promise<Result>, isolation?: Isolation): Promise<Result>;
}

export interface PostgresOptions {
  /** `postgres://user:password@host/database?sslmode=verify-full`, or `postgres:///database?host=/run/postgresql`. */
  readonly url: string;
  /** Schema of names that are written without one. */
  readonly schema: string;
  readonly connections?: number;
  /** Milliseconds after which a statement is given up. */
  readonly patience_ms?: number;
  /** Ends what is under way when it is aborted, with its reason: the server rolls back. */
  readonly signal?: AbortSignal;
  /** Called with each answer to a statement. */
  readonly answered?: () => void;
}

/** Prepares connections; none is made before the first statement. A malformed URL is refused (78). */
export async function connectPostgres(options: PostgresOptions): Promise<Postgres> {
  const { url, schema, connections = 4, patience_ms = 30_000, signal, answered } = options;
  const address = addressOf(url);
  const { default: pg } = await import('pg');
  const typed = (oid: number, format?: 'text') => (oid === int8 ? wholeNumber : pg.types.getTypeParser(oid, format));
  const run = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw databaseError(error, address);
    }
  };
  const pool = await run(
    async () =>
      new pg.Pool({
        connectionString: withModesOfLibpq(url),
        max: connections,
        application_name: 'catalogued',
        connectionTimeoutMillis: Math.min(5000, patience_ms),
        idleTimeoutMillis: 30_000,
        keepAlive: true,
        ...(signal === undefined ? {} : { stream: () => socketUntil(signal) }),
        // By our own clock: a server that is gone does not even answer that it gave up.
        query_timeout: patience_ms + 1000,
        types: { getTypeParser: typed as typeof pg.types.getTypeParser },
      }),
  );
  // An idle connection that breaks is replaced when the next one is needed; one in use fails its statement too.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  // Not for the connection: behind a pooler its next statements are somebody else's.
  const names = `SET LOCAL search_path TO ${quoted(schema)}; SET LOCAL statement_timeout TO ${patience_ms};
    SET LOCAL idle_in_transaction_session_timeout TO ${patience_ms}`;
  const transaction: Postgres['transaction'] = (work, isolation = 'READ COMMITTED') =>
    run(async () => {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        await client.query(`BEGIN ISOLATION LEVEL ${isolation}; ${names}`);
        const result = await work(statementsOf(client, answered));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        broken = isAnswer(error) ? await rollBack(client) : (error as Error);
        throw error;
      } finally {
        client.release(broken);
      }
    });
  return {
    address,
    transaction,
    query: (text, values) => transaction((statements) => statements.query(text, values)),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

/** Returns a socket that breaks with the reason of the signal, and with it the statement under way. */
function socketUntil(signal: AbortSignal): Socket {
  const socket = new Socket();
  const leave = () => void socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', leave, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', leave));
  if (signal.aborted) leave();
  return socket;
}

/** A name as SQL has it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The type of bigint in PostgreSQL's catalogue. */
const int8 = 20;

function wholeNumber(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

function statementsOf(client: PoolClient, answered: PostgresOptions['answered']): Statements {
  return {
    query: async (text, values) => {
      const { rows } = await (values === undefined ? client.query(text) : client.query(text, [...values]));
      answered?.();
      return rows;
    },
  };
}

/** Returns why the connection is of no more use; undefined: it can be used again. */
async function rollBack(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function addressOf(url: string): string {
  // The host may be left out, for a socket: no URL of the web.
  const parsed = /^postgres(ql)?:\/\//.test(url)
    ? URL.parse(url.replace(/^postgres(ql)?:\/\/([^/]*@)?(?=\/)/, '$&socket'))
    : null;
  const database = parsed?.pathname.slice(1) ?? '';
  if (parsed === null || database === '') throw wrongAddress();
  const host = parsed.searchParams.get('host') ?? parsed.host;
  return `${host}/${decodeURIComponent(database)}`;
}

/** The driver's own modes of TLS are others than those that everybody else's URLs mean. */
function withModesOfLibpq(url: string): string {
  return /[?&]sslmode=/.test(url) ? `${url}&uselibpqcompat=true` : url;
}
