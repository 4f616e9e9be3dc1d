import { CataloguedError, exitCodes } from '../errors.ts';
import { listenAddress } from '../listen-address.ts';
import type { Answer, Body, OperationName, Path } from './api.ts';

/** Imported by name, it would load all of `fetch` too: as long as a command otherwise takes to start. */
const { request } = process.getBuiltinModule('node:http');

/** One call of the daemon's API, typed by it; a client knows the types alone, and loads no schema. */
export interface AdminCall<Name extends OperationName> {
  readonly operation: Name;
  /** What stands for the names in braces of the path. */
  readonly path?: Path<Name>;
  readonly body?: Body<Name>;
  /** 10 s where absent; more where the daemon asks the service. */
  readonly patience_ms?: number;
  /** Whoever asks leaves: rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** A running daemon, as a command talks to it. */
export interface AdminClient {
  /** The parsed answer, or null where no daemon listens. Throws an `AdminRefusal` for any other status than 200. */
  call<Name extends OperationName>(call: AdminCall<Name>): Promise<Answer<Name> | null>;
}

/** The daemon answered, and its answer is no. */
export class AdminRefusal extends Error {
  override readonly name = 'AdminRefusal';
  /** Stable, kebab-case; the daemon's own. */
  readonly code: string | undefined;
  readonly hint: string | undefined;
  constructor({ error, message, hint }: { error?: string; message: string; hint?: string }) {
    super(message);
    this.code = error;
    this.hint = hint;
  }
}

/** Somebody listens and says nothing: it hangs, or is stopped. */
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
        { ...target, method, path: filled(template, { ...(path as object) }), headers, timeout: patience_ms },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
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
        else reject(error);
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

/** `/v1/schedule/{name}/run` with its names filled in. */
function filled(template: string, path: Readonly<Record<string, unknown>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
}
