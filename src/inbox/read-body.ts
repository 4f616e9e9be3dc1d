import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  /** The most bytes of a body; a longer one is truncated. */
  readonly bytes: number;
  /** The bytes that are kept of a truncated body. */
  readonly kept_bytes: number;
}

export interface ReadBody {
  readonly body: Buffer;
  /** Bytes received until it was complete or truncated. */
  readonly length: number;
  readonly truncated: boolean;
}

/** The reason why there is no body: the sender left before the end, or there is no room for it. */
export type NoBody = 'left' | 'no-room';

/**
 * Reads a request's body as received, without decoding. A body that is too long, or announces to be, is truncated as
 * soon as enough is there to keep. `takes` is called before each part is kept. `giveUp` ends the reading with its
 * reason.
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  takes: (bytes: number) => boolean = () => true,
): { readonly read: Promise<ReadBody | NoBody>; giveUp(why: NoBody): void } {
  const { promise, resolve } = Promise.withResolvers<ReadBody | NoBody>();
  const announced = Number(request.headers['content-length'] ?? 0);
  const enough = announced > limits.bytes ? limits.kept_bytes : limits.bytes + 1;
  // Allocated with the announced length, so that the body is copied once. Unwritten memory is not used.
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
    // Copied, so that the rest does not stay in memory.
    end({ body: Buffer.from(held.subarray(0, limits.kept_bytes)), length, truncated: true });
  };
  const complete = () => end({ body: held.subarray(0, length), length, truncated: false });
  const left = () => end('left');
  request.on('data', add).on('end', complete).on('close', left);
  // The 'close' event reports the cause.
  request.on('error', () => undefined);
  return { read: promise, giveUp: end };
}

/** Returns a buffer of `room` bytes with the first `length` bytes of another. */
function longer(buffer: Buffer, length: number, room: number): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(room);
  buffer.copy(copy, 0, 0, length);
  return copy;
}
