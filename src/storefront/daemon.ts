import type { IncomingMessage } from 'node:http';
import { later } from '../kernel/clock.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../kernel/errors.ts';
import { type ListenAddress, listenAddress } from '../kernel/http/listen-address.ts';
import { members } from './arguments.ts';
import type { Asking, DaemonAddress, DaemonCalls, DaemonSeen } from './daemon-types.ts';
import { badArgument } from './problems.ts';

/** Milliseconds after the first view at which collected views are sent together. */
const viewsTogetherMs = 5000;
/** As many products and dates as the daemon takes at once; while they are on their way, no more are remembered than these. */
const mostAtOnce = 500;
const mostViews = 10_000;

/** Collects what shoppers look at. */
interface Seen {
  /** Never throws. */
  note(seen: DaemonSeen): void;
  /** Sends the collected views. */
  flush(): void;
}

/** Sends views together, and forgets those that cannot be sent: no page waits for them, and none fails by them. */
function seenTogether(send: (body: object) => Promise<unknown>): Seen {
  let waiting = new Map<string, { product_id: number; date: string | null; count: number }>();
  let timer: Disposable | null = null;
  const flush = () => {
    timer?.[Symbol.dispose]();
    timer = null;
    if (waiting.size === 0) return;
    const seen = [...waiting.values()];
    waiting = new Map();
    send({ seen }).catch(() => undefined);
  };
  return {
    note: (seen) => {
      const { product_id, date = null, count = 1 } = seen ?? {};
      if (!isCount(product_id, Number.MAX_SAFE_INTEGER) || !isCount(count, mostViews) || !isDay(date)) return;
      const key = `${product_id} ${date}`;
      const known = waiting.get(key)?.count ?? 0;
      waiting.set(key, { product_id, date, count: Math.min(known + count, mostViews) });
      if (waiting.size >= mostAtOnce) return flush();
      timer ??= later(flush, viewsTogetherMs);
    },
    flush,
  };
}

function isCount(value: unknown, greatest: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= greatest;
}

/** One date that the daemon would not take would cost all views of the report. */
function isDay(date: unknown): date is string | null {
  if (date === null) return true;
  if (typeof date !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(date)) return false;
  const at = Date.parse(date);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date);
}

/** A daemon that does not answer within this, beyond the time that the question gives it, hangs. */
const patienceMs = 5000;
/** More than any answer has: a server that sends more is no daemon. */
const longestAnswer = 16 * 1024 * 1024;

interface Call {
  readonly path: string;
  readonly body: object;
  readonly patience_ms: number;
}

/** Asks the daemon that the reader was opened with, each call over a connection of its own. */
export function daemonCalls(
  daemon: DaemonAddress | undefined,
  /** The currency that the reader was opened with; undefined: the mirror's first one, which is the daemon's too. */
  own: string | undefined,
): {
  readonly calls: DaemonCalls;
  close(): void;
} {
  const asking = daemon === undefined ? null : talkTo(daemon);
  const ask = async <Answer>(call: Call, options: Asking): Promise<Answer> => {
    const { signal } = members('options', options, ['signal']);
    if (asking === null) throw noDaemon();
    const left = signal as AbortSignal | undefined;
    left?.throwIfAborted();
    return (await asking(call, left)) as Answer;
  };
  const seen = seenTogether((body) => ask({ path: '/v1/seen', body, patience_ms: patienceMs }, {}));
  const calls: DaemonCalls = {
    check: async (question, options = {}) => {
      const { deadline_ms = patienceMs } = question;
      const wait = typeof deadline_ms === 'number' && deadline_ms > 0 ? deadline_ms : 0;
      // The price was shown in the reader's currency, which need not be the first one.
      const currency = question.currency ?? question.expect_price?.currency ?? own;
      const body = currency === undefined ? question : { ...question, currency };
      return await ask({ path: '/v1/check', body, patience_ms: wait + patienceMs }, options);
    },
    order: async (report, options = {}) =>
      await ask({ path: '/v1/orders', body: report, patience_ms: 2 * patienceMs }, options),
    seen: seen.note,
  };
  return { calls, close: seen.flush };
}

function talkTo(daemon: DaemonAddress): (call: Call, signal: AbortSignal | undefined) => Promise<unknown> {
  const { listen, token } = members('daemon', daemon, ['listen', 'token']);
  if (token !== undefined && (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)))
    throw badArgument('daemon.token: found no token', 'give the content of storefront.token_file, without spaces');
  const address = addressOf(listen);
  const target = 'socket' in address ? { socketPath: address.socket } : { host: address.host, port: address.port };
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return async ({ path, body, patience_ms }, signal) => {
    // Only who asks the daemon loads it.
    const { request } = await import('node:http');
    const text = JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = {
      ...authorization,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    const options = { ...target, method: 'POST', path, headers, agent: false, timeout: patience_ms };
    const call = request(signal === undefined ? options : { ...options, signal }, resolve);
    call.on('timeout', () => call.destroy(silent(listen, patience_ms)));
    call.on('error', reject);
    call.end(text);
    try {
      const response = await promise;
      return answerOf(listen, response.statusCode ?? 0, await textOf(listen, response));
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : failed(listen, error);
    }
  };
}

function addressOf(listen: unknown): ListenAddress {
  if (typeof listen === 'string' && /^(unix:.+|([\w.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5})$/.test(listen))
    return listenAddress(listen);
  throw badArgument(
    `daemon.listen: found ${typeof listen === 'string' ? JSON.stringify(listen.slice(0, 60)) : String(listen)}`,
    'give unix:PATH or HOST:PORT, like storefront.listen of the daemon',
  );
}

async function textOf(listen: string, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > longestAnswer) throw strange(listen, 'its answer is larger than any of a daemon');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function answerOf(listen: string, status: number, text: string): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (error) {
    throw strange(listen, `it answers ${status} without JSON`, error);
  }
  if (status === 200) return answer;
  const { error, message, hint } = (answer ?? {}) as { error?: unknown; message?: unknown; hint?: unknown };
  if (typeof error !== 'string' || typeof message !== 'string') throw strange(listen, `it answers ${status}`);
  throw new CataloguedError(error, message, {
    exitCode: exitCodeOf(status),
    hint: typeof hint === 'string' ? hint : (hints[status] ?? 'correct the question'),
  });
}

const hints: Readonly<Record<number, string>> = {
  401: 'open the reader with the token of storefront.token_file: { daemon: { listen, token } }',
  403: 'ask from a server, not from a web page',
  500: "see the daemon's log",
};

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return exitCodes.permission;
  if (status === 503) return exitCodes.retryLater;
  return status >= 500 ? exitCodes.unavailable : exitCodes.usage;
}

/** Returns what a failed connection says, in words. */
function failed(listen: string, error: unknown): unknown {
  if (error instanceof CataloguedError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR')
    return new CataloguedError('no-daemon', `no daemon listens on ${listen}`, {
      exitCode: exitCodes.unavailable,
      hint: 'start it with storefront.listen set to this address; the mirror can be read meanwhile',
      cause: error,
    });
  if (code === 'EACCES' || code === 'EPERM')
    return new CataloguedError('permission', `this user may not connect to ${listen}`, {
      exitCode: exitCodes.permission,
      hint: "add it to the socket's group, which is the mirror's: usermod -aG catalogued USER, and restart the programs that run as it",
      cause: error,
    });
  return strange(listen, `the connection failed (${code ?? String(error)})`, error);
}

function noDaemon(): CataloguedError {
  return new CataloguedError(
    'daemon-not-configured',
    'the reader was opened without the storefront interface of a daemon',
    {
      exitCode: exitCodes.configuration,
      hint: "open it with one: openReader(path, { daemon: { listen: 'unix:/var/lib/catalogued/storefront.sock' } })",
    },
  );
}

function silent(listen: string, patience_ms: number): CataloguedError {
  return new CataloguedError(
    'daemon-silent',
    `the daemon on ${listen} does not answer within ${patience_ms / 1000} s`,
    {
      exitCode: exitCodes.retryLater,
      hint: 'ask again; if it stays silent, see its log and restart it',
    },
  );
}

function strange(listen: string, what: string, cause?: unknown): CataloguedError {
  return new CataloguedError(
    'no-daemon',
    `what listens on ${listen} is not a daemon, or it closed the connection: ${what}`,
    {
      exitCode: exitCodes.unavailable,
      hint: 'check the address against storefront.listen of the daemon, and ask again',
      cause,
    },
  );
}
