import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { rows } from '../admin/api/rows.ts';
import { isUntrusted } from '../database/errors.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { PublishedPage, RowQuestion } from '../mirror/rows/pages.ts';

const { request: httpRequest } = process.getBuiltinModule('node:http');
const { request: httpsRequest } = process.getBuiltinModule('node:https');

/** A daemon whose rows are followed. Its methods throw `SourceAway` where it does not answer. */
export interface RowSource {
  /** Returns the changes after a number, perhaps under another origin; `begun-anew`: a new copy is needed. */
  after(question: RowQuestion, signal: AbortSignal): Promise<PublishedPage | 'begun-anew'>;
  /** Fetches a copy of the mirror into a new file; returns the instant of which it is. */
  copy(path: string, signal: AbortSignal): Promise<number>;
}

/** It cannot be reached, is busy, or broke off: what one has stays, and it is asked again. */
export class SourceAway extends Error {
  override readonly name = 'SourceAway';
}

const patienceMs = 30_000;

/** `from` is `https://host[:port]`, `http://…`, or `unix:/path`; with a token over TCP. Another form is refused (64). */
export function daemonSource(from: string, token: { reveal(): string } | null): RowSource {
  const address = addressOf(from);
  const ask = async (path: string, signal: AbortSignal): Promise<IncomingMessage> => {
    const headers = token === null ? {} : { authorization: `Bearer ${token.reveal()}` };
    const { request, ...target } = address;
    const call = request({ ...target, path: `${target.prefix}${path}`, headers, signal, timeout: patienceMs });
    call.on('timeout', () => call.destroy(new Error(`no answer within ${patienceMs / 1000} s`)));
    call.end();
    const [response] = (await once(call, 'response').catch((error: Error) => {
      signal.throwIfAborted();
      throw isUntrusted(error) ? untrusted(from, error) : new SourceAway(`${from} does not answer: ${error.message}`);
    })) as [IncomingMessage];
    return response;
  };
  return {
    after: async ({ origin, after, limit }, signal) => {
      const response = await ask(`/v1/rows?origin=${encodeURIComponent(origin)}&after=${after}&limit=${limit}`, signal);
      const body = await text(response).catch((error: Error) => {
        signal.throwIfAborted();
        throw new SourceAway(`${from} broke off: ${error.message}`);
      });
      if (response.statusCode === 410) return 'begun-anew';
      if (response.statusCode !== 200) throw refusal(from, response.statusCode, body);
      return pageIn(from, body);
    },
    copy: async (path, signal) => {
      const response = await ask('/v1/rows/copy', signal);
      if (response.statusCode !== 200) throw refusal(from, response.statusCode, await text(response).catch(() => ''));
      const published_at = Number(response.headers['x-published-at']);
      if (!Number.isSafeInteger(published_at)) throw notOurs(from);
      // Its length is known: what breaks off is an error.
      await pipeline(response, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal }).catch(
        (error: Error) => {
          signal.throwIfAborted();
          throw new SourceAway(`${from} broke off: ${error.message}`);
        },
      );
      return published_at;
    },
  };
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

/** A proxy may answer in the daemon's place, with 200 and something of its own. */
function pageIn(from: string, body: string): PublishedPage {
  const page = rows.safeParse(parsed(body));
  if (!page.success) throw notOurs(from);
  return page.data;
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

function notOurs(from: string): SourceAway {
  return new SourceAway(`${from} answers 200, but not as a daemon does`);
}

/** Returns the error for a refusal by the daemon: `SourceAway` is retried later, any other needs a person to fix it. */
function refusal(from: string, status: number | undefined, body: string): Error {
  let said: { message?: string; hint?: string } = {};
  try {
    said = JSON.parse(body) as typeof said;
  } catch {
    // A proxy's page, or nothing.
  }
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
