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
  // As long as it is said to be, so that it is copied once; what was not written to takes no memory.
  let held = Buffer.allocUnsafeSlow(Math.min(announced, enough));
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
    const end_at = length + chunk.length;
    if (end_at > held.length) held = longer(held, length, Math.max(end_at, Math.min(2 * held.length, enough)));
    chunk.copy(held, length);
    length = end_at;
    if (length < enough) return;
    // Copied, so that what was cut off is not held.
    end({ body: Buffer.from(held.subarray(0, limits.kept_bytes)), length, truncated: true });
  };
  const complete = () => end({ body: held.subarray(0, length), length, truncated: false });
  const left = () => end('left');
  request.on('data', add).on('end', complete).on('close', left);
  // What ends it is told by 'close'.
  request.on('error', () => undefined);
  return { read: promise, giveUp: end };
}

/** Returns the first `length` bytes, with room for as many as `room`. */
function longer(buffer: Buffer, length: number, room: number): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(room);
  buffer.copy(copy, 0, 0, length);
  return copy;
}
