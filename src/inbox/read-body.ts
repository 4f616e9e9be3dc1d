import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  /** A longer body is cut. */
  readonly bytes: number;
  /** What is kept of a body that was cut. */
  readonly kept_bytes: number;
}

export interface ReadBody {
  readonly body: Buffer;
  /** Bytes that came until it was complete, or cut. */
  readonly length: number;
  readonly truncated: boolean;
}

/** Why there is no body: its sender left before the end, or there is no room for it. */
export type NoBody = 'left' | 'no-room';

/**
 * Reads a request's body as it comes, no encoding undone. One that is or says it is too long is cut as soon as there is
 * enough of it to keep. `takes` is asked before each part is kept. `giveUp` ends it with its reason.
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  takes: (bytes: number) => boolean = () => true,
): { readonly read: Promise<ReadBody | NoBody>; giveUp(why: NoBody): void } {
  const { promise, resolve } = Promise.withResolvers<ReadBody | NoBody>();
  const announced = Number(request.headers['content-length'] ?? 0);
  const enough = announced > limits.bytes ? limits.kept_bytes : limits.bytes + 1;
  const chunks: Buffer[] = [];
  let length = 0;
  const end = (result: ReadBody | NoBody) => {
    request.off('data', add).off('end', complete).off('close', left).pause();
    resolve(result);
  };
  const add = (chunk: Buffer) => {
    if (!takes(chunk.length)) {
      end('no-room');
      return;
    }
    chunks.push(chunk);
    length += chunk.length;
    if (length < enough) return;
    // Copied, so that what was cut off is not held.
    end({ body: Buffer.from(Buffer.concat(chunks).subarray(0, limits.kept_bytes)), length, truncated: true });
  };
  const complete = () => end({ body: Buffer.concat(chunks), length, truncated: false });
  const left = () => end('left');
  request.on('data', add).on('end', complete).on('close', left);
  // What ends it is told by 'close'.
  request.on('error', () => undefined);
  return { read: promise, giveUp: end };
}
