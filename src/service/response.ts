import type { Dispatcher } from 'undici';

/** The head of an answer. */
export type Head = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>;

/** Returns the first value of a header; the name is in lower case. */
export function header({ headers }: Head, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** A body is longer than it may be. Thrown while it is read, it ends the transfer. */
export class TooLarge extends Error {}

/** The parts of a body as they come; throws a `TooLarge` with the first one beyond `max_bytes`. */
export async function* partsWithin(body: AsyncIterable<Buffer>, max_bytes: number): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > max_bytes) throw tooLarge(max_bytes);
    yield part;
  }
}

export function tooLarge(max_bytes: number): TooLarge {
  return new TooLarge(`the body is larger than ${max_bytes} bytes`);
}

/** Buffer in which parts are joined that are read at once. */
const joined = Buffer.allocUnsafeSlow(1024 * 1024);

/** Returns the parts as one buffer, valid until the next call: read it at once. */
export function whole(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  if (bytes > joined.length) return Buffer.concat(parts, bytes);
  let at = 0;
  for (const part of parts) at += part.copy(joined, at);
  return joined.subarray(0, bytes);
}

/** Reads a body that nobody needs, so that its connection can be used again; longer than `limit` or broken, it costs the connection. */
export async function drain(body: Dispatcher.ResponseData['body'], limit: number, signal: AbortSignal): Promise<void> {
  try {
    await body.dump({ limit, signal });
  } catch {
    // The meaning of the answer is known already.
  }
}

const unreachableCodes: Readonly<Record<string, readonly [code: string, message: string]>> = {
  ECONNREFUSED: ['connection-refused', 'the connection was refused'],
  ENOTFOUND: ['dns', 'the name cannot be resolved'],
  EAI_AGAIN: ['dns', 'the name cannot be resolved now'],
  UND_ERR_CONNECT_TIMEOUT: ['connect-timeout', 'no connection in time'],
  EHOSTUNREACH: ['no-route', 'there is no route to it'],
  ENETUNREACH: ['no-route', 'there is no route to it'],
};

/** Error that ended a request, without the errors that libraries wrapped around it. */
export interface TransportError {
  readonly cause: unknown;
  /** Error code of Node or undici; empty if there is none. */
  readonly code: string;
  /** Reason why no connection was made; null if one was made, as far as the error code shows. */
  readonly unreachable: { readonly code: string; readonly message: string } | null;
}

export function transportError(error: unknown): TransportError {
  const cause = rootCause(error);
  const { code = '' } = cause as NodeJS.ErrnoException;
  const known = unreachableCodes[code];
  return { cause, code, unreachable: known === undefined ? null : { code: known[0], message: known[1] } };
}

function rootCause(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return rootCause(error.errors[0]);
  return error instanceof Error && error.cause !== undefined && !('code' in error) ? rootCause(error.cause) : error;
}
