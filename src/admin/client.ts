import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { listenAddress } from '../kernel/http/listen-address.ts';
import type { Answer, Body, OperationName, Path } from './api.ts';

/** Loaded this way because a named import would load all of `fetch` too, which doubles the start time of a command. */
const { request } = process.getBuiltinModule('node:http');

/** One call of the daemon's API. The client uses only the API's types, and loads no schema. */
export interface AdminCall<Name extends OperationName> {
  readonly operation: Name;
  /** The values for the names in braces of the path. */
  readonly path?: Path<Name>;
  readonly body?: Body<Name>;
  /** Milliseconds to wait for the answer. Default: 10 s, more for operations that call the service. */
  readonly patience_ms?: number;
  /** Aborts the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A client of a running daemon. */
export interface AdminClient {
  /** Returns the parsed answer, or null if no daemon listens. Throws an `AdminRefusal` for any status but 200. */
  call<Name extends OperationName>(call: AdminCall<Name>): Promise<Answer<Name> | null>;
}

/** Thrown when the daemon refuses a call. */
export class AdminRefusal extends Error {
  override readonly name = 'AdminRefusal';
  /** The daemon's error code: stable, kebab-case. */
  readonly code: string | undefined;
  readonly hint: string | undefined;
  constructor({ error, message, hint }: { error?: string; message: string; hint?: string }) {
    super(message);
    this.code = error;
    this.hint = hint;
  }
}

/** Returns the error for a daemon that listens but does not answer: it hangs, or is stopped. */
function silent(listen: string, patience_ms: number): CataloguedError {
  return new CataloguedError(
    'daemon-silent',
    `the daemon at ${listen} does not answer within ${patience_ms / 1000} s`,
    {
      exitCode: exitCodes.retryLater,
      hint: 'check its log, and restart it if it hangs; the file can be read meanwhile',
    },
  );
}

/** Returns the error for a daemon that was killed, or ended, during a call. */
function gone(listen: string, cause: Error): CataloguedError {
  return new CataloguedError('daemon-gone', `the daemon at ${listen} ended before it answered`, {
    exitCode: exitCodes.retryLater,
    hint: 'see its log, start it again, and ask again',
    cause,
  });
}

export function adminClient(listen: string, token: { reveal(): string } | null): AdminClient {
  const address = listenAddress(listen);
  const target = 'socket' in address ? { socketPath: address.socket } : { host: address.host, port: address.port };
  return {
    call: <Name extends OperationName>({ operation, path, body, patience_ms = 10_000, signal }: AdminCall<Name>) => {
      const { promise, resolve, reject } = Promise.withResolvers<Answer<Name> | null>();
      const [method, template = ''] = operation.split(' ');
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const headers = {
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
        ...(token === null ? {} : { authorization: `Bearer ${token.reveal()}` }),
      };
      const call = request(
        // A kept connection may belong to a daemon that has ended, although another one listens now.
        {
          ...target,
          method,
          path: filled(template, { ...(path as object) }),
          headers,
          timeout: patience_ms,
          agent: false,
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', (error) => reject(failure(listen, error)));
          response.on('end', () => {
            try {
              const answer: unknown = JSON.parse(Buffer.concat(chunks).toString());
              if (response.statusCode === 200) resolve(answer as Answer<Name>);
              else reject(new AdminRefusal(answer as { message: string }));
            } catch (error) {
              reject(error);
            }
          });
        },
      );
      call.on('timeout', () => call.destroy(silent(listen, patience_ms)));
      call.on('error', (error: NodeJS.ErrnoException) => {
        const nobody = error.code === 'ENOENT' || error.code === 'ECONNREFUSED';
        if (nobody) resolve(null);
        else reject(failure(listen, error));
      });
      const leave = () => call.destroy(signal?.reason as Error);
      if (signal?.aborted) leave();
      signal?.addEventListener('abort', leave);
      call.on('close', () => signal?.removeEventListener('abort', leave));
      call.end(payload);
      return promise;
    },
  };
}

function failure(listen: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'EACCES') return denied(listen, error);
  return error.code === 'ECONNRESET' || error.code === 'EPIPE' ? gone(listen, error) : error;
}

/** Returns the error for a socket in a directory that this user cannot enter. It is unknown whether a daemon runs. */
function denied(listen: string, cause: Error): CataloguedError {
  return new CataloguedError('permission', `this user cannot ask the daemon at ${listen}: permission denied`, {
    exitCode: exitCodes.permission,
    hint: 'run the command as the user of the daemon, or as root',
    cause,
  });
}

/** Fills in the names of a path like `/v1/schedule/{name}/run`. */
function filled(template: string, path: Readonly<Record<string, unknown>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
}
