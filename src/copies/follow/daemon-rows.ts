import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { rows } from '../../admin/api/rows.ts';
import type { BegunAnew, RowPage, RowQuestion } from '../../feed/pages.store.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { isUntrusted } from '../postgres/errors.ts';
import { type RowSource, SourceAway } from './source.ts';

const { request: httpRequest } = process.getBuiltinModule('node:http');
const { request: httpsRequest } = process.getBuiltinModule('node:https');

const patienceMs = 30_000;

/** The rows of a daemon, over its storefront interface. */
export class DaemonRows implements RowSource {
  readonly #from: string;
  readonly #address;
  readonly #headers;

  /** `from` is `https://host[:port]`, `http://…`, or `unix:/path`; with a token over TCP. Another form is refused (64). */
  constructor(from: string, token: { reveal(): string } | null) {
    this.#from = from;
    this.#address = addressOf(from);
    this.#headers = token === null ? {} : { authorization: `Bearer ${token.reveal()}` };
  }

  async after({ origin, after, limit }: RowQuestion, signal: AbortSignal): Promise<RowPage | BegunAnew> {
    const path = `/v1/rows?origin=${encodeURIComponent(origin)}&after=${after}&limit=${limit}`;
    const response = await this.#ask(path, signal);
    const body = await this.#received(text(response), signal);
    if (response.statusCode === 410) return 'begun-anew';
    if (response.statusCode !== 200) throw refusal(this.#from, response.statusCode, body);
    const page = rows.safeParse(parsed(body));
    if (!page.success) throw notOurs(this.#from);
    return page.data;
  }

  async copy(path: string, signal: AbortSignal): Promise<number> {
    const response = await this.#ask('/v1/rows/copy', signal);
    if (response.statusCode !== 200)
      throw refusal(this.#from, response.statusCode, await text(response).catch(() => ''));
    const published_at = Number(response.headers['x-published-at']);
    if (!Number.isSafeInteger(published_at)) throw notOurs(this.#from);
    // Its length is known: what breaks off is an error.
    const written = pipeline(response, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
    await this.#received(written, signal);
    return published_at;
  }

  async #ask(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { request, ...target } = this.#address;
    const call = request({
      ...target,
      path: `${target.prefix}${path}`,
      headers: this.#headers,
      signal,
      timeout: patienceMs,
    });
    call.on('timeout', () => call.destroy(new Error(`no answer within ${patienceMs / 1000} s`)));
    call.end();
    const [response] = (await once(call, 'response').catch((error: Error) => {
      signal.throwIfAborted();
      if (isUntrusted(error)) throw untrusted(this.#from, error);
      throw new SourceAway(`${this.#from} does not answer: ${error.message}`);
    })) as [IncomingMessage];
    return response;
  }

  #received<Result>(reading: Promise<Result>, signal: AbortSignal): Promise<Result> {
    return reading.catch((error: Error) => {
      signal.throwIfAborted();
      throw new SourceAway(`${this.#from} broke off: ${error.message}`);
    });
  }
}

function addressOf(from: string) {
  if (from.startsWith('unix:')) return { request: httpRequest, socketPath: from.slice('unix:'.length), prefix: '' };
  const url = URL.canParse(from) ? new URL(from) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new CataloguedError('usage', `cannot follow ${from}`, {
      exitCode: exitCodes.usage,
      hint: 'write https://host:port, http://host:port, unix:/path/to/storefront.sock or postgres://user@host/database',
    });
  return {
    request: url.protocol === 'https:' ? httpsRequest : httpRequest,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    prefix: url.pathname.replace(/\/$/, ''),
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Asking again would change nothing. */
function untrusted(from: string, cause: Error): CataloguedError {
  return new CataloguedError('follow-untrusted', `${from} cannot be trusted: ${cause.message}`, {
    exitCode: exitCodes.configuration,
    hint: 'name its authority in the environment: NODE_EXTRA_CA_CERTS=/etc/ssl/own-ca.pem',
    cause,
  });
}

/** A proxy may answer in the daemon's place, with 200 and something of its own. */
function notOurs(from: string): SourceAway {
  return new SourceAway(`${from} answers 200, but not as a daemon does`);
}

/** Returns the error for a refusal by the daemon: `SourceAway` is retried later, any other needs a person to fix it. */
function refusal(from: string, status: number | undefined, body: string): Error {
  // A proxy's page, or nothing, is no JSON.
  const said = (parsed(body) ?? {}) as { message?: string; hint?: string };
  const message = `${from} answers ${status}${said.message === undefined ? '' : `: ${said.message}`}`;
  const mend = (exitCode: 77 | 78, hint: string) => new CataloguedError('follow-refused', message, { exitCode, hint });
  if (status === 401 || status === 403)
    return mend(exitCodes.permission, 'name the storefront token with --token-file');
  if (status === 400) return mend(exitCodes.configuration, said.hint ?? 'use the same version on both hosts');
  if (status === 404)
    return mend(
      exitCodes.configuration,
      said.hint ?? "name the storefront's address (storefront.listen) of a daemon of this version",
    );
  return new SourceAway(message);
}
